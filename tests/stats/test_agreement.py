"""Tests of Cohen's kappa by hand, against scikit-learn and from MASB's counts, and of its interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.stats.agreement import cohen_kappa


def kappa(one, other):
    return cohen_kappa(one, other, range(len(one)), resamples=100)


def test_by_hand():
    """6 of 8 choices agree, and accuracies of 5/8 and 5/8 make 34/64 expected, so kappa is (48 - 34) / 30."""
    found = kappa([1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 1, 0, 0])
    assert (found.observed, found.expected) == pytest.approx((6 / 8, 34 / 64))
    assert found.kappa == pytest.approx(14 / 30)
    assert (found.pairs, found.ties, found.clusters) == (8, 0, 8)


choices = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40)


@pytest.mark.slow
@given(choices)
def test_it_is_that_of_scikit_learn(found):
    one, other = np.array(found).T
    assume(len(set(one)) + len(set(other)) > 2)
    assert kappa(one, other).kappa == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)


@pytest.mark.parametrize(
    ("text_right", "both", "audio_right", "pairs", "printed"),
    [(191, 124, 179, 280, 0.03), (167, 144, 177, 246, 0.46), (157, 145, 189, 274, 0.57)],
)
def test_printed_kappas(text_right, both, audio_right, pairs, printed):
    """The cases are timbre, role and order of MASB, Exp. 2."""
    cells = [both, text_right - both, audio_right - both, pairs - text_right - audio_right + both]
    found = kappa(np.repeat([1, 1, 0, 0], cells), np.repeat([1, 0, 1, 0], cells))
    assert found.kappa is not None
    assert round(found.kappa, 2) == printed


@pytest.mark.parametrize("constant", [0, 1, 0.5])
def test_a_constant_side_agrees_with_no_one_beyond_chance(constant):
    assert kappa([1, 0, 1, 1], [constant] * 4).kappa == 0


def test_a_resample_without_kappa_could_have_any():
    """A third of the resamples of four pairs draw only one kind of choice."""
    found = kappa([1, 0, 1, 1], [1] * 4)
    assert (found.kappa, found.low, found.high) == (0, -1, 1)


@pytest.mark.parametrize("constant", [0, 1])
def test_two_constants(constant):
    alike, opposed = kappa([constant] * 3, [constant] * 3), kappa([constant] * 3, [1 - constant] * 3)
    assert (alike.kappa, alike.low, alike.high, alike.observed, alike.expected) == (None, None, None, 1, 1)
    assert (opposed.kappa, opposed.observed, opposed.expected) == (0, 0, 0)


@pytest.mark.slow
def test_ties_are_fair_coins_and_counted():
    """The numerator of kappa is the mean over every way to break the ties; expected agreement needs accuracies only."""
    one, other = np.array([1, 0, 0.5, 1, 0.5, 0]), np.array([1, 0, 1, 0.5, 0.5, 1])
    found = kappa(one, other)
    assert found.ties == 3
    rng = np.random.default_rng(0)
    broken = [np.mean((one > rng.random(6)) == (other > rng.random(6))) for _ in range(20_000)]
    assert found.observed == pytest.approx(np.mean(broken), abs=0.01)
    assert found.observed == pytest.approx((1 + 1 + 0.5 + 0.5 + 0.5 + 0) / 6)


@pytest.mark.slow
@given(choices)
def test_sides_and_options_are_symmetric(found):
    one, other = np.array(found).T
    here, swapped, turned = kappa(one, other), kappa(other, one), kappa(1 - one, 1 - other)
    assert here.kappa == pytest.approx(swapped.kappa)
    assert here.kappa == pytest.approx(turned.kappa)
    if here.kappa is not None:
        assert -1 <= here.low <= here.high <= 1


@pytest.mark.slow
def test_the_interval_is_that_of_resampled_clusters():
    rng = np.random.default_rng(2)
    cluster = rng.integers(0, 25, 120)
    one, other = rng.integers(0, 2, (2, 120))
    other = np.where(rng.random(120) < 0.5, one, other)
    found = cohen_kappa(one, other, cluster)
    draws = np.random.Generator(np.random.PCG64(SEED)).integers(0, 25, (2_000, 25))
    rows = [np.flatnonzero(cluster == label) for label in sorted(range(25), key=repr)]
    redrawn = []
    for draw in draws:
        pairs = np.concatenate([rows[place] for place in draw])
        redrawn.append(cohen_kappa_score(one[pairs], other[pairs]))
    assert (found.low, found.high) == pytest.approx(np.quantile(redrawn, [0.025, 0.975]), abs=1e-9)


def test_pairs_of_one_clip_count_once():
    rng = np.random.default_rng(3)
    one, other = rng.integers(0, 2, (2, 60))
    single = cohen_kappa(one, other, range(60))
    double = cohen_kappa(np.repeat(one, 2), np.repeat(other, 2), np.repeat(np.arange(60), 2))
    assert (double.kappa, double.low, double.high) == pytest.approx((single.kappa, single.low, single.high))
    assert (double.pairs, double.clusters) == (120, 60)


@pytest.mark.parametrize(
    ("one", "other", "cluster", "settings", "error", "message"),
    [
        ([1, 0], [1, float("nan")], "ab", {}, DataError, r"other\[1\] is nan"),
        ([1, 2], [1, 0], "ab", {}, DataError, r"one\[1\] is 2, expected 1"),
        ([1, 0], [1], "ab", {}, DataError, "2 of one, 1 of other, 2 of cluster"),
        ([1, 0], [1, 0], "aa", {}, DataError, "all pairs are of one cluster"),
        ([1, 0], [1, 0], "ab", {"resamples": 5}, SpecError, "resamples is 5"),
    ],
)
def test_bad_input_is_one_line(one, other, cluster, settings, error, message):
    with pytest.raises(error, match=message) as raised:
        cohen_kappa(one, other, list(cluster), **settings)
    assert "\n" not in str(raised.value)
