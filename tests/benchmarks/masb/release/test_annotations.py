"""Annotations: values, and errors for contradictions that name file and line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_audioretrieval.benchmarks.masb.release.annotations import load_annotations
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.masb.release_files import ANNOTATIONS, REAL_ANNOTATIONS, Row, changed, needs_shared, write


def test_values(tmp_path: Path) -> None:
    first, second, third = load_annotations(write(tmp_path / "a.csv", ANNOTATIONS))
    assert (first.recording, second.recording, third.recording) == ("101_T", "101_O", "202_R")
    assert (first.clip_id, first.source, first.jamendo_path) == ("101", "SDD", "01/101.mp3")
    assert (first.track_duration_s, first.crop_start_s, first.crop_end_s) == (30.0, 7.25, 17.25)
    assert (first.inst_1, first.inst_2, first.timbre_1, first.timbre_2) == ("tuba", "hurdy gurdy", "bright", "plummy")
    assert (first.confidence, third.timbre_1, third.timbre_2) == (4, "", "")


def test_columns_in_any_order_and_spaces_around_cells(tmp_path: Path) -> None:
    turned = [dict(reversed({**row, "inst_1": f" {row['inst_1']} "}.items())) for row in ANNOTATIONS]
    found = load_annotations(write(tmp_path / "turned.csv", turned))
    assert found == load_annotations(write(tmp_path / "a.csv", ANNOTATIONS))


@needs_shared
def test_the_release_has_400_recordings_of_149_tracks() -> None:
    """MASB, 2.1, states 140 timbre, 123 lead-versus-accompaniment and 137 onset-order recordings."""
    found = load_annotations(REAL_ANNOTATIONS)
    assert Counter(one.axis for one in found) == {"T": 140, "R": 123, "O": 137}
    assert (len({one.recording for one in found}), len({one.clip_id for one in found})) == (400, 149)


WRONG: list[tuple[int, Row, str]] = [
    (0, {"axis": "X"}, "axis is 'X', expected one of T, R, O"),
    (1, {"crop_end_s": "10.4"}, "crop_start_s to crop_end_s lasts 9.9 s, expected 10 s: correct the window"),
    (1, {"crop_end_s": "nan"}, "crop_end_s is 'nan' (Expected `float` >= 0.0): correct the cell"),
    (
        1,
        {"crop_start_s": "inf", "crop_end_s": "inf"},
        "crop_start_s is 'inf' (Expected `float` <= 86400.0): correct the cell",
    ),
    (1, {"track_duration_s": "inf"}, "track_duration_s is 'inf' (Expected `float` <= 86400.0): correct the cell"),
    (1, {"crop_start_s": "-1"}, "crop_start_s is '-1' (Expected `float` >= 0.0): correct the cell"),
    (1, {"crop_start_s": "soon"}, "crop_start_s is 'soon' (Expected `float`, got `str`): correct the cell"),
    (1, {"track_duration_s": "10.3"}, "crop_end_s 10.5 lies after the track's end at 10.3 s: correct one of them"),
    (
        0,
        {"timbre_2": "Bright"},
        "timbre_1 and timbre_2 are both 'bright', expected two timbres, as a swap would change",
    ),
    (0, {"timbre_2": ""}, "axis is T without two timbres: fill timbre_1 and timbre_2"),
    (2, {"timbre_1": "warm"}, "axis is R with timbres 'warm' and '': leave both empty"),
    (2, {"inst_2": "kazoo"}, "inst_1 and inst_2 are both 'kazoo', expected two instruments, as a swap would change"),
    (2, {"inst_2": " "}, "inst_2 is empty: fill it or remove the row"),
    (2, {"clip_id": "../202"}, "clip_id is '../202' (Expected `str` matching regex"),
    (2, {"confidence": "6"}, "confidence is '6' (Expected `int` <= 5): correct the cell"),
    (1, {"axis": "T", "timbre_1": "warm", "timbre_2": "dark"}, "'101_T' stands on line 2 already: remove one of them"),
]


@pytest.mark.parametrize(("at", "cells", "says"), WRONG, ids=[says[:40] for _, _, says in WRONG])
def test_a_row_that_contradicts_itself_is_refused(tmp_path: Path, at: int, cells: Row, says: str) -> None:
    path = write(tmp_path / "a.csv", changed(ANNOTATIONS, at, **cells))
    with pytest.raises(DataError) as error:
        load_annotations(path)
    assert str(error.value).startswith(f"{path}:{at + 2}: {says}")
    assert "\n" not in str(error.value)


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    missing = write(tmp_path / "m.csv", [{k: v for k, v in row.items() if k != "inst_2"} for row in ANNOTATIONS])
    with pytest.raises(
        DataError,
        match=r"m\.csv:1: columns missing 'inst_2', expected clip_id, source, .*confidence: correct the header$",
    ):
        load_annotations(missing)
    more = write(tmp_path / "x.csv", [{**row, "mood": "sad"} for row in ANNOTATIONS])
    with pytest.raises(DataError, match=r"x\.csv:1: columns unknown 'mood'"):
        load_annotations(more)
    (tmp_path / "e.csv").write_text(",".join(ANNOTATIONS[0]) + "\n")
    with pytest.raises(DataError, match=r"e\.csv has no annotations, expected a row per recording"):
        load_annotations(tmp_path / "e.csv")
    with pytest.raises(DataError, match=r"none\.csv is missing: name a CSV file with the columns clip_id, "):
        load_annotations(tmp_path / "none.csv")
