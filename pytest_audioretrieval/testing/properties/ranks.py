"""Properties of ranks, which are exact and 1-based with the best score first."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from hypothesis import strategies as st

from pytest_audioretrieval.testing.catalogue import Catalogue, expect_between, expect_close, expect_refusal, extended
from pytest_audioretrieval.testing.definitions import CLEAR_GAP
from pytest_audioretrieval.testing.implementation import Floats, Implementation, Ints, Relevant
from pytest_audioretrieval.testing.strategies import Vectors, score_matrices, spoiled_scores, vector_tasks

PROPERTIES = Catalogue()
RANK = "CORA, section 3.3: 1-indexed rank"
ORDER = "ranks depend on the order of the scores only"
ROTATION = "a rotation changes no cosine"

matrices = st.fixed_dictionaries({"scores": score_matrices()})
untied = st.fixed_dictionaries({"scores": score_matrices(untied=True)})


def _ranks(implementation: Implementation, scores: Floats) -> Ints:
    """Return the ranks of an implementation, with their shape checked."""
    found = np.asarray(implementation.ranks(scores.copy()))
    if found.shape != scores.shape:
        raise AssertionError(f"ranks has shape {found.shape}, expected one rank per score, {scores.shape}")
    return found


@PROPERTIES.state(RANK, "ranks", cases=untied)
def ranks_count_the_better_scores(implementation: Implementation, scores: Floats) -> None:
    better = scores[:, np.newaxis, :] > scores[:, :, np.newaxis]
    expect_close("ranks", _ranks(implementation, scores), 1 + better.sum(axis=2), 0)


@PROPERTIES.state(RANK, "ranks", cases=matrices)
def ranks_are_1_to_n_each_once(implementation: Implementation, scores: Floats) -> None:
    found = np.sort(_ranks(implementation, scores), axis=1)
    expect_close("sorted ranks", found, np.broadcast_to(np.arange(1, scores.shape[1] + 1), scores.shape), 0)


@PROPERTIES.state("equal scores share one block of ranks, in any order", "ranks", cases=matrices)
def ranks_of_equal_scores_are_a_block(implementation: Implementation, scores: Floats) -> None:
    better = (scores[:, np.newaxis, :] > scores[:, :, np.newaxis]).sum(axis=2)
    equal = (scores[:, np.newaxis, :] == scores[:, :, np.newaxis]).sum(axis=2)
    expect_between("ranks", _ranks(implementation, scores), better + 1, better + equal)


@PROPERTIES.state(ORDER, "ranks", cases=matrices)
def ranks_survive_a_monotone_transform(implementation: Implementation, scores: Floats) -> None:
    expect_close("ranks", _ranks(implementation, stretched(scores)), _ranks(implementation, scores), 0)


@PROPERTIES.state(ORDER, "ranks", cases=extended(matrices, at=st.integers(0, 6)))
def ranks_survive_a_worse_candidate(implementation: Implementation, scores: Floats, at: int) -> None:
    found = _ranks(implementation, with_worse(scores, at))
    place = min(at, scores.shape[1])
    expect_close("rank of the worse candidate", found[:, place], scores.shape[1] + 1, 0)
    expect_close("ranks", np.delete(found, place, axis=1), _ranks(implementation, scores), 0)


@PROPERTIES.state(RANK, "ranks", cases=extended(untied, seed=st.integers(0, 5)))
def ranks_go_with_their_candidates(implementation: Implementation, scores: Floats, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(scores.shape[1])
    expect_close("ranks", _ranks(implementation, scores[:, order]), _ranks(implementation, scores)[:, order], 0)


@PROPERTIES.state("scores are compared as float64", "ranks", cases=extended(untied, gap=st.sampled_from([1e-9, 1e-12])))
def ranks_tell_close_scores_apart(implementation: Implementation, scores: Floats, gap: float) -> None:
    expect_close("ranks", _ranks(implementation, squeezed(scores, gap)), _ranks(implementation, scores), 0)


@PROPERTIES.state("nan is not a score", "ranks", cases=st.fixed_dictionaries({"scores": spoiled_scores(nan)}))
def ranks_refuse_nan(implementation: Implementation, scores: Floats) -> None:
    expect_refusal("ranks", lambda: implementation.ranks(scores.copy()))


def _first(implementation: Implementation, queries: Vectors, candidates: Vectors, relevant: Relevant) -> Ints:
    """Return the first hit ranks of an implementation, with their shape checked."""
    found = np.asarray(implementation.first_hit_rank(queries.copy(), candidates.copy(), relevant))
    if found.shape != (len(queries),):
        raise AssertionError(f"first_hit_rank has shape {found.shape}, expected ({len(queries)},)")
    return found


def _bounds(queries: Vectors, candidates: Vectors, relevant: Relevant) -> tuple[Ints, Ints]:
    """Return the least and greatest rank of the best relevant candidate, if near-ties may change order."""
    low, high = [], []
    for row, right in zip(cosines(queries, candidates), relevant, strict=True):
        best = row[right].max()
        wrong = np.delete(row, right)
        low.append(1 + (wrong > best + CLEAR_GAP).sum())
        high.append(1 + (wrong >= best - CLEAR_GAP).sum())
    return np.array(low), np.array(high)


@PROPERTIES.state("pinned protocol, Ranking: cosine", "first_hit_rank", cases=vector_tasks())
def first_hit_rank_counts_the_closer_candidates(implementation: Implementation, **task: Any) -> None:
    expect_between("first_hit_rank", _first(implementation, **task), *_bounds(**task))


@PROPERTIES.state(ROTATION, "first_hit_rank", cases=extended(vector_tasks(), seed=st.integers(0, 5)))
def first_hit_rank_survives_a_rotation(implementation: Implementation, seed: int, **task: Any) -> None:
    low, high = _bounds(**task)
    turned = {**task, **rotated(seed, queries=task["queries"], candidates=task["candidates"])}
    clear = low == high
    expect_close("first_hit_rank", _first(implementation, **turned)[clear], _first(implementation, **task)[clear], 0)


@PROPERTIES.state("a vector has no nan", "first_hit_rank", cases=extended(vector_tasks(), at=st.integers(0, 20)))
def first_hit_rank_refuses_nan(implementation: Implementation, at: int, **task: Any) -> None:
    candidates = task["candidates"].copy()
    candidates.flat[at % candidates.size] = nan
    expect_refusal("first_hit_rank", lambda: _first(implementation, task["queries"], candidates, task["relevant"]))


@PROPERTIES.state(RANK, "first_hit_rank", "ranks", cases=vector_tasks())
def first_hit_rank_is_the_least_rank(implementation: Implementation, **task: Any) -> None:
    low, high = _bounds(**task)
    every = _ranks(implementation, cosines(task["queries"], task["candidates"]))
    least = np.array([row[right].min() for row, right in zip(every, task["relevant"], strict=True)])
    clear = low == high
    expect_close("first_hit_rank", _first(implementation, **task)[clear], least[clear], 0)


def stretched(scores: Floats) -> Floats:
    """Return scores in the same order, ties included, with other gaps."""
    _, places = np.unique(scores, return_inverse=True)
    return places.reshape(scores.shape) ** 2 / 4 - 3


def squeezed(scores: Floats, gap: float) -> Floats:
    """Return untied scores in the same order, with neighbours ``gap`` apart."""
    places: Floats = np.argsort(np.argsort(scores, axis=1), axis=1).astype(np.float64)
    return 0.5 + gap * places


def cosines(queries: Vectors, candidates: Vectors) -> Floats:
    """Return the cosine of each query with each candidate, [Q, N]."""
    return queries.astype(np.float64) @ candidates.astype(np.float64).T


def with_worse(scores: Floats, at: int) -> Floats:
    """Return the scores with one more candidate, at column ``at`` or last, that scores below all others."""
    return np.insert(scores, min(at, scores.shape[1]), scores.min(axis=1) - 1, axis=1)


def rotated(seed: int, **vectors: Vectors) -> dict[str, Vectors]:
    """Return all vectors after one rotation or reflection of their space."""
    dims = next(iter(vectors.values())).shape[1]
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(dims, dims)))[0]
    return {name: (rows.astype(np.float64) @ turn).astype(np.float32) for name, rows in vectors.items()}
