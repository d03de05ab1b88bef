"""Tests of bounds against exact tests, scipy and formulas worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pytest_audioretrieval.stats import compare
from pytest_audioretrieval.stats.bootstrap import lower_bound, plain_means, resample, worst_loss
from pytest_audioretrieval.stats.clusters import group


def binary(clusters, lost, gained):
    """Return outcomes of one query in each cluster, of which ``lost`` hits are lost and ``gained`` gained."""
    new, old = np.ones(clusters), np.ones(clusters)
    new[:lost], old[lost : lost + gained] = 0, 0
    return new, old


@pytest.mark.parametrize(
    ("sums", "sizes", "span", "loss"),
    [
        ([-1, 0, 0, 0], [1, 1, 1, 1], 1, 1),  # losses only: all that can be lost
        ([-1, 0, 0, 1], [1, 1, 1, 1], 1, 2 / 3),  # (1 + 1) / (2 + 1)
        ([1, 1, 1, 0], [1, 1, 1, 1], 1, 1 / 2),  # gains only: never below one half
        ([-1, 0, 0, 0], [5, 5, 5, 5], 1, 5),  # one query of five lost; the next cluster may lose all five
        ([-1, -1, -1, -1], [5, 5, 5, 5], 1, 1 + 5 / 4),  # four clusters seen: they hide less
        ([-1, -1, 0], [1, 3, 5], 1, 1 + 35 / 9 / 2),  # an average query sees a cluster of (1 + 9 + 25) / 9
        ([0, 0, 0], [2, 2, 2], 0.5, 1),  # nothing changed: the whole span of a whole cluster
        ([0, 0, 0], [2, 2, 2], 0, 0),
        ([-3, 1, 1, 1], [1, 1, 1, 1], 1, 3 * (27 + 27) / (27 + 3 + 27)),  # span smaller than seen: what was seen
    ],
)
def test_what_the_unseen_cluster_loses(sums, sizes, span, loss):
    found = worst_loss(np.array([sums], dtype=float), np.array(sizes, dtype=float), np.array([span], dtype=float))
    assert found == pytest.approx([loss])


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "lost"), [(50, 1), (50, 3), (200, 0), (200, 7), (957, 20)])
def test_losses_only_give_the_exact_binomial_bound(clusters, lost):
    """By Clopper-Pearson the upper 95 % bound of the loss rate is a quantile of Beta(lost + 1, clusters - lost)."""
    found = compare(*binary(clusters, lost, 0), range(clusters), margin=0.5, resamples=100_000)
    exact = scipy_stats.beta.ppf(0.95, lost + 1, clusters - lost)
    # The order statistic's own error, times 5: sqrt(a (1 - a) / B) over the density there.
    error = 5 * (0.05 * 0.95 / 100_000) ** 0.5 / scipy_stats.beta.pdf(exact, lost + 1, clusters - lost)
    assert found.low == pytest.approx(-exact, abs=error)


@pytest.mark.parametrize(("lost", "gained"), [(3, 0), (5, 1), (8, 2), (12, 5)])
def test_a_fully_adverse_cluster_gives_the_exact_sign_test(lost, gained):
    """The p-value is P(Gamma(lost) <= Gamma(gained + 1)), whatever the number of clusters without a change."""
    new, old = binary(60, lost, gained)
    drawn = resample((new - old)[None, :], np.ones(60), 40_000, seed=1)
    p = float((drawn.means(np.ones(1)) >= 0).mean())
    exact = scipy_stats.binomtest(lost, lost + gained, 0.5, alternative="greater").pvalue
    assert p == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 40_000) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "gained"), [(4, 0), (6, 6), (2, 9), (0, 3)])
def test_bounds_from_gamma_weights_of_the_three_kinds_of_cluster(lost, gained):
    """The weights of losses, gains and no change are drawn as three Gamma variables instead of cluster by cluster."""
    rng, draws, clusters = np.random.default_rng(8), 200_000, 120
    kinds = [rng.standard_gamma(n, draws) if n else np.zeros(draws) for n in (lost, gained, clusters - lost - gained)]
    extra = rng.standard_exponential(draws)
    adverse = [max(0.5, (side + 1) / (lost + gained + 1)) for side in (lost, gained)]
    low, high = (
        (kinds[1] - kinds[0] + sign * weight * extra) / (sum(kinds) + extra)
        for sign, weight in zip((-1, 1), adverse, strict=True)
    )
    found = compare(*binary(clusters, lost, gained), range(clusters), margin=0.5, resamples=100_000)
    assert found.low == pytest.approx(np.quantile(low, 0.05), abs=7e-4)
    assert found.high == pytest.approx(np.quantile(high, 0.95), abs=7e-4)
    assert found.p_regressed == pytest.approx((high >= 0).mean(), abs=0.008)


@pytest.fixture(scope="module")
def noisy():
    """Return 300 clusters of 3 queries, in which a fifth of the hits flip and more are lost than gained."""
    rng = np.random.default_rng(11)
    cluster = np.repeat(np.arange(300), 3)
    old = (rng.random(900) < 0.6).astype(float)
    new = np.where(rng.random(900) < np.repeat(rng.beta(0.6, 2.4, 300), 3), 1 - old, old)
    return new, old, cluster


def scipy_interval(new, old, cluster, confidence):
    sums, sizes = np.bincount(cluster, new - old), np.bincount(cluster)
    return scipy_stats.bootstrap(
        (np.arange(len(sums)),),
        lambda index, axis: sums[index].sum(axis=axis) / sizes[index].sum(axis=axis),
        n_resamples=20_000,
        confidence_level=confidence,
        method="percentile",
        batch=500,
        rng=np.random.default_rng(12),
    ).confidence_interval


def test_plain_interval_is_that_of_scipy_on_cluster_indices(noisy):
    found = compare(*noisy, margin=0.03)
    expected = scipy_interval(*noisy, 0.95)
    error = found.plain_high - found.plain_low
    assert (found.plain_low, found.plain_high) == pytest.approx(tuple(expected), abs=0.05 * error)


@pytest.mark.slow
def test_bounds_lie_a_little_outside_those_of_scipy(noisy):
    found = compare(*noisy, margin=0.03, resamples=40_000)
    expected = scipy_interval(*noisy, 0.90)
    width = expected.high - expected.low
    assert 0 < expected.low - found.low < 0.1 * width
    assert 0 < found.high - expected.high < 0.1 * width


def test_plain_means_are_means_over_drawn_clusters():
    """A resample of two clusters holds one of them twice, or both."""
    means = plain_means(np.array([[3.0, -1.0]]), np.array([3.0, 1.0]), 4_000, seed=0)[0]
    values, counts = np.unique(means, return_counts=True)
    assert values.tolist() == [-1.0, 0.5, 1.0]
    assert counts / 4_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.04)


def test_lower_bound_is_the_order_statistic_with_plus_one():
    means = np.random.default_rng(0).permuted(np.arange(199.0))[None, :]
    assert lower_bound(means, 0.95) == [9.0]  # rank 200 * 0.05 = 10, counted from 1
    assert lower_bound(means, 0.975) == [4.0]
    assert lower_bound(means[:, :100], 0.95) == np.sort(means[0, :100])[4]


def test_resamples_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    sums, sizes = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    whole = resample(sums, sizes, 500, seed=9)
    again = resample(sums, sizes, 500, seed=9)  # from weights that were kept
    monkeypatch.setattr("pytest_audioretrieval.stats.bootstrap._BLOCK", 28)
    monkeypatch.setattr("pytest_audioretrieval.stats.bootstrap._KEPT", 4 * 500 - 1)
    parts = resample(sums, sizes, 500, seed=9)
    for other in (again, parts):
        assert np.array_equal(whole.sums, other.sums)
        assert np.array_equal(whole.extra, other.extra)


def test_kept_weights_are_those_of_their_seed_number_and_kind():
    sums, sizes = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    first = resample(sums, sizes, 300, seed=1)
    assert np.array_equal(resample(sums, sizes, 200, seed=1).sums, first.sums[:, :200])
    assert not np.array_equal(resample(sums, sizes, 300, seed=2).sums, first.sums)
    # The generator's own numbers, times the columns: an independent route.
    drawn = np.random.Generator(np.random.PCG64(1)).standard_exponential((300, 4))
    assert np.allclose(first.sums, sums @ drawn[:, :3].T, rtol=1e-14)
    times = plain_means(sums, sizes, 300, seed=1)
    counts = np.random.Generator(np.random.PCG64(1)).integers(0, 3, (300, 3))
    assert np.allclose(times, sums[:, counts].sum(axis=2) / sizes[counts].sum(axis=1), rtol=1e-14)


def test_unbounded_outcomes_are_bounded_by_the_worst_cluster_seen():
    """One query fell by 40 and no other changed, so the bound must allow about three more like it."""
    new, old = np.zeros(100), np.zeros(100)
    new[0] = -40.0
    found = compare(new, old, range(100), margin=1.0)
    assert found.low == pytest.approx(-40 * scipy_stats.beta.ppf(0.95, 2, 99), rel=0.03)
    assert found.plain_low == pytest.approx(-1.2, abs=0.4)


def test_group_orders_clusters_by_label_whatever_the_order_of_queries():
    clusters = group(["b", "a", "c", "a", "b", "a"])
    assert clusters.codes.tolist() == [1, 0, 2, 0, 1, 0]
    assert clusters.sizes.tolist() == [3.0, 2.0, 1.0]
    assert clusters.sums(np.array([1.0, 10.0, 100.0, 20.0, 2.0, 30.0])).tolist() == [60.0, 3.0, 100.0]


def test_sums_are_negated_exactly_and_do_not_depend_on_order():
    """The floats round differently in different orders of adding."""
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=900), rng.integers(0, 60, 900)
    sums = group(labels).sums(values)
    assert np.array_equal(group(labels).sums(-values), -sums)
    order = rng.permutation(900)
    assert np.array_equal(group(labels[order]).sums(values[order]), sums)
    assert sums == pytest.approx(np.bincount(group(labels).codes, values), abs=1e-12)
