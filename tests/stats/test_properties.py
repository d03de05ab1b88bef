from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_audioretrieval.stats import Verdict, compare
from tests.examples import examples

FEW = {"resamples": 300, "margin": 0.05}
#: From worst to best for someone who asks for ``non_inferior``.
ORDER = ["regressed", "inconclusive", "non_inferior", "improved", "equivalent", "identical"]

values = st.one_of(
    st.sampled_from([0.0, 1.0]),
    st.floats(-2, 2, allow_nan=False),
    st.integers(-30, 30).map(float),
)


@st.composite
def runs(draw, *, least=1):
    """Draw (new, baseline, cluster) of a few queries; often nothing or little changes."""
    old = draw(st.lists(values, min_size=least, max_size=30))
    kept = draw(st.lists(st.booleans(), min_size=len(old), max_size=len(old)))
    other = draw(st.lists(values, min_size=len(old), max_size=len(old)))
    cluster = draw(st.lists(st.integers(0, 8), min_size=len(old), max_size=len(old)))
    new = [was if keep else now for was, now, keep in zip(old, other, kept, strict=True)]
    return np.array(new), np.array(old), cluster


def mirrored(found):
    return (-found.high, -found.low, -found.plain_high, -found.plain_low, -found.difference)


def numbers(found):
    return (found.low, found.high, found.plain_low, found.plain_high, found.difference)


@given(runs())
def test_swapping_the_runs_mirrors_everything(run):
    new, old, cluster = run
    there, back = compare(new, old, cluster, **FEW), compare(old, new, cluster, **FEW)
    assert numbers(back) == mirrored(there)
    assert (back.new_value, back.baseline_value) == (there.baseline_value, there.new_value)
    swapped = {Verdict.IMPROVED: Verdict.REGRESSED, Verdict.REGRESSED: Verdict.IMPROVED}
    if there.verdict in (Verdict.IDENTICAL, Verdict.EQUIVALENT, *swapped):
        assert back.verdict == swapped.get(there.verdict, there.verdict)
    else:
        assert back.verdict in (Verdict.NON_INFERIOR, Verdict.INCONCLUSIVE)


@given(runs(), st.randoms(use_true_random=False))
def test_order_of_queries_changes_nothing(run, random):
    new, old, cluster = run
    order = list(range(len(new)))
    random.shuffle(order)
    shuffled = compare(new[order], old[order], [cluster[i] for i in order], **FEW)
    assert shuffled == compare(new, old, cluster, **FEW)


@given(runs())
def test_new_names_for_clusters_in_the_same_order_change_nothing(run):
    new, old, cluster = run
    renamed = [f"clip-{label:03}" for label in cluster]
    assert compare(new, old, renamed, **FEW) == compare(new, old, cluster, **FEW)


def test_other_names_for_clusters_change_only_resampling_noise():
    rng = np.random.default_rng(0)
    new, old, cluster = rng.random(300) < 0.5, rng.random(300) < 0.5, np.arange(300) // 3
    ours = compare(new, old, cluster, margin=0.05)
    other = compare(new, old, rng.permutation(100)[cluster], margin=0.05)
    assert numbers(other) == pytest.approx(numbers(ours), abs=0.06 * (ours.high - ours.low))


@given(runs())
def test_clusters_of_one_query_give_the_unclustered_answer(run):
    """The expected bounds are computed query by query, without clusters."""
    new, old, _ = run
    found = compare(new, old, [f"{i:02}" for i in range(len(new))], **FEW)
    difference = new - old
    weights = np.random.Generator(np.random.PCG64(20261028)).standard_exponential((300, len(new) + 1))
    span = max(0, new.max(), old.max()) - min(0, new.min(), old.min())

    def bound(signed):
        seen, changed = np.abs(signed).max(), max(1, (signed != 0).sum())
        worst = min(max(span, seen), seen + span / changed)
        parts = [abs(s) ** 3 for s in (signed / worst if worst else signed)]
        lost = sum(part for part, s in zip(parts, signed, strict=True) if s < 0)
        adverse = -worst * max(0.5, (lost + 1) / (sum(parts) + 1))
        totals = [(row[:-1] @ signed + row[-1] * adverse) / row.sum() for row in weights]
        return sorted(totals)[14]  # rank 301 * 0.05 = 15, counted from 1

    assert found.low == pytest.approx(bound(difference), rel=1e-9, abs=1e-12)
    assert found.high == pytest.approx(-bound(-difference), rel=1e-9, abs=1e-12)


@given(runs(), values, st.integers(0, 9))
def test_a_query_on_which_both_agree_never_turns_non_inferior_into_regressed(run, value, label):
    new, old, cluster = run
    if new.sum() < old.sum():
        new, old = old, new
    certified = compare(new, old, cluster, **FEW).smallest_margin("non_inferior") * 1.001 + 1e-9
    before = compare(new, old, cluster, resamples=300, margin=certified)
    assume(before.verdict is Verdict.NON_INFERIOR)
    with_one_more = np.append(new, value), np.append(old, value), [*cluster, label]
    after = compare(*with_one_more, resamples=300, margin=certified)
    assert after.verdict is not Verdict.REGRESSED
    assert after.high >= 0


@given(runs(), st.floats(1e-6, 10), st.floats(1e-6, 10))
def test_a_wider_margin_never_gives_a_worse_verdict(run, one, other):
    found = compare(*run, **FEW)
    narrow, wide = (replace(found, margin=margin) for margin in sorted((one, other)))
    assert ORDER.index(narrow.verdict) <= ORDER.index(wide.verdict)
    for claim in ("non_inferior", "equivalent", "superior"):
        assert narrow.holds(claim) <= wide.holds(claim)


@given(runs())
def test_bounds_hold_the_difference_and_more_confidence_widens_them(run):
    usual, strict = compare(*run, **FEW), compare(*run, confidence=0.99, **FEW)
    slack = 1e-9
    assert usual.low <= usual.difference + slack
    assert usual.difference <= usual.high + slack
    assert strict.low <= usual.low
    assert usual.high <= strict.high
    assert usual.holds("non_inferior") == (usual.margin > usual.smallest_margin("non_inferior"))


@given(runs(), st.integers(-20, 20))
def test_units_do_not_matter(run, power):
    new, old, cluster = run
    unit = 2.0**power
    scaled = compare(new * unit, old * unit, cluster, resamples=300, margin=0.05 * unit)
    found = compare(new, old, cluster, **FEW)
    assert numbers(scaled) == pytest.approx([unit * number for number in numbers(found)], rel=1e-9, abs=1e-300)
    assert scaled.p_regressed == found.p_regressed


@examples(20)
@given(st.integers(0, 2**32))
def test_more_losses_never_raise_the_lower_bound(seed):
    rng = np.random.default_rng(seed)
    old = np.ones(40)
    lost = rng.permutation(40)
    lows = []
    for count in range(0, 20, 2):
        new = old.copy()
        new[lost[:count]] = 0
        lows.append(compare(new, old, range(40), resamples=2_000, margin=0.1).low)
    assert all(after < before for before, after in pairwise(lows))


@pytest.mark.slow
def test_more_resamples_narrow_the_noise_of_the_bounds():
    rng = np.random.default_rng(0)
    new, old, cluster = rng.random(200) < 0.5, rng.random(200) < 0.5, np.arange(200) // 2

    def spread(resamples):
        found = [compare(new, old, cluster, margin=0.1, resamples=resamples, seed=seed) for seed in range(40)]
        return np.std([one.low for one in found])

    assert 3 < spread(200) / spread(5_000) < 8  # about sqrt(25)
