"""Definitions of ranks, metrics and reformulation measures in plain Python, one query at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.testing.implementation import Floats, Ints
from pytest_audioretrieval.testing.strategies import ReformulationProblem, Vectors

Bools = npt.NDArray[np.bool_]

#: Scores that differ by more than this differ in any arithmetic of at least float32.
CLEAR_GAP = 1e-4


def relevant_ranks(row: Floats, relevant: Sequence[int], *, relevant_first: bool) -> list[int]:
    """Return the 1-based ranks of a query's relevant candidates, ascending.

    Among equal scores the relevant candidates come first, or last.
    """
    right = set(relevant)
    order = sorted(range(len(row)), key=lambda c: (-row[c], (c in right) != relevant_first))
    return [rank for rank, candidate in enumerate(order, start=1) if candidate in right]


def hit_rate(ranks: Sequence[int], k: int) -> float:
    """Return 1 where the best relevant candidate is among the first k, else 0."""
    return float(ranks[0] <= k)


def recall(ranks: Sequence[int], k: int) -> float:
    """Return the share of the relevant candidates that are among the first k."""
    return sum(rank <= k for rank in ranks) / len(ranks)


def ndcg(ranks: Sequence[int], k: int) -> float:
    """Return the discounted gain of the first k over that of the best order."""
    best = range(1, min(k, len(ranks)) + 1)
    return sum(1 / log2(1 + rank) for rank in ranks if rank <= k) / sum(1 / log2(1 + rank) for rank in best)


def average_precision(ranks: Sequence[int], k: int) -> float:
    """Return the sum of the precisions at relevant ranks up to k, divided by ``min(k, relevant)``."""
    return sum(found / rank for found, rank in enumerate(ranks, start=1) if rank <= k) / min(k, len(ranks))


def mrr(ranks: Sequence[int], k: int) -> float:
    """Return one over the rank of the best relevant candidate."""
    return 1 / ranks[0]


DEFINITIONS: dict[str, Callable[[Sequence[int], int], float]] = {
    "hit_rate": hit_rate,
    "recall": recall,
    "ndcg": ndcg,
    "average_precision": average_precision,
    "mrr": mrr,
}


def values(metric: str, scores: Floats, relevant: Sequence[Sequence[int]], k: int, *, relevant_first: bool) -> Floats:
    """Return a metric by its definition, [Q], with ties broken for, or against, the relevant candidates.

    Every other rule for ties gives a value between these two.
    """
    define = DEFINITIONS[metric]
    rows = zip(scores, relevant, strict=True)
    return np.array([define(relevant_ranks(row, part, relevant_first=relevant_first), k) for row, part in rows])


@dataclass(frozen=True)
class PairCosines:
    """Cosines of a ``ReformulationProblem`` in float64, with its hard negatives (CORA, eq. 4).

    Attributes:
        source, reformulated: [P, N], cosine of each query with each candidate.
        source_target, reformulated_target: [P], cosine of each query with its target.
        source_hn, reformulated_hn: [P], index of the best candidate that is not the target.
        queries: [P], cosine of each source query with its reformulation.
    """

    source: Floats
    reformulated: Floats
    source_target: Floats
    reformulated_target: Floats
    source_hn: Ints
    reformulated_hn: Ints
    queries: Floats

    @classmethod
    def of(cls, problem: ReformulationProblem) -> PairCosines:
        """Compute the cosines of a problem."""
        every, target = np.arange(len(problem["target"])), problem["target"]
        left, right = problem["source"].astype(np.float64), problem["reformulated"].astype(np.float64)
        pool = problem["candidates"].astype(np.float64)
        one, other = left @ pool.T, right @ pool.T
        return cls(
            source=one,
            reformulated=other,
            source_target=one[every, target],
            reformulated_target=other[every, target],
            source_hn=_non_targets(one, target).argmax(axis=1),
            reformulated_hn=_non_targets(other, target).argmax(axis=1),
            queries=(left * right).sum(axis=1),
        )

    def at(self, cosines: Floats, candidates: Ints) -> Floats:
        """Return the cosine of one candidate of each pair, [P], from ``source`` or ``reformulated``."""
        return cosines[np.arange(len(candidates)), candidates]


def rank_bounds(cosines: Floats, target: Ints) -> tuple[Ints, Ints]:
    """Return the least and greatest rank of each row's target, if scores closer than ``CLEAR_GAP`` may change order."""
    every = np.arange(len(target))
    wanted = cosines[every, target][:, np.newaxis]
    near = cosines >= wanted - CLEAR_GAP
    near[every, target] = False
    return 1 + (cosines > wanted + CLEAR_GAP).sum(axis=1), 1 + near.sum(axis=1)


def clear_ranks(cosines: Floats, target: Ints) -> Bools:
    """Return for each row whether no rounding can change the target's rank."""
    low, high = rank_bounds(cosines, target)
    clear: Bools = low == high
    return clear


def clear_negatives(cosines: Floats, target: Ints) -> Bools:
    """Return for each row whether no rounding can change which candidate is the hard negative."""
    best = np.sort(_non_targets(cosines, target), axis=1)
    clear: Bools = best[:, -1] - best[:, -2] > CLEAR_GAP
    return clear


def tangent(vectors: Vectors | Floats, anchors: Vectors) -> Floats:
    """Return the part of each row that is orthogonal to its unit anchor, [P, D] (CORA, Appendix K.1)."""
    rows, along = vectors.astype(np.float64), anchors.astype(np.float64)
    across: Floats = rows - (rows * along).sum(axis=1, keepdims=True) * along
    return across


def _non_targets(cosines: Floats, target: Ints) -> Floats:
    """Return the cosines with minus infinity in the place of each row's target."""
    others = cosines.copy()
    others[np.arange(len(target)), target] = -np.inf
    return others
