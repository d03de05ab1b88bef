"""Hypothesis strategies for inputs of ranks and metrics; difficult inputs are common and shrink to a few small numbers.

>>> import numpy as np
>>> from hypothesis import given, settings
>>> from pytest_audioretrieval.metrics import mrr, rank_scores
>>> from pytest_audioretrieval.testing.strategies import ranking_tasks
>>> @settings(max_examples=5)
... @given(ranking_tasks())
... def test_mrr_is_above_0(task):
...     assert (mrr()(rank_scores(task["scores"], task["relevant"])) > 0).all()
>>> test_mrr_is_above_0()
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pytest_audioretrieval.testing.implementation import Floats, Ints

__all__ = [
    "RankingTask",
    "ReformulationProblem",
    "VectorTask",
    "ranking_tasks",
    "reformulation_problems",
    "relevance_sets",
    "score_matrices",
    "spoiled_scores",
    "unit_embeddings",
    "vector_tasks",
]

Draw = st.DrawFn
Vectors = npt.NDArray[np.float32]

#: Number of candidates in a huge pool: more than one block of any implementation holds, and still fast.
HUGE = 1_100
#: Number of candidates in a large pool: more than sorting routines happen to keep in order when scores are equal.
LARGE = 24
#: About one input in this many has a large or huge pool.
RARITY = 40
#: Distance of near-ties before vectors are normalised.
NUDGE = 1e-7
#: Fractions are multiples of one over this number.
GRID = 4096
#: Values of the components of a vector before it is normalised, simplest first.
LATTICE = (0, 1, -1, 2, -2)

seeds = st.integers(0, 2**16)
pools = st.sampled_from((LARGE, HUGE))
rarely = st.integers(0, RARITY - 1).map(lambda number: number == RARITY - 1)
whole = st.integers(-1, 2)
fractions = st.integers(-GRID, GRID).map(lambda number: number / GRID)
#: Rows that an input keeps of the two that are drawn, so that Hypothesis can leave out either.
picks = st.sampled_from(([0], [1], [0, 1]))
amounts = st.sampled_from(("any", "one", "most"))


class RankingTask(TypedDict):
    """Input of a metric: scores, relevance and a depth.

    Source: the functions of ``Implementation`` that take scores.

    Attributes:
        scores: float64 [Q, N], finite; a greater score is better.
        relevant: the candidate indices of each query, [Q][>= 1]; each query has an irrelevant candidate too.
        k: from 1 to N + 1.

    >>> import numpy as np
    >>> from pytest_audioretrieval.testing.strategies import RankingTask
    >>> task = RankingTask(scores=np.array([[0.5, 1.0]]), relevant=[[0]], k=1)
    >>> task["relevant"]
    [[0]]
    """

    scores: Floats
    relevant: list[list[int]]
    k: int


class VectorTask(TypedDict):
    """Input of ``first_hit_rank``: vectors and relevance.

    Source: pinned protocol, "Fixtures and protocol", Ranking (cosine of unit vectors).

    Attributes:
        queries: unit vectors [Q, D], float32.
        candidates: unit vectors [N, D], float32.
        relevant: the candidate indices of each query, [Q][>= 1]; all candidates may be relevant.

    >>> import numpy as np
    >>> from pytest_audioretrieval.testing.strategies import VectorTask
    >>> task = VectorTask(queries=np.float32([[1, 0]]), candidates=np.float32([[0, 1], [1, 0]]), relevant=[[1]])
    >>> task["candidates"].shape
    (2, 2)
    """

    queries: Vectors
    candidates: Vectors
    relevant: list[list[int]]


class ReformulationProblem(TypedDict):
    """Input of ``reformulation``: pairs of queries, candidates and targets.

    Source: CORA, sections 3.3 and 3.4.

    Attributes:
        source, reformulated: unit vectors [P, D], float32; row i of each belongs to pair i.
        candidates: unit vectors [N, D], float32, N >= 2.
        target: int64 [P], index of the candidate that both queries of a pair ask for.

    >>> import numpy as np
    >>> from pytest_audioretrieval.testing.strategies import ReformulationProblem
    >>> axes, turned = np.float32([[1, 0], [0, 1]]), np.float32([[0, 1], [0, 1]])
    >>> problem = ReformulationProblem(source=axes, reformulated=turned, candidates=axes, target=np.array([0, 1]))
    >>> problem["target"].tolist()
    [0, 1]
    """

    source: Vectors
    reformulated: Vectors
    candidates: Vectors
    target: Ints


@st.composite
def score_matrices(draw: Draw, *, least_candidates: int = 1, untied: bool = False) -> Floats:
    """Draw finite scores, float64 [Q, N] with Q = 1 or 2.

    They are whole numbers with ties, fractions, or constants. N is at most 6, and sometimes 24 or 1,100. Fractions are
    so far apart that the precision of an implementation ties none of them.

    Source: pinned protocol, "Fixtures and protocol", Ranking (ties).

    Args:
        least_candidates: least N, from 1 to 6.
        untied: give no two candidates of a query the same score.

    Raises:
        hypothesis.errors.InvalidArgument: ``least_candidates`` above 6, when the first input is drawn.

    >>> from hypothesis import find
    >>> from pytest_audioretrieval.testing.strategies import score_matrices
    >>> scores = find(score_matrices(untied=True), lambda scores: scores.shape[1] == 3)
    >>> len(set(scores[0].tolist()))
    3
    """
    pick = draw(picks)
    if draw(rarely):
        return _pool_scores(np.random.default_rng(draw(seeds)), (len(pick), draw(pools)), untied)
    kind = draw(st.sampled_from(("whole", "fractions") if untied else ("whole", "fractions", "constant")))
    scores = _scores(draw(_columns(kind, least_candidates)), pick)
    return _spread(scores, kind) if untied else scores


@st.composite
def spoiled_scores(draw: Draw, *values: float) -> Floats:
    """Draw scores, float64 [Q, N >= 2], of which exactly one is one of ``values``.

    Source: an ``Implementation`` should refuse such scores.

    Args:
        values: numbers that are no scores, such as nan, inf and -inf.

    Raises:
        hypothesis.errors.InvalidArgument: no values, when the first input is drawn.

    >>> from math import inf
    >>> from hypothesis import find
    >>> from pytest_audioretrieval.testing.strategies import spoiled_scores
    >>> int((find(spoiled_scores(inf), lambda scores: True) == inf).sum())
    1
    """
    scores = draw(score_matrices(least_candidates=2))
    scores.flat[draw(st.integers(0, scores.size - 1))] = draw(st.sampled_from(values))
    return scores


@st.composite
def relevance_sets(draw: Draw, queries: int, candidates: int, *, least_irrelevant: int = 1) -> list[list[int]]:
    """Draw the relevant candidates of each query, [Q][>= 1].

    Each query has one, or all but the least number of irrelevant ones, or any number.

    Source: pinned protocol, "Fixtures and protocol" (one relevant clip in T2A, five relevant captions in A2T).

    Args:
        queries, candidates: Q and N, at least 1.
        least_irrelevant: number of candidates of each query that stay irrelevant, below N.

    >>> from hypothesis import find
    >>> from pytest_audioretrieval.testing.strategies import relevance_sets
    >>> found = find(relevance_sets(2, 3), lambda relevant: len(relevant[0]) == 2)
    >>> len(found), len(found[0])
    (2, 2)
    """
    if candidates >= LARGE:
        seeded = np.random.default_rng(draw(seeds))
        sizes = st.integers(1, candidates - least_irrelevant)
        return [seeded.choice(candidates, draw(sizes), replace=False).tolist() for _ in range(queries)]
    flags = [[draw(st.booleans()) for _ in range(candidates)] for _ in range(queries)]
    return _relevant(draw(amounts), flags, least_irrelevant)


@st.composite
def ranking_tasks(draw: Draw, *, untied: bool = False) -> RankingTask:
    """Draw a ``RankingTask``: scores, relevance that leaves each query an irrelevant candidate, and k from 1 to N + 1.

    Source: the functions of ``Implementation`` that take scores.

    Args:
        untied: give no two candidates of a query the same score.

    >>> from hypothesis import find
    >>> from pytest_audioretrieval.testing.strategies import ranking_tasks
    >>> task = find(ranking_tasks(untied=True), lambda task: len(task["relevant"][0]) == 2)
    >>> sorted(task), task["scores"].shape[1] > 2
    (['k', 'relevant', 'scores'], True)
    """
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
    """Draw unit vectors, float32 [count, dims], of which some are equal, opposite, or 1e-7 apart.

    Source: CORA, Appendix K.1 (embeddings on the unit sphere).

    Args:
        count, dims: at least 1.

    >>> from hypothesis import find
    >>> from pytest_audioretrieval.testing.strategies import unit_embeddings
    >>> vectors = find(unit_embeddings(2, 2), lambda vectors: True)
    >>> vectors.shape, str(vectors.dtype), (vectors**2).sum(axis=1).round(5).tolist()
    ((2, 2), 'float32', [1.0, 1.0])
    """
    if count >= LARGE:
        return _unit(np.random.default_rng(draw(seeds)).normal(size=(count, dims)))
    # The digits of one number are the components of a vector, because few draws are fast and shrink well.
    rows = _digits(np.array([draw(st.integers(0, len(LATTICE) ** dims - 1)) for _ in range(count)]), dims)
    kind = draw(st.sampled_from(("plain", "duplicates", "near-ties")))
    if kind != "plain" and count > 1:
        original = draw(st.integers(0, count - 1))
        rows[draw(st.integers(0, count - 1))] = rows[original]
        rows[original, draw(st.integers(0, dims - 1))] += NUDGE if kind == "near-ties" else 0
    return _unit(rows)


@st.composite
def vector_tasks(draw: Draw, *, least_candidates: int = 1) -> VectorTask:
    """Draw a ``VectorTask``: unit vectors of 1 to 4 dimensions, and relevance that may cover the whole pool.

    Source: pinned protocol, "Fixtures and protocol", Ranking (cosine of unit vectors).

    Args:
        least_candidates: least N, from 1 to 6; sometimes N is 1,100.

    Raises:
        hypothesis.errors.InvalidArgument: ``least_candidates`` above 6, when the first input is drawn.

    >>> from hypothesis import find
    >>> from pytest_audioretrieval.testing.strategies import vector_tasks
    >>> task = find(vector_tasks(), lambda task: len(task["candidates"]) == 2)
    >>> sorted(task), task["queries"].shape[1] == task["candidates"].shape[1]
    (['candidates', 'queries', 'relevant'], True)
    """
    dims, pick = draw(st.integers(1, 4)), draw(picks)
    candidates = HUGE if draw(rarely) else draw(st.integers(least_candidates, 6))
    return {
        "queries": draw(unit_embeddings(2, dims))[pick],
        "candidates": draw(unit_embeddings(candidates, dims)),
        "relevant": draw(relevance_sets(len(pick), candidates, least_irrelevant=0)),
    }


@st.composite
def reformulation_problems(draw: Draw) -> ReformulationProblem:
    """Draw a ``ReformulationProblem``: one or two pairs of queries, 2 to 6 or 1,100 candidates, and targets.

    Both pairs may share a target, and a query may stay unchanged.

    Source: CORA, sections 3.3 and 3.4.

    >>> from hypothesis import find
    >>> from pytest_audioretrieval.testing.strategies import reformulation_problems
    >>> problem = find(reformulation_problems(), lambda problem: len(problem["target"]) == 1)
    >>> sorted(problem), len(problem["source"]), len(problem["reformulated"])
    (['candidates', 'reformulated', 'source', 'target'], 1, 1)
    """
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
    """Return a strategy for candidates, each with its scores for two queries and its relevance to them.

    Hypothesis can leave out a candidate as a whole. The strategy is made once for each kind, because making one takes
    longer than drawing from it.
    """
    score: st.SearchStrategy[Any] = {"whole": whole, "fractions": fractions, "constant": st.just(0.5)}[kind]
    return st.lists(st.tuples(score, score, st.booleans(), st.booleans()), min_size=least, max_size=6)


def _scores(columns: list[Any], pick: list[int]) -> Floats:
    """Return the scores of the chosen queries, [Q, N]."""
    scores: Floats = np.array([column[:2] for column in columns], dtype=np.float64).T[pick]
    return scores


def _spread(scores: Floats, kind: str) -> Floats:
    """Return scores in the same order without ties: whole numbers from 0, or eighths around 0."""
    places: Floats = np.argsort(np.argsort(scores, axis=1, kind="stable"), axis=1).astype(np.float64)
    return places if kind == "whole" else (places - scores.shape[1] // 2) / 8


def _pool_scores(seeded: np.random.Generator, shape: tuple[int, int], untied: bool) -> Floats:
    """Return the scores of a large or huge pool, [Q, N]."""
    if untied:
        return seeded.permutation(shape[0] * shape[1]).reshape(shape) / 8
    return seeded.integers(0, 2 + shape[1] // 24, shape).astype(np.float64)


def _relevant(amount: str, flags: list[list[bool]], least_irrelevant: int) -> list[list[int]]:
    """Return the flagged candidates of each query, or only one of them, or all candidates but one flagged one.

    Each query gets at least one candidate, and leaves at least ``least_irrelevant``.
    """
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
    """Return vectors whose components are the digits of numbers, [count, dims]."""
    places = numbers[:, np.newaxis] // len(LATTICE) ** np.arange(dims) % len(LATTICE)
    components: Floats = np.array(LATTICE, dtype=np.float64)[places]
    return components


def _unit(rows: Floats) -> Vectors:
    """Return the rows with length 1; a row of zeros becomes the first axis."""
    rows[~rows.any(axis=1), 0] = 1
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit
