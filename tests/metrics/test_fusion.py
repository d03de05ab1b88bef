"""Tests of score fusion by vectors, against score fusion itself."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.fusion import fuse


def unit(rng, *shape):
    rows = rng.normal(size=shape)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    return [(unit(rng, 50, 8), unit(rng, 70, 8)), (unit(rng, 50, 24), unit(rng, 70, 24))]


def scores(parts):
    return [queries.astype(np.float64) @ candidates.astype(np.float64).T for queries, candidates in parts]


def z(s):
    return (s - s.mean(axis=1, keepdims=True)) / s.std(axis=1, keepdims=True)


def minmax(s):
    low, high = s.min(axis=1, keepdims=True), s.max(axis=1, keepdims=True)
    return (s - low) / (high - low)


@pytest.mark.parametrize(("rule", "scale"), [("avg-z", z), ("avg-minmax", minmax)])
def test_the_cosine_is_the_averaged_score_but_for_a_line_of_the_querys_own(parts, rule, scale):
    averaged = np.mean([scale(s) for s in scores(parts)], axis=0)
    queries, candidates = fuse(parts, rule)
    np.testing.assert_allclose(np.linalg.norm(queries, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(candidates, axis=1), 1)
    cosines = queries @ candidates.T
    for one, other in zip(averaged, cosines, strict=True):
        slope, offset = np.polyfit(one, other, 1)
        assert slope > 0
        np.testing.assert_allclose(slope * one + offset, other, atol=2e-7)


@pytest.mark.parametrize("rule", ["avg-z", "avg-minmax"])
def test_by_hand(rule):
    """One retriever scores (1, 0), the other (0.6, 0.8); both rules scale them by 1 and 0.2 (or halves)."""
    one = (np.float32([[1, 0]]), np.float32([[1, 0], [0, 1]]))
    other = (np.float32([[1, 0]]), np.float32([[0.6, 0.8], [0.8, 0.6]]))
    queries, candidates = fuse([one, other], rule)
    # Scaled by their spreads, a lead of 1 and one of -0.2 weigh alike: the candidates tie.
    first, second = (queries @ candidates.T)[0]
    assert first == pytest.approx(second, abs=1e-7)
    queries, candidates = fuse([one, one, other], rule)
    assert (queries @ candidates.T)[0].argmax() == 0


def test_more_queries_than_fit_a_block(parts, monkeypatch):
    whole = fuse(parts, "avg-z")[0]
    monkeypatch.setattr("pytest_audioretrieval.metrics.fusion._BLOCK", 7)
    np.testing.assert_allclose(fuse(parts, "avg-z")[0], whole, atol=1e-15)


def test_a_retriever_without_spread_cannot_be_scaled(parts):
    flat = (parts[0][0], np.repeat(parts[0][1][:1], 70, axis=0))
    with pytest.raises(DataError, match=r"query 0 scores all 70 candidates alike, so avg-z cannot scale it"):
        fuse([flat, parts[1]], "avg-z")
