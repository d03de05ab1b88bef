"""Tests of the strategies: inputs keep their promises, and those that break implementations are among them."""

from __future__ import annotations

from math import inf, nan
from random import Random

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from pytest_audioretrieval.testing import strategies as ours
from pytest_audioretrieval.testing.strategies import HUGE, LARGE
from tests.examples import examples


def similar(vectors):
    """Return the least distance of two of the vectors."""
    gaps = np.linalg.norm(vectors[:, None].astype(float) - vectors, axis=2) + 9 * np.eye(len(vectors))
    return gaps.min()


@pytest.mark.slow
@given(ours.score_matrices())
def test_scores(scores):
    assert scores.dtype == np.float64
    assert 1 <= len(scores) <= 2
    assert 1 <= scores.shape[1] <= 6 or scores.shape[1] in (LARGE, HUGE)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, scores.astype(np.float32))


@pytest.mark.slow
@given(ours.score_matrices(untied=True, least_candidates=2))
def test_untied_scores(scores):
    assert scores.shape[1] >= 2
    assert all(len(np.unique(row)) == len(row) for row in scores)


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_spoiled_scores(value):
    @given(ours.spoiled_scores(value))
    @examples(30)
    def one_is_spoiled(scores):
        bad = ~np.isfinite(scores)
        assert bad.sum() == 1
        np.testing.assert_array_equal(scores[bad], value)

    one_is_spoiled()


@pytest.mark.slow
@given(ours.ranking_tasks())
def test_ranking_tasks(task):
    queries, candidates = task["scores"].shape
    assert len(task["relevant"]) == queries
    assert 1 <= task["k"] <= candidates + 1
    for part in task["relevant"]:
        assert 1 <= len(part) < candidates
        assert len(set(part)) == len(part)
        assert set(part) <= set(range(candidates))


@pytest.mark.slow
@given(st.data(), st.integers(1, 6), st.integers(1, 4))
def test_unit_embeddings(data, count, dims):
    vectors = data.draw(ours.unit_embeddings(count, dims))
    assert vectors.shape == (count, dims)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(float), axis=1), 1, atol=1e-6)


@pytest.mark.slow
@given(ours.reformulation_problems())
def test_reformulation_problems(problem):
    (pairs, dims), pool = problem["source"].shape, problem["candidates"]
    assert problem["reformulated"].shape == (pairs, dims)
    assert len(pool) >= 2
    assert pool.shape[1] == dims
    assert problem["target"].dtype == np.int64
    assert ((problem["target"] >= 0) & (problem["target"] < len(pool))).all()


SCORES, TASKS = ours.score_matrices(), ours.ranking_tasks()
VECTORS, PROBLEMS = ours.vector_tasks(), ours.reformulation_problems()
FOUND = {
    "ties": (SCORES, lambda s: len(np.unique(s)) < s.size),
    "constants": (SCORES, lambda s: s.size > 3 and len(np.unique(s)) == 1),
    "fractions": (SCORES, lambda s: (s != np.round(s)).any()),
    "one candidate": (SCORES, lambda s: s.shape[1] == 1),
    "a huge pool": (SCORES, lambda s: s.shape[1] == HUGE),
    "a huge untied pool": (ours.score_matrices(untied=True), lambda s: s.shape[1] == HUGE),
    "one relevant": (TASKS, lambda t: len(t["relevant"][0]) == 1 and t["scores"].shape[1] > 4),
    "many relevant": (TASKS, lambda t: 2 <= len(t["relevant"][0]) < t["scores"].shape[1] - 2),
    "all but one relevant": (TASKS, lambda t: len(t["relevant"][0]) == t["scores"].shape[1] - 1 > 2),
    "other numbers per query": (TASKS, lambda t: len({len(part) for part in t["relevant"]}) == 2),
    "k beyond the pool": (TASKS, lambda t: t["k"] > t["scores"].shape[1]),
    "all relevant": (VECTORS, lambda t: len(t["relevant"][0]) == len(t["candidates"]) > 2),
    "one candidate vector": (VECTORS, lambda t: len(t["candidates"]) == 1),
    "one dimension": (VECTORS, lambda t: t["candidates"].shape[1] == 1),
    "a huge pool of vectors": (VECTORS, lambda t: len(t["candidates"]) == HUGE),
    "duplicates": (PROBLEMS, lambda p: similar(p["candidates"]) == 0),
    "near-ties": (PROBLEMS, lambda p: 0 < similar(p["candidates"]) < 3e-7),
    "opposites": (PROBLEMS, lambda p: (p["candidates"] @ p["candidates"].T).min() < -0.999),
    "a shared target": (PROBLEMS, lambda p: len(set(p["target"].tolist())) < len(p["target"])),
    "an unmoved query": (PROBLEMS, lambda p: (p["source"] == p["reformulated"]).all(axis=1).any()),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FOUND)
def test_it_is_among_the_inputs(what):
    strategy, wanted = FOUND[what]
    rules = settings(max_examples=2000, database=None, phases=(Phase.generate,))
    assert find(strategy, wanted, settings=rules, random=Random(0)) is not None
