"""The arithmetic of the UIQ benchmark, on vectors made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from bench import bench_uiq
from pytest_audioretrieval.data.query_sets import QueryItem, collect

ANGLES = {"x": 0, "y": 90, "v": 120, "z": 45, "w": 30, "ask x": 40, "ask z": 5}


def encode(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    angles = np.radians([ANGLES[text] for text in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_a_clip_is_the_direction_between_its_captions() -> None:
    found = bench_uiq.candidates({"a": ["x", "y"], "b": ["w"], "c": ["z", "z", "z"]}, encode)
    np.testing.assert_allclose(np.degrees(np.arctan2(found[:, 1], found[:, 0])), [45, 30, 45])
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)


def test_the_source_is_left_out_and_its_namesakes_are_right() -> None:
    """Sources at 0 and 45 degrees, clips at 30, 0 and 120; in the end, b has the source caption of a too."""
    items = [QueryItem("a", "a", "x", {"q": "ask x"}, ("w",)), QueryItem("b", "b", "z", {"q": "ask z"}, ("x",))]
    own = {"a": ["w"], "b": ["x"], "c": ["v"]}
    found = bench_uiq.ask(collect("toy", items, ("q",)), {"a": ["x", "w"], "b": ["z"], "c": ["v"]}, own, encode)
    assert found.source_rank.tolist() == [2, 2]
    assert found.rank_drop.tolist() == [-1, -1]
    assert found.hard_negative.tolist() == [1, 0]
    shared = bench_uiq.ask(collect("toy", items, ("q",)), {"a": ["x"], "b": ["z", "x"], "c": ["v"]}, own, encode)
    assert (shared.source_rank[0], shared.hard_negative[0]) == (1, 2)


def test_an_absent_folder_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench_uiq.main(tmp_path)
    out = capsys.readouterr().out
    assert (
        out == f"no {tmp_path / 'uiq' / 'uiq_audiocaps_first23.jsonl'}: name the folder that holds uiq/ and captions/\n"
    )
