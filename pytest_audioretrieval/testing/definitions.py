"""Ranks, metrics and reformulation measures as they are written down: one query at a time, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.testing.implementation import Floats, Ints
from pytest_audioretrieval.testing.strategies import ReformulationProblem, Vectors

Bools = npt.NDArray[np.bool_]

#: Scores that are further apart than this are apart in any arithmetic of at least float32.
CLEAR = 1e-4


def relevant_ranks(row: Floats, relevant: Sequence[int], *, relevant_first: bool) -> list[int]:
    """1-based ranks of a query's relevant candidates, ascending, with the relevant first, or last, among equals."""
    right = set(relevant)
    order = sorted(range(len(row)), key=lambda c: (-row[c], (c in right) != relevant_first))
    return [rank for rank, candidate in enumerate(order, start=1) if candidate in right]


def hit_rate(ranks: Sequence[int], k: int) -> float:
    return float(ranks[0] <= k)


def recall(ranks: Sequence[int], k: int) -> float:
    return sum(rank <= k for rank in ranks) / len(ranks)


def ndcg(ranks: Sequence[int], k: int) -> float:
    best = range(1, min(k, len(ranks)) + 1)
    return sum(1 / log2(1 + rank) for rank in ranks if rank <= k) / sum(1 / log2(1 + rank) for rank in best)


def average_precision(ranks: Sequence[int], k: int) -> float:
    return sum(found / rank for found, rank in enumerate(ranks, start=1) if rank <= k) / min(k, len(ranks))


def mrr(ranks: Sequence[int], k: int) -> float:
    return 1 / ranks[0]


DEFINITIONS: dict[str, Callable[[Sequence[int], int], float]] = {
    "hit_rate": hit_rate,
    "recall": recall,
    "ndcg": ndcg,
    "average_precision": average_precision,
    "mrr": mrr,
}


def values(metric: str, scores: Floats, relevant: Sequence[Sequence[int]], k: int, *, relevant_first: bool) -> Floats:
    """A metric by its definition, ``[Q]``, where ties fall to one side; both sides bound every other rule."""
    define = DEFINITIONS[metric]
    rows = zip(scores, relevant, strict=True)
    return np.array([define(relevant_ranks(row, part, relevant_first=relevant_first), k) for row, part in rows])


@dataclass(frozen=True)
class Pairs:
    """The cosines of a ``ReformulationProblem`` in float64, and who the hard negatives are (CORA, eq. 4).

    Attributes:
        source, reformulated: of each query with each candidate, ``[P, N]``.
        source_target, reformulated_target: of each query with its target, ``[P]``.
        source_hn, reformulated_hn: index of the best candidate that is not the target, ``[P]``.
        queries: of each source query with its reformulation, ``[P]``.
    """

    source: Floats
    reformulated: Floats
    source_target: Floats
    reformulated_target: Floats
    source_hn: Ints
    reformulated_hn: Ints
    queries: Floats

    @classmethod
    def of(cls, problem: ReformulationProblem) -> Pairs:
        every, target = np.arange(len(problem["target"])), problem["target"]
        left, right = problem["source"].astype(np.float64), problem["reformulated"].astype(np.float64)
        pool = problem["candidates"].astype(np.float64)
        one, other = left @ pool.T, right @ pool.T
        return cls(
            source=one,
            reformulated=other,
            source_target=one[every, target],
            reformulated_target=other[every, target],
            source_hn=_rivals(one, target).argmax(axis=1),
            reformulated_hn=_rivals(other, target).argmax(axis=1),
            queries=(left * right).sum(axis=1),
        )

    def at(self, cosines: Floats, candidates: Ints) -> Floats:
        """One candidate per pair of ``source`` or ``reformulated``, ``[P]``."""
        return cosines[np.arange(len(candidates)), candidates]


def rank_bounds(cosines: Floats, target: Ints) -> tuple[Ints, Ints]:
    """Least and greatest rank of each row's target, where scores closer than ``CLEAR`` may be in any order."""
    every = np.arange(len(target))
    wanted = cosines[every, target][:, np.newaxis]
    near = cosines >= wanted - CLEAR
    near[every, target] = False
    return 1 + (cosines > wanted + CLEAR).sum(axis=1), 1 + near.sum(axis=1)


def clear_ranks(cosines: Floats, target: Ints) -> Bools:
    """Rows in which no rounding can change the target's rank."""
    low, high = rank_bounds(cosines, target)
    clear: Bools = low == high
    return clear


def clear_negatives(cosines: Floats, target: Ints) -> Bools:
    """Rows in which no rounding can change who the hard negative is."""
    best = np.sort(_rivals(cosines, target), axis=1)
    clear: Bools = best[:, -1] - best[:, -2] > CLEAR
    return clear


def tangent(vectors: Vectors | Floats, anchors: Vectors) -> Floats:
    """The part of each row that is orthogonal to its unit anchor, ``[P, D]`` (CORA, Appendix K.1)."""
    rows, along = vectors.astype(np.float64), anchors.astype(np.float64)
    across: Floats = rows - (rows * along).sum(axis=1, keepdims=True) * along
    return across


def _rivals(cosines: Floats, target: Ints) -> Floats:
    """The cosines without those of each row's target."""
    rivals = cosines.copy()
    rivals[np.arange(len(target)), target] = -np.inf
    return rivals
