"""Tests of choices against chance: scipy, sign flips written out, Clopper and Pearson, coverage by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.stats.chance import against_chance, sign_flip_p


def wins(right, trials):
    return [1] * right + [0] * (trials - right)


sizes = st.integers(1, 200).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@pytest.mark.slow
@given(sizes)
def test_independent_answers_are_those_of_scipy(found):
    right, trials = found
    ours = against_chance(wins(right, trials), range(trials), resamples=100)
    theirs = scipy_stats.binomtest(right, trials)
    interval = theirs.proportion_ci(method="wilson")
    assert ours.p_exact == pytest.approx(theirs.pvalue, rel=1e-9)
    assert (ours.wilson_low, ours.wilson_high) == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert (ours.successes, ours.trials, ours.ties, ours.clusters) == (right, trials, 0, trials)
    assert ours.accuracy == pytest.approx(right / trials, abs=1e-15)


@pytest.mark.slow
@given(sizes)
def test_singletons_without_ties_have_one_p(found):
    ours = against_chance(wins(*found), range(found[1]), resamples=100)
    assert ours.p_clustered == ours.p_exact


def written_out(sums):
    totals = [abs(np.dot(signs, sums)) for signs in product((1, -1), repeat=len(sums))]
    return np.mean(np.array(totals) >= abs(sum(sums)))


@pytest.mark.slow
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=10))
def test_sign_flips_written_out(sums):
    assert sign_flip_p(np.array(sums, dtype=float)) == pytest.approx(written_out(sums), abs=1e-12)


def test_clusters_by_hand():
    """Sums in half units are a 2, b 2, c -1 + 1 + 0 = 0, d -1; 4 of 8 flips total 3 or 5 either way, so p is 1/2."""
    found = against_chance([1, 1, 1, 1, 0, 1, 0.5, 0], list("aabbcccd"), resamples=100)
    assert found.p_clustered == 0.5 == written_out([2, 2, 0, -1])
    assert (found.clusters, found.ties, found.trials) == (4, 1, 8)
    assert (found.accuracy, found.successes) == (5.5 / 8, 5)


def test_the_printed_p_of_masb():
    """MASB, Exp. 2, prints p = 0.018 for 157 of 274; if both captions of a recording get one answer, p is 0.103."""
    assert against_chance(wins(157, 274), range(274)).p_exact == pytest.approx(0.018307, abs=1e-6)
    alike = against_chance(wins(157, 274), np.arange(274) // 2)
    assert alike.p_clustered == pytest.approx(scipy_stats.binomtest(78, 136).pvalue, rel=1e-9)
    assert alike.p_clustered == pytest.approx(0.1029, abs=1e-4)
    assert alike.clusters == 137


@pytest.mark.parametrize(
    ("correct", "successes"),
    [
        ([1, 1, 0.5], 2),  # 2.5 of 3
        ([0, 0, 0.5], 1),  # 0.5 of 3
        ([1, 0, 0.5], 1),  # 1.5 of 3, either way p = 1
        ([1, 0.5, 0.5, 0], 2),
        ([0.5, 0.5, 1, 1], 3),
        ([1, 1, 1, 0.5], 3),  # 3.5 of 4
    ],
)
def test_half_a_success_is_rounded_towards_chance(correct, successes):
    found = against_chance(correct, range(len(correct)), resamples=100)
    assert found.successes == successes
    assert found.accuracy == pytest.approx(sum(correct) / len(correct))
    assert found.p_exact == pytest.approx(scipy_stats.binomtest(successes, len(correct)).pvalue)


outcomes = st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.integers(0, 6)), min_size=1, max_size=30)


@pytest.mark.slow
@given(outcomes)
def test_right_and_wrong_are_symmetric(found):
    correct, cluster = np.array([value for value, _ in found], dtype=float), [label for _, label in found]
    one, other = (against_chance(values, cluster, resamples=200) for values in (correct, 1 - correct))
    assert (one.p_clustered, one.p_exact, one.ties) == (other.p_clustered, other.p_exact, other.ties)
    assert (one.wilson_low, one.clustered_low) == pytest.approx((1 - other.wilson_high, 1 - other.clustered_high))
    assert 0 <= one.clustered_low <= one.accuracy <= one.clustered_high <= 1
    assert 0 < one.p_clustered <= 1


def test_one_cluster_says_nothing():
    found = against_chance([1] * 50, ["a"] * 50)
    assert (found.p_clustered, found.clusters) == (1, 1)
    assert found.clustered_low < 0.05
    assert found.p_exact < 1e-14


def test_all_ties():
    found = against_chance([0.5] * 6, "aabbcc")
    assert (found.accuracy, found.ties, found.p_exact, found.p_clustered) == (0.5, 6, 1, 1)
    assert found.clustered_low < 0.5 < found.clustered_high


@pytest.mark.parametrize("right", [0, 3, 20, 37, 40])
def test_the_clustered_interval_of_singletons_is_clopper_pearson(right):
    found = against_chance(wins(right, 40), range(40), resamples=50_000)
    exact = scipy_stats.binomtest(right, 40).proportion_ci(method="exact")
    assert (found.clustered_low, found.clustered_high) == pytest.approx((exact.low, exact.high), abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [0.5, 0.7, 0.9])
def test_the_clustered_interval_covers_where_wilson_does_not(truth):
    """There are 150 clusters of 1 to 6 choices, which agree within a cluster four times in five."""
    rng = np.random.default_rng(0)
    runs = 300
    missed = {"wilson": 0, "clustered": 0, "p": 0}
    for _ in range(runs):
        cluster = np.repeat(np.arange(150), rng.integers(1, 7, 150))
        shared, own = rng.random(150)[cluster] < truth, rng.random(len(cluster)) < truth
        correct = np.where(rng.random(len(cluster)) < 0.9, shared, own)
        found = against_chance(correct.astype(float), cluster, resamples=400)
        missed["wilson"] += not found.wilson_low <= truth <= found.wilson_high
        missed["clustered"] += not found.clustered_low <= truth <= found.clustered_high
        missed["p"] += found.p_clustered <= 0.05
    assert missed["clustered"] / runs < 0.08
    assert missed["wilson"] / runs > 0.2
    if truth == 0.5:
        assert missed["p"] / runs < 0.08


def test_order_of_choices_does_not_matter():
    rng = np.random.default_rng(1)
    correct, cluster = rng.choice([0, 0.5, 1], 60), rng.integers(0, 20, 60)
    turn = rng.permutation(60)
    assert against_chance(correct, cluster) == against_chance(correct[turn], cluster[turn])


@pytest.mark.parametrize(
    ("correct", "cluster", "settings", "error", "message"),
    [
        ([1, float("nan")], "ab", {}, DataError, r"correct\[1\] is nan"),
        ([1, 0.25], "ab", {}, DataError, r"correct\[1\] is 0.25, expected 1 \(right\), 0 \(wrong\) or 0.5"),
        ([1, 0], "a", {}, DataError, "2 of correct, 1 of cluster"),
        ([], "", {}, DataError, r"correct has shape \(0,\)"),
        ([1, 0], "ab", {"resamples": 10}, SpecError, "resamples is 10"),
    ],
)
def test_bad_input_is_one_line(correct, cluster, settings, error, message):
    with pytest.raises(error, match=message) as raised:
        against_chance(correct, list(cluster), **settings)
    assert "\n" not in str(raised.value)
