"""Tests of vectors in a memory map, which are ranked like vectors in memory but not held there."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.metrics import rank
from pytest_audioretrieval.metrics.ranking import _round_down, _row_counts
from pytest_audioretrieval.metrics.scores import _first_duplicates, _release_pages

RESIDENT = """
import sys
from pathlib import Path
import numpy as np
from pytest_audioretrieval.metrics import first_hit_rank

def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

candidates = np.load(sys.argv[1], mmap_mode="r")
before = peak()
assert first_hit_rank(candidates[:2], candidates, [[0], [1]]).tolist() == [1, 2]
print(candidates.nbytes // 1024, peak() - before)
"""


def unit(rows: int, dims: int, seed: int = 0) -> npt.NDArray[np.float32]:
    made = np.random.default_rng(seed).standard_normal((rows, dims), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.mark.parametrize("mode", ["r", "c", "r+"])
def test_a_memory_map_is_ranked_as_an_array(tmp_path: Path, mode: Literal["r", "c", "r+"]) -> None:
    clips = unit(3000, 16)
    clips[2000] = clips[10]
    np.save(tmp_path / "clips.npy", clips)
    mapped = np.load(tmp_path / "clips.npy", mmap_mode=mode)
    found, expected = (rank(unit(50, 16, 1), one, [[i * 40 + 10] for i in range(50)], top=3) for one in (mapped, clips))
    for name in ("first_hit_rank", "tied", "margin", "top"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_changes_of_a_copy_on_write_map_are_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "clips.npy", np.zeros((4096, 4), dtype=np.float32))
    mapped = np.load(tmp_path / "clips.npy", mmap_mode="c")
    mapped[:] = 1
    _release_pages(mapped)
    assert mapped.all()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED") or sys.platform != "linux", reason="needs Linux's madvise")
def test_a_map_is_not_held_in_memory(tmp_path: Path) -> None:
    vectors = np.lib.format.open_memmap(tmp_path / "clips.npy", mode="w+", dtype=np.float32, shape=(100_000, 512))
    block = unit(1000, 512)
    block[0] = block[1]
    for start in range(0, len(vectors), len(block)):
        vectors[start : start + len(block)] = block
    vectors.flush()
    command = [sys.executable, "-c", RESIDENT, str(tmp_path / "clips.npy")]
    size, grown = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert size == 200_000
    assert grown < size / 2


@given(st.floats(-2, 2, allow_subnormal=False), st.integers(-2, 2))
def test_a_bound_in_one_precision_separates_the_same_scores(bound: float, steps: int) -> None:
    score: Any = np.float32(bound)
    for _ in range(abs(steps)):
        score = np.nextafter(score, np.float32(np.sign(steps) * np.inf))
    floor = _round_down(np.array([bound]), np.dtype(np.float32))
    ceiling = -_round_down(np.array([-bound]), np.dtype(np.float32))
    assert (score > floor[0], score >= ceiling[0]) == (float(score) > bound, float(score) >= bound)


@pytest.mark.parametrize("width", [1, 7, 8, 1024, 2040, 2048])
def test_rows_are_counted_at_any_width(width: int) -> None:
    mask = np.random.default_rng(width).random((5, width)) < 0.5
    mask[0], mask[1] = True, False
    assert _row_counts(mask).tolist() == [sum(row) for row in mask.tolist()]
    assert _row_counts(mask[::2].T).tolist() == [sum(row) for row in mask[::2].T.tolist()]


def test_rows_of_one_sum_are_twins_only_with_the_same_bits() -> None:
    vectors = unit(5, 6)
    vectors[3] = vectors[1][::-1]
    assert _first_duplicates(vectors) is None
    vectors[4] = vectors[1]
    found = _first_duplicates(vectors)
    assert found is not None
    assert found.tolist() == [0, 1, 2, 3, 1]
