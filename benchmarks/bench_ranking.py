"""Exact ranks against the least a script would do: one matrix product and a stable argsort, in the same process.

    OMP_NUM_THREADS=1 python benchmarks/bench_ranking.py

Sizes are those of Clotho's test split (pinned protocol): 1,045 clips with 5 captions each, 512 dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.metrics import first_hit_rank, rank

CLIPS, CAPTIONS, DIMS, REPEATS = 1_045, 5, 512, 7

Vectors = npt.NDArray[np.float32]


def vectors(seed: int = 0) -> tuple[Vectors, Vectors]:
    """Unit vectors of clips and captions that find each other about half of the time."""
    rng = np.random.default_rng(seed)
    clips = _unit(rng.normal(size=(CLIPS, DIMS)))
    captions = _unit(np.repeat(clips, CAPTIONS, axis=0) + 0.3 * rng.normal(size=(CLIPS * CAPTIONS, DIMS)))
    return clips, captions


def seconds(work: Callable[[], Any]) -> float:
    """The best of several runs: what is left when nothing else disturbs."""
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def bare(queries: Vectors, candidates: Vectors) -> npt.NDArray[np.intp]:
    return np.argsort(-(queries @ candidates.T), axis=1, kind="stable")


def report(title: str, queries: Vectors, candidates: Vectors, relevant: Sequence[Sequence[int]]) -> None:
    base = seconds(lambda: bare(queries, candidates))
    print(f"{title}: {len(queries)} x {len(candidates)} x {DIMS}, {len(relevant[0])} relevant")
    print(f"  {'product + stable argsort':28}{base * 1e3:8.1f} ms   1.00")
    for name, work in {
        "first_hit_rank": lambda: first_hit_rank(queries, candidates, relevant),
        "rank": lambda: rank(queries, candidates, relevant),
        "rank, top 10": lambda: rank(queries, candidates, relevant, top=10),
    }.items():
        taken = seconds(work)
        print(f"  {name:28}{taken * 1e3:8.1f} ms   {taken / base:.2f}")


def _unit(rows: npt.NDArray[np.float64]) -> Vectors:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def main() -> None:
    clips, captions = vectors()
    report("t2a", captions, clips, [[row // CAPTIONS] for row in range(len(captions))])
    report("a2t", clips, captions, [range(row * CAPTIONS, (row + 1) * CAPTIONS) for row in range(len(clips))])
    same = np.repeat(clips[:1], CLIPS, axis=0)
    report("t2a, all clips alike", captions, same, [[row // CAPTIONS] for row in range(len(captions))])


if __name__ == "__main__":
    main()
