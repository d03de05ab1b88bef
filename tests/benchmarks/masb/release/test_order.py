"""The manifest of MASB-Order: values, and errors that name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audioretrieval.benchmarks.masb.release.order import load_order
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.masb.release_files import ORDER, Row, changed, write


def test_values(tmp_path: Path) -> None:
    found = load_order(write(tmp_path / "o.csv", ORDER))
    assert [(pair.pair_id, pair.moisesdb_track) for pair in found] == [
        ("i0000", "aa-bb"), ("i0001", "aa-bb"), ("i0002", "cc-dd"),
    ]  # fmt: skip
    first = found[0]
    assert (first.stem_a, first.stem_b, first.name_a, first.name_b) == ("wind", "bass", "kazoo", "bass")
    assert first.window_start_s == 12.8625
    assert first.caption_a_first == "the kazoo enters before the bass"
    assert first.caption_b_first == "the bass enters before the kazoo"


WRONG: list[tuple[int, Row, str]] = [
    (1, {"pair_id": "i0000"}, "'i0000' stands on line 2 already: remove one of them"),
    (1, {"pair_id": "../i1"}, "pair_id is '../i1' (Expected `str` matching regex"),
    (2, {"stem_B": "wind"}, "stem_A and stem_B are both 'wind', expected two instruments"),
    (2, {"name_B": "Kazoo"}, "name_A and name_B are both 'kazoo', expected two instruments"),
    (0, {"caption_A_first": "the bass enters before the kazoo"},
     "caption_A_first is 'the bass enters before the kazoo', expected 'the kazoo enters before the bass' as its names"),
    (0, {"caption_B_first": "the kazoo enters before the bass"},
     "caption_B_first is 'the kazoo enters before the bass', expected 'the bass enters before the kazoo' as its names"),
    (0, {"name_A": "flute"},
     "caption_A_first is 'the kazoo enters before the bass', expected 'the flute enters before the bass' as its names"),
    (0, {"window_start_s": ""}, "window_start_s is empty: fill it or remove the row"),
    (0, {"stem_A": ""}, "stem_A is empty: fill it or remove the row"),
]  # fmt: skip


@pytest.mark.parametrize(("at", "cells", "says"), WRONG, ids=[says[:30] for _, _, says in WRONG])
def test_a_wrong_row_is_refused(tmp_path: Path, at: int, cells: Row, says: str) -> None:
    path = write(tmp_path / "o.csv", changed(ORDER, at, **cells))
    with pytest.raises(DataError) as error:
        load_order(path)
    assert str(error.value).startswith(f"{path}:{at + 2}: {says}")
    assert "\n" not in str(error.value)


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    more = write(tmp_path / "x.csv", [{**row, "stem_a": "wind"} for row in ORDER])
    with pytest.raises(
        DataError, match=r"x\.csv:1: columns unknown 'stem_a', expected pair_id, moisesdb_track, stem_A"
    ):
        load_order(more)
    (tmp_path / "e.csv").write_text(",".join(ORDER[0]) + "\n")
    with pytest.raises(DataError, match=r"e\.csv has no pairs, expected a row per pair"):
        load_order(tmp_path / "e.csv")
