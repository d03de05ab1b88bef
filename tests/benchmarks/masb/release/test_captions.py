"""Captions: rebuilt from annotations, compared row by row, and errors that name file and line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.benchmarks.masb.release.annotations import Annotation, load_annotations
from pytest_audioretrieval.benchmarks.masb.release.captions import Mismatch, compare, load_captions
from pytest_audioretrieval.benchmarks.masb.release.rows import STYLES
from pytest_audioretrieval.benchmarks.masb.release.wording import SYNONYMS, captions_of, same_words
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.masb.release_files import (
    ANNOTATIONS,
    CAPTIONS,
    REAL_ANNOTATIONS,
    REAL_CAPTIONS,
    Row,
    changed,
    needs_shared,
    write,
)


@pytest.fixture
def annotations(tmp_path: Path) -> tuple[Annotation, ...]:
    return load_annotations(write(tmp_path / "a.csv", ANNOTATIONS))


def test_wording_of_every_axis_and_style(annotations: tuple[Annotation, ...]) -> None:
    made = [tuple(captions_of(one)[style]) for one in annotations for style in STYLES]
    assert made == [(row["caption_pos"], row["caption_neg"], row["caption_paraphrase"]) for row in CAPTIONS]


@needs_shared
def test_the_release_is_rebuilt_800_of_800() -> None:
    annotations = load_annotations(REAL_ANNOTATIONS)
    rows = load_captions(REAL_CAPTIONS, annotations)
    assert (len(rows), compare(annotations, rows)) == (800, [])
    assert sum(same_words(row.caption_pos, row.caption_neg) for row in rows) == 800, "the exact same words (MASB, 2.1)"
    assert not any(same_words(row.caption_pos, row.caption_paraphrase) for row in rows)


@needs_shared
def test_one_changed_cell_of_the_release_is_found(tmp_path: Path) -> None:
    with REAL_CAPTIONS.open(newline="", encoding="utf-8") as file:
        real = list(csv.DictReader(file))
    annotations = load_annotations(REAL_ANNOTATIONS)
    was = real[417]["caption_paraphrase"]
    path = write(tmp_path / "c.csv", changed(real, 417, caption_paraphrase="something else"))
    (found,) = compare(annotations, load_captions(path, annotations))
    name = "_".join(real[417][column] for column in ("clip_id", "axis", "style"))
    assert found == Mismatch(name, "caption_paraphrase", "something else", was)


@needs_shared
def test_every_synonym_is_in_the_release() -> None:
    used = {word for one in load_annotations(REAL_ANNOTATIONS) for word in (one.timbre_1, one.timbre_2)}
    assert set(SYNONYMS) <= used


def test_what_differs_is_named(tmp_path: Path, annotations: tuple[Annotation, ...]) -> None:
    rows = changed(changed(CAPTIONS, 2, caption_neg="the tuba stays"), 5, caption_pos="the kazoo leads")
    found = compare(annotations, load_captions(write(tmp_path / "c.csv", rows), annotations))
    assert found == [
        Mismatch("101_O_strict", "caption_neg", "the tuba stays", "the hurdy gurdy enters before the tuba"),
        Mismatch(
            "202_R_natural", "caption_pos", "the kazoo leads", "the kazoo leads with the tune as the tuba backs it"
        ),
    ]


def test_same_words() -> None:
    assert same_words("first the tuba comes in, then the kazoo", "first the kazoo comes in, then the tuba")
    assert not same_words("a tuba and a kazoo", "a tuba and the kazoo")
    assert not same_words("a a b", "a b b"), "as often, not only the same set"


WORDS = st.lists(
    st.sampled_from(["tuba", "hurdy gurdy", "kazoo", *SYNONYMS, "plummy"]), min_size=4, max_size=4, unique=True
)


@given(WORDS, st.sampled_from("TRO"))
def test_a_swap_keeps_the_words_and_swaps_back(words: list[str], axis: str) -> None:
    one, two, *timbres = words
    base = {"clip_id": "1", "source": "S", "jamendo_path": "1.mp3", "track_duration_s": 10.0, "crop_start_s": 0.0}

    def made(one: str, two: str, timbres: list[str]) -> dict[str, tuple[str, str, str]]:
        timbres = timbres if axis == "T" else ["", ""]
        cells = {"axis": axis, "crop_end_s": 10.0, "inst_1": one, "inst_2": two, "confidence": 5}
        found = captions_of(Annotation(**base, **cells, timbre_1=timbres[0], timbre_2=timbres[1]))  # type: ignore[arg-type]
        return {style: tuple(wording) for style, wording in found.items()}

    there = made(one, two, timbres)
    back = made(one, two, timbres[::-1]) if axis == "T" else made(two, one, timbres)
    for style in STYLES:
        text, swap, _ = there[style]
        assert text != swap
        assert same_words(text, swap)
        assert back[style][:2] == (swap, text)


def test_both_shapes_load(tmp_path: Path, annotations: tuple[Annotation, ...]) -> None:
    """Some copies number the rows and state which assignment is more frequent."""
    plain = load_captions(write(tmp_path / "c.csv", CAPTIONS), annotations)
    more = [{"pair_id": str(n), **row, "prior_class": "unknown"} for n, row in enumerate(CAPTIONS)]
    assert load_captions(write(tmp_path / "m.csv", more), annotations) == plain
    assert [row.id for row in plain[:2]] == ["101_T_strict", "101_T_natural"]
    assert plain[0].recording == "101_T"


WRONG: list[tuple[int, Row, str]] = [
    (0, {"style": "natral"}, "style is 'natral', expected one of strict, natural: did you mean 'natural'?"),
    (0, {"axis": "t"}, "axis is 't', expected one of T, R, O"),
    (3, {"caption_paraphrase": "  "}, "caption_paraphrase is empty: fill it or remove the row"),
    (3, {"caption_pos": ""}, "caption_pos is empty: fill it or remove the row"),
    (3, {"caption_pos": "x\x00y"}, "caption_pos holds the control character U+0000: remove it"),
    (4, {"clip_id": "303"}, "'303_R' has no annotation: add it there or remove the row"),
    (1, {"style": "strict"}, "'101_T_strict' stands on line 2 already: remove one of them"),
    (2, {"caption_neg": CAPTIONS[2]["caption_pos"]}, "caption_pos and caption_neg are both 'the tuba enters before"),
]


@pytest.mark.parametrize(("at", "cells", "says"), WRONG, ids=[says[:30] for _, _, says in WRONG])
def test_a_wrong_row_is_refused(
    tmp_path: Path, annotations: tuple[Annotation, ...], at: int, cells: Row, says: str
) -> None:
    path = write(tmp_path / "c.csv", changed(CAPTIONS, at, **cells))
    with pytest.raises(DataError) as error:
        load_captions(path, annotations)
    assert str(error.value).startswith(f"{path}:{at + 2}: {says}")
    assert "\n" not in str(error.value)


def test_a_missing_style_is_refused(tmp_path: Path, annotations: tuple[Annotation, ...]) -> None:
    path = write(tmp_path / "c.csv", CAPTIONS[:-1])
    with pytest.raises(DataError, match=r"c\.csv: '202_R' has no natural caption, expected strict and natural"):
        load_captions(path, annotations)
