from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats import diversity_by_type, global_diversity, within_diversity
from tests.examples import examples


def units(seed, count, dims):
    vectors = np.random.default_rng(seed).normal(size=(count, dims))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def brute(vectors):
    return np.mean([1 - first @ second for first, second in combinations(vectors, 2)])


def test_diversity_by_hand():
    x, y = np.eye(2)
    assert global_diversity([x, y]) == pytest.approx(1)
    assert global_diversity([x, -x]) == pytest.approx(2)
    assert global_diversity([x, x, y]) == pytest.approx(2 / 3)
    assert diversity_by_type([x, x, y, x, -x], ["b", "b", "b", "a", "a"]) == pytest.approx({"a": 2, "b": 2 / 3})
    assert within_diversity([x, x, y, x, -x], ["b", "b", "b", "a", "a"]) == pytest.approx(4 / 3)


@examples(50)
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 12))
def test_the_closed_form_is_the_mean_over_pairs(seed, count, dims):
    vectors = units(seed, count, dims)
    assert global_diversity(vectors) == pytest.approx(brute(vectors), abs=1e-12)
    assert global_diversity(vectors.astype(np.float32)) == pytest.approx(brute(vectors), abs=1e-6)
    assert global_diversity(vectors * 1.0005) == pytest.approx(brute(vectors), abs=1e-12)  # only direction counts
    assert 0 <= global_diversity(vectors) <= count / (count - 1) + 1e-12


def test_types_are_measured_apart():
    """Three openings are far apart and each is uniform, so global diversity is large and within-type small."""
    rng = np.random.default_rng(4)
    centre, types = np.repeat(np.eye(16)[:3], 20, axis=0), np.repeat(["command", "indirect", "question"], 20)
    vectors = centre + 0.02 * rng.normal(size=(60, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = diversity_by_type(vectors, types)
    assert list(found) == ["command", "indirect", "question"]
    for name, value in found.items():
        assert value == pytest.approx(brute(vectors[types == name]), abs=1e-12)
    assert within_diversity(vectors, types) == pytest.approx(sum(found.values()) / 3)
    assert global_diversity(vectors) > 0.6 > 0.02 > within_diversity(vectors, types)


def test_equal_queries_have_no_diversity():
    assert global_diversity(np.repeat(units(0, 1, 384).astype(np.float32), 50, axis=0)) == pytest.approx(0, abs=1e-12)


def test_many_queries_take_no_matrix_of_pairs():
    """The pairs of 200,000 queries would take 320 GB."""
    vectors = units(1, 200_000, 8)
    assert global_diversity(vectors) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("vectors", "types", "message"),
    [
        ([[1.0, 0.0], [3.0, 4.0]], ["a", "a"], "^vector 1 has length 5, expected 1: divide it by its length$"),
        ([[1.0, 0.0], [0.0, 0.0]], ["a", "a"], "^vector 1 has length 0, "),
        ([[1.0, 0.0], [0.0, 1.0]], ["a", "b"], "^type 'a' has 1 query, expected at least two"),
        ([[1.0, 0.0], [0.0, 1.0]], ["a"], "^lengths differ: 2 of vectors, 1 of types, "),
        ([[1.0, np.nan]], ["a"], r"^vectors\[0, 1\] is nan, "),
        ([1.0, 0.0], ["a", "a"], r"^vectors has shape \(2,\), expected \[Q, dims\]"),
    ],
)
def test_what_has_no_diversity(vectors, types, message):
    with pytest.raises(DataError, match=message):
        diversity_by_type(vectors, types)


def test_one_query_has_no_diversity():
    with pytest.raises(DataError, match=r"^the set has 1 query, expected at least two"):
        global_diversity([[1.0, 0.0]])
