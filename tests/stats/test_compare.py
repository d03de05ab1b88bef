"""Tests of comparisons, verdicts and claims."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pytest_audioretrieval.errors import DataError, RetrievalError, SpecError
from pytest_audioretrieval.stats import Comparison, Endpoint, Verdict, compare, compare_jointly


def judged(low, high, *, margin=0.03, changed=10, difference=0.0, clusters=100):
    """Return a comparison with these bounds."""
    return Comparison(
        name="",
        new_value=0.5 + difference,
        baseline_value=0.5,
        difference=difference,
        low=low,
        high=high,
        plain_low=low,
        plain_high=high,
        margin=margin,
        confidence=0.95,
        clusters=clusters,
        queries=clusters,
        changed=changed,
        p_regressed=0.5,
        p_regressed_adjusted=0.5,
    )


@pytest.mark.parametrize(
    ("low", "high", "verdict", "claims"),
    [
        (-0.02, 0.02, "equivalent", {"non_inferior", "equivalent"}),
        (0.01, 0.02, "equivalent", {"non_inferior", "equivalent", "superior"}),
        (-0.02, -0.01, "equivalent", {"non_inferior", "equivalent"}),
        (0.01, 0.04, "improved", {"non_inferior", "superior"}),
        (-0.02, 0.04, "non_inferior", {"non_inferior"}),
        (0.0, 0.04, "non_inferior", {"non_inferior"}),
        (-0.05, -0.01, "regressed", set()),
        (-0.05, 0.01, "inconclusive", set()),
        (-0.05, 0.0, "inconclusive", set()),
        (-0.03, -0.01, "regressed", set()),
        (-0.01, 0.03, "non_inferior", {"non_inferior"}),
    ],
)
def test_verdict_and_claims_follow_the_bounds(low, high, verdict, claims):
    found = judged(low, high)
    assert found.verdict == verdict
    assert {claim for claim in ("non_inferior", "equivalent", "superior") if found.holds(claim)} == claims


def test_nothing_changed_is_identical_whatever_the_bounds():
    found = judged(-0.5, 0.5, changed=0)
    assert found.verdict is Verdict.IDENTICAL
    assert found.holds("non_inferior")
    assert found.holds("equivalent")
    assert not found.holds("superior")
    assert found.smallest_margin("non_inferior") == 0.0


def test_unknown_claim_names_those_there_are():
    with pytest.raises(
        SpecError, match=r"^claim is 'better', expected one of non_inferior, equivalent, superior: choose one$"
    ):
        judged(-0.01, 0.01).holds("better")


@pytest.mark.parametrize(
    ("low", "high", "non_inferior", "equivalent"),
    [(-0.02, 0.05, 0.02, 0.05), (-0.07, 0.05, 0.07, 0.07), (0.01, 0.05, 0.0, 0.05), (-0.07, -0.05, 0.07, 0.07)],
)
def test_smallest_margins(low, high, non_inferior, equivalent):
    found = judged(low, high)
    assert found.smallest_margin("non_inferior") == non_inferior
    assert found.smallest_margin("equivalent") == equivalent
    assert found.smallest_margin("superior") is None


def test_every_margin_above_the_attainable_one_is_certified_and_no_other():
    rng = np.random.default_rng(3)
    old = rng.random(400) < 0.5
    new = old ^ (rng.random(400) < 0.1)
    smallest = compare(new, old, range(400), margin=1.0).smallest_margin("non_inferior")
    assert 0 < smallest < 0.1
    assert compare(new, old, range(400), margin=np.nextafter(smallest, 1)).holds("non_inferior")
    assert not compare(new, old, range(400), margin=smallest).holds("non_inferior")


@pytest.mark.parametrize(
    ("difference", "low", "high", "claim", "needed"),
    [
        (0.0, -0.06, 0.06, "non_inferior", 401),  # twice the margin: four times the clusters, and one to pass it
        (-0.01, -0.05, 0.03, "non_inferior", 401),
        (-0.03, -0.06, 0.0, "non_inferior", None),
        (-0.05, -0.06, -0.04, "non_inferior", None),
        (0.0, -0.015, 0.06, "non_inferior", 26),
        (0.0, -0.06, 0.12, "equivalent", 1601),
        (0.01, -0.05, 0.07, "superior", 3601),
        (0.0, -0.05, 0.07, "superior", None),
        (0.03, -0.05, 0.07, "equivalent", None),
    ],
)
def test_clusters_that_would_settle_a_claim(difference, low, high, claim, needed):
    found = judged(low, high, difference=difference)
    assert found.clusters_to_settle(claim) == pytest.approx(needed, abs=1)


def test_a_settled_claim_needs_no_more_clusters_than_it_has():
    assert judged(-0.5, 0.5, changed=0).clusters_to_settle("non_inferior") == 100


def test_values_of_a_tiny_comparison():
    found = compare([1, 0, 1, 1], [1, 1, 0, 1], ["a", "a", "b", "c"], margin=0.1)
    assert (found.new_value, found.baseline_value, found.difference) == (0.75, 0.75, 0.0)
    assert (found.clusters, found.queries, found.changed) == (3, 4, 2)
    assert found.margin == 0.1
    assert found.confidence == 0.95
    lower_is_better = compare([3.0, 8.0], [1.0, 2.0], "ab", margin=0.5, higher_is_better=False)
    assert (lower_is_better.new_value, lower_is_better.baseline_value) == (5.5, 1.5)
    assert lower_is_better.difference == -4.0


def test_an_unchanged_model_is_identical():
    outcomes = np.random.default_rng(0).random(50)
    found = compare(outcomes, outcomes.copy(), range(50), margin=1e-9)
    assert found.verdict is Verdict.IDENTICAL
    assert found.difference == 0.0
    assert (found.plain_low, found.plain_high) == (0.0, 0.0)
    assert found.low < 0 < found.high
    assert found.p_regressed == 1.0
    assert found.p_regressed_adjusted == 1.0


def test_lower_is_better_is_the_same_as_negated_outcomes():
    rng = np.random.default_rng(1)
    new, old, cluster = rng.normal(size=60), rng.normal(size=60), rng.integers(0, 20, 60)
    down = compare(new, old, cluster, margin=0.1, higher_is_better=False)
    up = compare(-new, -old, cluster, margin=0.1)
    assert (down.low, down.high, down.difference) == (up.low, up.high, up.difference)
    assert (down.plain_low, down.plain_high, down.p_regressed) == (up.plain_low, up.plain_high, up.p_regressed)


@pytest.mark.slow
def test_p_value_agrees_with_the_upper_bound():
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(60):
        old = rng.random(80) < 0.6
        new = old & (rng.random(80) > 0.08)
        found = compare(new, old, range(80), margin=0.01, resamples=999)
        assert (found.high < 0) == (found.p_regressed <= 1 - 0.95 + 1e-12)
        seen.add(found.high < 0)
    assert seen == {True, False}


def test_joint_comparison_gives_each_endpoint_its_own_answer():
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(100), 3)
    old = rng.random(300)
    worse, same = old - rng.random(300) * 0.2, old + rng.normal(0, 0.1, 300)
    endpoints = [
        Endpoint("worse", worse, old, 0.03),
        Endpoint("same", same, old, 0.05),
        Endpoint("kept", old, old, 0.1),
    ]
    joint = compare_jointly(endpoints, cluster)
    assert [found.name for found in joint] == ["worse", "same", "kept"]
    for endpoint, found in zip(endpoints, joint, strict=True):
        alone = compare(endpoint.new, endpoint.baseline, cluster, margin=endpoint.margin)
        assert (found.low, found.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
        assert found.p_regressed == alone.p_regressed
        assert found.verdict == alone.verdict
        assert found.margin == endpoint.margin
    assert joint[0].verdict is Verdict.REGRESSED
    assert joint[0].p_regressed_adjusted == pytest.approx(3 * joint[0].p_regressed)
    assert joint[2].p_regressed_adjusted == 1.0


def test_endpoints_share_each_resample():
    """An endpoint with twice the outcomes of another has exactly twice its bounds."""
    rng = np.random.default_rng(4)
    new, old = rng.random(90), rng.random(90)
    one, two = compare_jointly([Endpoint("x", new, old, 1), Endpoint("2x", 2 * new, 2 * old, 1)], np.arange(90) // 3)
    assert (two.low, two.high) == pytest.approx((2 * one.low, 2 * one.high), rel=1e-12)


def test_global_random_state_is_neither_read_nor_changed():
    before = np.random.get_state()
    try:
        np.random.seed(7)
        seeded = np.random.get_state()[1].copy()
        first = compare([1, 0, 1], [0, 0, 1], "abc", margin=0.1)
        assert np.array_equal(seeded, np.random.get_state()[1])
        np.random.seed(8)
        assert compare([1, 0, 1], [0, 0, 1], "abc", margin=0.1) == first
    finally:
        np.random.set_state(before)


def test_seed_decides():
    outcomes = np.random.default_rng(0).random((2, 30))
    assert compare(*outcomes, range(30), margin=0.1, seed=1) == compare(*outcomes, range(30), margin=0.1, seed=1)
    assert compare(*outcomes, range(30), margin=0.1, seed=1) != compare(*outcomes, range(30), margin=0.1, seed=2)


@pytest.mark.parametrize("labels", [[("a", 1), ("a", 1), None], [frozenset("x"), frozenset("x"), 3], [True, True, "b"]])
def test_labels_of_any_hashable_type(labels):
    found = compare([1.0, 0.0, 1.0], [0.0, 0.0, 1.0], labels, margin=0.1)
    assert found == compare([1.0, 0.0, 1.0], [0.0, 0.0, 1.0], iter(labels), margin=0.1)
    assert found.clusters == 2


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"margin": 0}, SpecError, "margin is 0, expected a finite number above 0"),
        ({"margin": -0.1}, SpecError, "margin is -0.1, "),
        ({"margin": float("nan")}, SpecError, "margin is nan, "),
        ({"margin": float("inf")}, SpecError, "margin is inf, "),
        ({"margin": True}, SpecError, "margin is True, "),
        ({"margin": "0.1"}, SpecError, "margin is '0.1', "),
        ({"confidence": 0.5}, SpecError, "confidence is 0.5, expected a number between 0.5 and 1"),
        ({"confidence": 1}, SpecError, "confidence is 1, "),
        ({"confidence": 95}, SpecError, "confidence is 95, "),
        ({"resamples": 99}, SpecError, "resamples is 99, expected an integer of at least 100"),
        ({"resamples": 1000.0}, SpecError, "resamples is 1000.0, "),
        ({"resamples": 100, "confidence": 0.999}, SpecError, "100 resamples cannot reach confidence 0.999, "),
        ({"seed": -1}, SpecError, "seed is -1, expected an integer of at least 0"),
        ({"seed": None}, SpecError, "seed is None, "),
        ({"new": [1, 0, np.nan]}, DataError, r"new\[2\] is nan, expected finite numbers"),
        ({"baseline": [np.inf, 0, 1]}, DataError, r"baseline\[0\] is inf, "),
        ({"new": [1, 0]}, DataError, "2 new outcomes, 3 of the baseline, expected the same queries in both"),
        (
            {"new": [], "baseline": [], "cluster": []},
            DataError,
            r"new has shape \(0,\), expected \[Q\], none of them 0",
        ),
        ({"new": [[1, 0, 1]]}, DataError, r"new has shape \(1, 3\), expected \[Q\]"),
        ({"new": 1.0}, DataError, r"new has shape \(\), "),
        ({"new": ["1", "0", "1"]}, DataError, r"new holds no numbers, expected an array of shape \[Q\]"),
        ({"new": [1, None, 0]}, DataError, r"new holds no numbers, expected an array of shape \[Q\]"),
        ({"new": [1, [0], 0]}, DataError, r"new holds no numbers, expected an array of shape \[Q\]"),
        ({"new": [1j, 0, 0]}, DataError, r"new holds no numbers, expected an array of shape \[Q\]"),
        ({"cluster": ["a", "b"]}, DataError, "2 cluster labels for 3 queries, "),
        ({"cluster": ["a", ["b"], "c"]}, DataError, "cluster label of query 1 is a list, expected a hashable one"),
        ({"cluster": [0.0, float("nan"), 1.0]}, DataError, "cluster label of query 1 is NaN, "),
    ],
)
def test_bad_input_is_one_line(change, error, message):
    arguments = {"new": [1, 0, 1], "baseline": [1, 1, 1], "cluster": ["a", "b", "c"], "margin": 0.1} | change
    with pytest.raises(error, match=message) as caught:
        compare(arguments.pop("new"), arguments.pop("baseline"), arguments.pop("cluster"), **arguments)
    assert isinstance(caught.value, RetrievalError)
    assert "\n" not in str(caught.value)


def test_bad_endpoint_is_named():
    good = Endpoint("R@1", [1, 0], [1, 1], 0.1)
    with pytest.raises(DataError, match=r"^R@5: new\[1\] is nan"):
        compare_jointly([good, Endpoint("R@5", [1, np.nan], [1, 1], 0.1)], "ab")
    with pytest.raises(SpecError, match=r"^no endpoints to compare"):
        compare_jointly([], "ab")


@pytest.mark.slow
def test_names_import_no_numpy_and_a_comparison_no_scipy():
    code = (
        "import sys, pytest_audioretrieval.stats as stats; assert 'numpy' not in sys.modules; "
        "stats.compare([1, 0], [0, 0], 'ab', margin=0.1); assert 'numpy' in sys.modules; "
        "assert not [m for m in sys.modules if m.startswith(('scipy', 'torch'))]; "
        "assert not set(stats.__all__) - set(dir(stats)); [getattr(stats, name) for name in stats.__all__]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
