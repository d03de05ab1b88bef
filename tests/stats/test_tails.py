"""Tests of the tail index over repeated samples of known tails."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats import heavy_tailed, tail_index


def pareto(index):
    return lambda rng, size: (1 - rng.random(size)) ** (-1 / index)


def sparse(share, draw):
    """Return changes of ranks of which most are 0."""
    return lambda rng, size: np.where(rng.random(size) < share, draw(rng, size), 0.0)


def small_integers(rng, size):
    return rng.geometric(0.5, size) * rng.choice([-1, 1], size)


def flagged(draw, size, trials=200):
    rng = np.random.default_rng(1)
    return np.mean([heavy_tailed(draw(rng, size)) for _ in range(trials)])


def test_index_by_hand():
    """Of 200 values the 20 in the tail are ten times 2 and ten times 4 the next largest, which is 3."""
    values = np.concatenate([np.full(10, 12.0), np.full(10, -6.0), np.full(180, 3.0)])
    assert tail_index(values) == pytest.approx(20 / (10 * log(4) + 10 * log(2)))
    assert tail_index(np.append(values, np.zeros(5_000))) == tail_index(values)  # unchanged queries say nothing
    assert tail_index(values * 1e-9) == pytest.approx(tail_index(values))


@pytest.mark.parametrize("index", [1.0, 1.8, 3.0])
def test_the_index_of_a_pareto_is_found(index):
    rng = np.random.default_rng(0)
    found = [tail_index(pareto(index)(rng, 20_000)) for _ in range(20)]
    assert np.mean(found) == pytest.approx(index, rel=0.02)
    assert np.std(found) == pytest.approx(index / 2_000**0.5, rel=0.5)  # 2,000 points


@pytest.mark.parametrize(
    ("draw", "size", "least"),
    [
        (pareto(1.8), 1_000, 0.75),
        (pareto(1.8), 5_000, 0.97),
        (pareto(1.5), 1_000, 0.97),
        (sparse(0.3, pareto(1.5)), 5_000, 0.9),
    ],
)
def test_heavy_tails_are_named(draw, size, least):
    assert flagged(draw, size) >= least


@pytest.mark.parametrize(
    ("draw", "size"),
    [
        (lambda rng, size: rng.standard_normal(size), 200),
        (lambda rng, size: rng.uniform(-1, 1, size), 200),
        (lambda rng, size: rng.exponential(size=size), 1_000),
        (lambda rng, size: rng.standard_t(3, size), 5_000),
        (sparse(0.03, lambda rng, size: rng.uniform(1, 10, size)), 5_000),
        (sparse(0.3, small_integers), 5_000),
        (pareto(3.0), 1_000),
    ],
    ids=["normal", "uniform", "exponential", "t3", "few bounded", "small integers", "pareto 3"],
)
def test_tails_with_a_variance_are_not(draw, size):
    assert flagged(draw, size) <= 0.03


def test_a_logarithm_of_ranks_has_no_heavy_tail():
    """Ranks in a pool of 1,000 have a heavy tail, and log2 of their ratio has none."""
    rng = np.random.default_rng(2)
    new, old = (np.minimum(np.ceil(pareto(0.6)(rng, 3_000)), 1_000) for _ in range(2))
    assert heavy_tailed(new - old)
    assert not heavy_tailed(np.log2(new / old))


def test_too_few_points_say_nothing():
    rng = np.random.default_rng(3)
    assert tail_index(pareto(0.5)(rng, 99)) is None
    assert tail_index(pareto(0.5)(rng, 100)) is not None
    assert tail_index(np.zeros(1_000)) is None
    assert not heavy_tailed(np.append(pareto(0.5)(rng, 99), np.zeros(1_000)))


def test_equal_changes_have_no_tail():
    assert tail_index(np.tile([-1.0, 1.0], 100)) == float("inf")
    assert not heavy_tailed(np.ones(100))


def test_what_has_no_tail():
    with pytest.raises(DataError, match=r"^values\[0\] is inf, "):
        tail_index([np.inf, 1.0])
