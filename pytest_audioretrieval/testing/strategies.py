"""Inputs for Hypothesis: what breaks ranks and metrics is common here, and shrinks to a few small numbers."""

from __future__ import annotations

from functools import cache
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pytest_audioretrieval.testing.implementation import Floats, Ints

Draw = st.DrawFn
Vectors = npt.NDArray[np.float32]

#: A huge pool holds this many candidates: enough to leave one block of any implementation, and still fast.
HUGE = 1_100
#: A large one is past the length up to which sorting routines happen to keep the order of equal scores.
LARGE = 24
#: About one input in this many is a large or huge one.
RARITY = 40
#: How far near-ties are apart before vectors are normalised.
NUDGE = 1e-7
#: Fractions are multiples of one over this.
GRID = 4096
#: What a component of a vector can be before it is normalised, simplest first.
LATTICE = (0, 1, -1, 2, -2)

seeds = st.integers(0, 2**16)
pools = st.sampled_from((LARGE, HUGE))
rarely = st.integers(0, RARITY - 1).map(lambda number: number == RARITY - 1)
whole = st.integers(-1, 2)
fractions = st.integers(-GRID, GRID).map(lambda number: number / GRID)
#: Which of two rows an input keeps: both are always drawn, so that Hypothesis can do without either.
picks = st.sampled_from(([0], [1], [0, 1]))
amounts = st.sampled_from(("any", "one", "most"))


class RankingTask(TypedDict):
    """Scores float64 ``[Q, N]``, the relevant candidates of each query, and a depth k, which may exceed N."""

    scores: Floats
    relevant: list[list[int]]
    k: int


class VectorTask(TypedDict):
    """Unit vectors ``[Q, D]`` and ``[N, D]``, and the relevant candidates of each query."""

    queries: Vectors
    candidates: Vectors
    relevant: list[list[int]]


class ReformulationProblem(TypedDict):
    """Unit vectors of P pairs of queries and of N >= 2 candidates, and the candidate each pair looks for, ``[P]``."""

    source: Vectors
    reformulated: Vectors
    candidates: Vectors
    target: Ints


@st.composite
def score_matrices(draw: Draw, *, least_candidates: int = 1, untied: bool = False) -> Floats:
    """Finite scores ``[Q, N]``: whole numbers with ties, fractions, constants; now and then a large or huge pool.

    Fractions are so far apart that no implementation ties them by its own precision.

    Args:
        least_candidates: the least N.
        untied: no query gives two candidates the same score.
    """
    pick = draw(picks)
    if draw(rarely):
        return _pool_scores(np.random.default_rng(draw(seeds)), (len(pick), draw(pools)), untied)
    kind = draw(st.sampled_from(("whole", "fractions") if untied else ("whole", "fractions", "constant")))
    scores = _scores(draw(_columns(kind, least_candidates)), pick)
    return _spread(scores, kind) if untied else scores


@st.composite
def spoiled_scores(draw: Draw, *values: float) -> Floats:
    """Scores ``[Q, N >= 2]`` of which one is one of ``values``: nan, inf or -inf."""
    scores = draw(score_matrices(least_candidates=2))
    scores.flat[draw(st.integers(0, scores.size - 1))] = draw(st.sampled_from(values))
    return scores


@st.composite
def relevance_sets(draw: Draw, queries: int, candidates: int, *, least_irrelevant: int = 1) -> list[list[int]]:
    """Relevant candidates per query: one each, all but the irrelevant ones, or any number per query."""
    if candidates >= LARGE:
        seeded = np.random.default_rng(draw(seeds))
        sizes = st.integers(1, candidates - least_irrelevant)
        return [seeded.choice(candidates, draw(sizes), replace=False).tolist() for _ in range(queries)]
    flags = [[draw(st.booleans()) for _ in range(candidates)] for _ in range(queries)]
    return _relevant(draw(amounts), flags, least_irrelevant)


@st.composite
def ranking_tasks(draw: Draw, *, untied: bool = False) -> RankingTask:
    """Scores, relevance that leaves each query an irrelevant candidate, and k."""
    pick = draw(picks)
    if draw(rarely):
        scores = _pool_scores(np.random.default_rng(draw(seeds)), (len(pick), draw(pools)), untied)
        relevant = draw(relevance_sets(*scores.shape))
        return {"scores": scores, "relevant": relevant, "k": draw(st.integers(1, scores.shape[1] + 1))}
    kind = draw(st.sampled_from(("whole", "fractions") if untied else ("whole", "fractions", "constant")))
    columns = draw(_columns(kind, 2))
    scores = _scores(columns, pick)
    relevant = _relevant(draw(amounts), [[column[2 + query] for column in columns] for query in pick], 1)
    scores = _spread(scores, kind) if untied else scores
    return {"scores": scores, "relevant": relevant, "k": draw(st.integers(1, len(columns) + 1))}


@st.composite
def unit_embeddings(draw: Draw, count: int, dims: int) -> Vectors:
    """Unit float32 vectors ``[count, dims]``, some of them equal, opposite, or ``NUDGE`` apart."""
    if count >= LARGE:
        return _unit(np.random.default_rng(draw(seeds)).normal(size=(count, dims)))
    # One number per vector, whose digits are its components: few draws are fast and shrink well.
    rows = _digits(np.array([draw(st.integers(0, len(LATTICE) ** dims - 1)) for _ in range(count)]), dims)
    kind = draw(st.sampled_from(("plain", "duplicates", "near-ties")))
    if kind != "plain" and count > 1:
        original = draw(st.integers(0, count - 1))
        rows[draw(st.integers(0, count - 1))] = rows[original]
        rows[original, draw(st.integers(0, dims - 1))] += NUDGE if kind == "near-ties" else 0
    return _unit(rows)


@st.composite
def vector_tasks(draw: Draw, *, least_candidates: int = 1) -> VectorTask:
    """Unit vectors of 1 to 4 dimensions, and relevance, which may cover the pool."""
    dims, pick = draw(st.integers(1, 4)), draw(picks)
    candidates = HUGE if draw(rarely) else draw(st.integers(least_candidates, 6))
    return {
        "queries": draw(unit_embeddings(2, dims))[pick],
        "candidates": draw(unit_embeddings(candidates, dims)),
        "relevant": draw(relevance_sets(len(pick), candidates, least_irrelevant=0)),
    }


@st.composite
def reformulation_problems(draw: Draw) -> ReformulationProblem:
    """Pairs of queries, candidates and targets; several pairs may share a target."""
    dims, pick = draw(st.integers(1, 4)), draw(picks)
    candidates = HUGE if draw(rarely) else draw(st.integers(2, 6))
    return {
        "source": draw(unit_embeddings(2, dims))[pick],
        "reformulated": draw(unit_embeddings(2, dims))[pick],
        "candidates": draw(unit_embeddings(candidates, dims)),
        "target": np.array([draw(st.integers(0, candidates - 1)) for _ in range(2)], dtype=np.int64)[pick],
    }


@cache
def _columns(kind: str, least: int) -> st.SearchStrategy[list[Any]]:
    """Candidates, each with the scores that two queries give it and whether it is relevant to them, so that Hypothesis
    can leave out one as a whole.

    Made once per kind, because making a strategy takes longer than drawing from it.
    """
    score: st.SearchStrategy[Any] = {"whole": whole, "fractions": fractions, "constant": st.just(0.5)}[kind]
    return st.lists(st.tuples(score, score, st.booleans(), st.booleans()), min_size=least, max_size=6)


def _scores(columns: list[Any], pick: list[int]) -> Floats:
    scores: Floats = np.array([column[:2] for column in columns], dtype=np.float64).T[pick]
    return scores


def _spread(scores: Floats, kind: str) -> Floats:
    """The same order without ties: places from 0, or eighths around 0."""
    places: Floats = np.argsort(np.argsort(scores, axis=1, kind="stable"), axis=1).astype(np.float64)
    return places if kind == "whole" else (places - scores.shape[1] // 2) / 8


def _pool_scores(seeded: np.random.Generator, shape: tuple[int, int], untied: bool) -> Floats:
    if untied:
        return seeded.permutation(shape[0] * shape[1]).reshape(shape) / 8
    return seeded.integers(0, 2 + shape[1] // 24, shape).astype(np.float64)


def _relevant(amount: str, flags: list[list[bool]], least_irrelevant: int) -> list[list[int]]:
    """The flagged candidates of each query, or but one flagged, or all but one unflagged one; never too few or many."""
    found = []
    for row in flags:
        marked = [candidate for candidate, flag in enumerate(row) if flag] or [0]
        if amount == "one":
            marked = marked[-1:]
        elif amount == "most":
            marked = [candidate for candidate in range(len(row)) if candidate != marked[-1]] or [0]
        found.append(marked[: len(row) - least_irrelevant])
    return found


def _digits(numbers: Ints, dims: int) -> Floats:
    places = numbers[:, np.newaxis] // len(LATTICE) ** np.arange(dims) % len(LATTICE)
    components: Floats = np.array(LATTICE, dtype=np.float64)[places]
    return components


def _unit(rows: Floats) -> Vectors:
    rows[~rows.any(axis=1), 0] = 1
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit
