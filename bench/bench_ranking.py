"""Exact ranks against the least a script would do: one matrix product and a stable argsort, in the same process.

    OMP_NUM_THREADS=1 python -m bench.bench_ranking

Sizes are those of Clotho's test split (pinned protocol): 1,045 clips with 5 captions each, 512 dimensions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bench.table import Row, seconds, show
from pytest_audioretrieval.metrics import first_hit_rank, rank

CLIPS, CAPTIONS, DIMS, REPEATS = 1_045, 5, 512, 7

Vectors = npt.NDArray[np.float32]


def vectors(seed: int = 0) -> tuple[Vectors, Vectors]:
    """Unit vectors of clips and captions that find each other about half of the time."""
    rng = np.random.default_rng(seed)
    clips = _unit(rng.normal(size=(CLIPS, DIMS)))
    captions = _unit(np.repeat(clips, CAPTIONS, axis=0) + 0.3 * rng.normal(size=(CLIPS * CAPTIONS, DIMS)))
    return clips, captions


def bare(queries: Vectors, candidates: Vectors) -> npt.NDArray[np.intp]:
    return np.argsort(-(queries @ candidates.T), axis=1, kind="stable")


def compare(title: str, queries: Vectors, candidates: Vectors, relevant: Sequence[Sequence[int]]) -> list[Row]:
    base, found = seconds(lambda: bare(queries, candidates), REPEATS), []
    for name, work in {
        "first_hit_rank": lambda: first_hit_rank(queries, candidates, relevant),
        "rank": lambda: rank(queries, candidates, relevant),
        "rank, top 10": lambda: rank(queries, candidates, relevant, top=10),
    }.items():
        taken = seconds(work, REPEATS)
        note = f"{taken * 1e3:.0f} ms against {base * 1e3:.0f} ms"
        found.append(Row(f"{name}, {title}", "product + stable argsort", base / taken, note=note))
    return found


def _unit(rows: npt.NDArray[np.float64]) -> Vectors:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def rows() -> list[Row]:
    clips, captions = vectors()
    one = [[row // CAPTIONS] for row in range(len(captions))]
    several = [range(row * CAPTIONS, (row + 1) * CAPTIONS) for row in range(len(clips))]
    return [
        *compare("t2a", captions, clips, one),
        *compare("a2t", clips, captions, several),
        *compare("t2a, all clips alike", captions, np.repeat(clips[:1], CLIPS, axis=0), one),
    ]


if __name__ == "__main__":
    sys.exit(show(rows()))
