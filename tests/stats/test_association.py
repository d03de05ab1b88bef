"""Tests of correlations against scipy and by hand, and of intervals against resamples written out pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.stats import associate, partial_correlation, pearson
from pytest_audioretrieval.stats import spearman as spearman_rho

SCIPY = {"pearson": scipy_stats.pearsonr, "spearman": scipy_stats.spearmanr}
OURS = {"pearson": pearson, "spearman": spearman_rho}
METHODS = pytest.mark.parametrize("method", ["pearson", "spearman"])


@pytest.mark.parametrize(
    ("x", "y", "r", "rho"),
    [
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8, 0.8),
        ([1, 2, 3], [3, 2, 1], -1, -1),
        ([0, 0, 1, 1], [0, 1, 0, 1], 0, 0),
        ([1, 2, 3, 100], [1, 2, 3, 4], 149 / (7205 * 5) ** 0.5, 1),
        ([1, 2, 2, 3], [1, 2, 3, 4], 3 / 10**0.5, 4.5 / (4.5 * 5) ** 0.5),  # both 2s have rank 2.5
    ],
)
def test_correlations_by_hand(x, y, r, rho):
    assert pearson(x, y) == pytest.approx(r, abs=1e-12)
    assert spearman_rho(x, y) == pytest.approx(rho, abs=1e-12)


pairs = st.lists(st.tuples(st.integers(-4, 4), st.floats(-100, 100)), min_size=3, max_size=40)


@pytest.mark.slow
@METHODS
@given(pairs)
def test_correlations_are_those_of_scipy(method, found):
    x, y = np.array(found, dtype=float).T
    assume(np.ptp(x) > 0)
    assume(np.ptp(y) > 1e-3)
    assert OURS[method](x, y) == pytest.approx(SCIPY[method](x, y).statistic, abs=1e-9)


@pytest.mark.slow
@METHODS
@given(pairs, st.integers(-300, 300), st.sampled_from([-1.0, 1.0]))
def test_units_and_signs(method, found, power, sign):
    x, y = np.array(found, dtype=float).T
    assume(np.ptp(x) > 0)
    assume(np.ptp(y) > 1e-3)
    correlate = OURS[method]
    assert correlate(x * sign * 2.0**power, y) == pytest.approx(sign * correlate(x, y), abs=1e-9)
    assert correlate(y, x) == pytest.approx(correlate(x, y), abs=1e-12)
    assert -1 <= correlate(x, y) <= 1


def test_spearman_sees_only_order():
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    assert spearman_rho(np.exp(5 * x), y**3) == pytest.approx(spearman_rho(x, y), abs=1e-12)


@METHODS
@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e300, 5e-324])
def test_a_constant_has_no_correlation(method, value):
    wanted = (
        r"^x has one value in all 3 pairs, expected two or more, because a constant has no correlation: leave it out$"
    )
    with pytest.raises(DataError, match=wanted):
        OURS[method]([value] * 3, [1, 2, 3])
    with pytest.raises(DataError, match=r"^y has one value"):
        OURS[method]([1, 2, 3], [value] * 3)


def clustered(clusters, size, rng, slope=0.0):
    """Return pairs that share most of x and of y within a cluster; y rises with x by ``slope``."""
    cluster = np.repeat(np.arange(clusters), size)
    x, y = (rng.normal(size=clusters)[cluster] + 0.5 * rng.normal(size=clusters * size) for _ in range(2))
    return x, y + slope * x, cluster


def resampled(x, y, cluster, method, resamples, seed):
    """Return scipy's coefficient of every resample, with its pairs written out."""
    rng = np.random.Generator(np.random.PCG64(seed))
    names = sorted(set(cluster.tolist()), key=repr)
    members = [np.flatnonzero(cluster == name) for name in names]
    found = []
    for _ in range(resamples):
        drawn = np.concatenate([members[i] for i in rng.integers(0, len(names), len(names))])
        found.append(SCIPY[method](x[drawn], y[drawn]).statistic)
    return np.array(found)


@METHODS
def test_interval_is_that_of_resamples_written_out(method):
    rng = np.random.default_rng(3)
    cluster = rng.integers(0, 12, 50)  # of unequal sizes
    x = np.round(rng.normal(size=50), 1)
    y = np.round(x + rng.normal(size=50) + cluster / 6, 1)  # with ties
    found = associate(x, y, cluster, method=method, confidence=0.9, resamples=300, seed=7)
    low, high = np.quantile(resampled(x, y, cluster, method, 300, 7), [0.05, 0.95])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert found.r == pytest.approx(SCIPY[method](x, y).statistic)
    assert (found.pairs, found.clusters) == (50, len(set(cluster.tolist())))


@pytest.mark.slow
@METHODS
def test_only_clustered_intervals_hold_the_truth_as_often_as_they_say(method):
    """The truth is 0 for 40 clips of five forms; resampling pairs as if of 200 clips misses it in one of four."""
    trials, clustered_hits, naive_hits = 150, 0, 0
    rng = np.random.default_rng(5)
    for _ in range(trials):
        x, y, cluster = clustered(40, 5, rng)
        fair = associate(x, y, cluster, method=method, resamples=200)
        naive = associate(x, y, range(len(x)), method=method, resamples=200)
        clustered_hits += fair.low <= 0 <= fair.high
        naive_hits += naive.low <= 0 <= naive.high
    assert 0.89 <= clustered_hits / trials <= 0.98
    assert naive_hits / trials < 0.82


@METHODS
def test_a_planted_association_is_found(method):
    x, y, cluster = clustered(300, 5, np.random.default_rng(6), slope=1.0)
    found = associate(x, y, cluster, method=method)
    assert 0.6 < found.low < found.r < found.high < 0.8


@METHODS
def test_a_resample_without_correlation_could_have_any(method):
    """x differs only between two clusters, and every second resample draws one of them twice."""
    x, y = [0.1, 0.1, 0.7, 0.7], [1.0, 2.0, 3.0, 5.0]
    found = associate(x, y, ["a", "a", "b", "b"], method=method)
    assert (found.low, found.high) == (-1.0, 1.0)
    # Sums that round to a spread of 1e-17, which is none.
    found = associate([0.1] * 11 + [0.2] * 13, range(24), ["a"] * 11 + ["b"] * 13, method=method)
    assert (found.low, found.high) == (-1.0, 1.0)
    three = associate([*x, 0.9, 0.9], [*y, 6.0, 8.0], [0, 0, 1, 1, 2, 2], method=method, confidence=0.6)
    assert three.low > 0.5  # 1 in 9 has none: less than the tail of 1 in 5


@METHODS
def test_interval_does_not_depend_on_the_order_of_pairs_nor_on_global_random_state(method):
    x, y, cluster = clustered(20, 3, np.random.default_rng(8))
    order = np.random.default_rng(9).permutation(len(x))
    first = associate(x, y, cluster, method=method, resamples=200)
    np.random.seed(0)
    again = associate(x[order], y[order], cluster[order], method=method, resamples=200)
    assert (again.r, again.low, again.high) == pytest.approx((first.r, first.low, first.high), abs=1e-12)
    other = associate(x, y, cluster, method=method, resamples=200, seed=1)
    assert (other.low, other.high) != (first.low, first.high)


@METHODS
def test_negating_a_side_mirrors_the_interval(method):
    x, y, cluster = clustered(20, 3, np.random.default_rng(8), slope=0.5)
    found, mirrored = (associate(x, side, cluster, method=method, resamples=200) for side in (y, -y))
    assert (mirrored.r, mirrored.low, mirrored.high) == pytest.approx((-found.r, -found.high, -found.low), abs=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"method": "kendall"}, SpecError, "^method is 'kendall', expected one of pearson, spearman: choose one$"),
        ({"confidence": 95}, SpecError, "^confidence is 95, "),
        ({"resamples": 10}, SpecError, "^resamples is 10, "),
        ({"seed": -1}, SpecError, "^seed is -1, "),
        ({"y": [1, 2]}, DataError, "^lengths differ: 3 of x, 2 of y, "),
        ({"cluster": [1, 2]}, DataError, "^lengths differ: 3 of x, 2 of cluster, "),
        ({"cluster": [1, 1, 1]}, DataError, "^all pairs are of one cluster, expected at least 2"),
        ({"x": [1, 2, np.nan]}, DataError, r"^x\[2\] is nan, "),
        ({"x": [1, 1, 1]}, DataError, "^x has one value in all 3 pairs"),
    ],
)
def test_what_cannot_be_associated(change, error, message):
    arguments = {"x": [1, 2, 3], "y": [2, 1, 3], "cluster": [0, 1, 2]} | change
    with pytest.raises(error, match=message) as caught:
        associate(**arguments)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def confounded():
    """Values of y that follow x, while both follow a dataset and a source rank."""
    rng = np.random.default_rng(12)
    dataset, source_rank = rng.integers(0, 3, 400), rng.exponential(50, 400)
    x = 2.0 * dataset + source_rank / 30 + rng.normal(size=400)
    y = 0.5 * x + 3.0 * dataset + source_rank / 10 + rng.normal(size=400)
    return x, y, np.array(["AudioCaps", "Clotho", "MACS"])[dataset], source_rank


def test_one_number_held_fixed_is_the_textbook_formula(confounded):
    x, y, _, z = confounded
    xy, xz, yz = (scipy_stats.pearsonr(*two).statistic for two in ((x, y), (x, z), (y, z)))
    textbook = (xy - xz * yz) / ((1 - xz**2) * (1 - yz**2)) ** 0.5
    assert partial_correlation(x, y, {"z": z}) == pytest.approx(textbook, abs=1e-10)


def test_labels_held_fixed_leave_the_differences_within_them(confounded):
    x, y, dataset, _ = confounded
    within = [np.concatenate([side[dataset == d] - side[dataset == d].mean() for d in set(dataset)]) for side in (x, y)]
    found = partial_correlation(x, y, {"dataset": dataset})
    assert found == pytest.approx(scipy_stats.pearsonr(*within).statistic, abs=1e-10)


def test_labels_and_numbers_together_agree_with_the_precision_matrix(confounded):
    x, y, dataset, source_rank = confounded
    columns = np.column_stack([x, y, dataset == "Clotho", dataset == "MACS", source_rank])
    precision = np.linalg.inv(np.corrcoef(columns, rowvar=False))
    wanted = -precision[0, 1] / (precision[0, 0] * precision[1, 1]) ** 0.5
    controls = {"dataset": dataset.tolist(), "source_rank": source_rank}
    assert partial_correlation(x, y, controls) == pytest.approx(wanted, abs=1e-10)
    assert wanted == pytest.approx(0.447, abs=0.05)  # 0.5 of slope under noise of 1: 0.5 / sqrt(1.25)
    assert abs(pearson(x, y) - wanted) > 0.1


def test_controls_that_say_nothing_new_change_nothing(confounded):
    """In the paper's two settings the pool size follows from the dataset, or is one number everywhere."""
    x, y, dataset, source_rank = confounded
    controls = {"dataset": dataset, "source_rank": source_rank}
    pool = {"pool": [{"AudioCaps": 974.0, "Clotho": 1045.0, "MACS": 500.0}[name] for name in dataset]}
    alone = partial_correlation(x, y, controls)
    assert partial_correlation(x, y, controls | pool) == pytest.approx(alone, abs=1e-10)
    assert partial_correlation(x, y, controls | {"pool": [3367] * 400}) == pytest.approx(alone, abs=1e-10)
    assert partial_correlation(x, y, {}) == pytest.approx(pearson(x, y), abs=1e-12)


def test_nothing_left_to_correlate(confounded):
    x, y, dataset, source_rank = confounded
    with pytest.raises(DataError, match=r"^the controls determine x, expected residuals to correlate: leave out"):
        partial_correlation(3 * source_rank + (dataset == "MACS"), y, {"d": dataset, "s": source_rank})
    with pytest.raises(DataError, match=r"^the controls determine y"):
        partial_correlation(x, source_rank, {"s": source_rank})
    with pytest.raises(DataError, match=r"^lengths differ: 400 of x, 3 of d, "):
        partial_correlation(x, y, {"d": ["a", "b", "c"]})
