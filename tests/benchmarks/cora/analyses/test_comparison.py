from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.comparison import (
    compare_query_sets,
    difference_table,
    form_table,
    query_set_table,
)
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import plain_interval
from pytest_audioretrieval.stats.clusters import group
from tests.benchmarks.cora.analyses.planted import cells, make_pairs, random_pairs

#: Three items of one clip each. Two forms, drops (4, 0), (1, 1), (-2, 0); and one form, drops 1, 1 and 2.
TWO = make_pairs(
    item=["a", "a", "b", "b", "c", "c"],
    clip=["a", "a", "b", "b", "c", "c"],
    form=["f", "g"] * 3,
    source_rank=5,
    rank_drop=[4, 0, 1, 1, -2, 0],
)
ONE = make_pairs(item=["a", "b", "c"], clip=["a", "b", "c"], form=["h"] * 3, source_rank=5, rank_drop=[1, 1, 2])


def test_by_hand_with_other_forms() -> None:
    found = compare_query_sets(TWO, ONE)
    assert (found.new, found.baseline) == (pytest.approx(2 / 3), pytest.approx(4 / 3))
    assert found.difference == pytest.approx(-2 / 3)
    assert (found.improved, found.worsened, found.unchanged) == (1, 1, 1)
    assert (found.only_new, found.only_baseline) == (0, 0)
    back = compare_query_sets(ONE, TWO)
    assert (back.difference, back.low, back.high) == pytest.approx((2 / 3, -found.high, -found.low))
    assert (back.improved, back.worsened) == (1, 1)


def test_items_of_one_set_alone_are_left_out_and_counted() -> None:
    fewer = ONE.where(np.array([0, 1]))
    found = compare_query_sets(TWO, fewer)
    assert (found.new, found.baseline, found.only_new, found.only_baseline) == (1.5, 1.0, 1, 0)
    assert (found.improved, found.worsened, found.unchanged) == (0, 1, 1)
    assert compare_query_sets(fewer, TWO).only_baseline == 1


def test_with_the_same_pairs_the_interval_is_that_of_their_differences() -> None:
    old = random_pairs(400)
    shift = np.random.default_rng(2).integers(-5, 3, len(old))
    new = replace(old, rank_drop=old.rank_drop + shift)
    found = compare_query_sets(new, old)
    assert found.difference == pytest.approx(shift.mean())
    clusters = group(old.clip)
    expected = plain_interval(clusters.sums(shift.astype(float))[None], clusters.sizes, 20261028)
    np.testing.assert_allclose((found.low, found.high), np.ravel(expected))


def test_the_interval_by_resampling_clips_of_both_sets() -> None:
    rng = np.random.default_rng(4)
    effect = rng.integers(-20, 30, 60)
    many = make_pairs(
        item=np.repeat(np.arange(60), 5).astype(str), clip=np.repeat(np.arange(60) // 2, 5).astype(str),
        form=list("fghij") * 60, source_rank=100, rank_drop=np.repeat(effect, 5) + rng.integers(0, 5, 300),
    )  # fmt: skip
    few = make_pairs(
        item=np.repeat(np.arange(60), 4).astype(str), clip=np.repeat(np.arange(60) // 2, 4).astype(str),
        form=list("pqrs") * 60, source_rank=100, rank_drop=np.repeat(effect, 4) - rng.integers(0, 9, 240),
    )  # fmt: skip
    found = compare_query_sets(many, few)
    clips = many.levels("clip")
    means = [np.array([p.rank_drop[p.clip == clip].mean() for clip in clips]) for p in (many, few)]
    draws = rng.integers(0, 30, (4000, 30))
    expected = np.quantile((means[0] - means[1])[draws].mean(axis=1), (0.025, 0.975))
    np.testing.assert_allclose((found.low, found.high), expected, atol=0.1)
    apart = [np.quantile(m[draws].mean(axis=1), (0.025, 0.975)) for m in means]
    # Drawn alike, what the sets share cancels; drawn apart it would not.
    assert found.high - found.low < 0.2 * (apart[0][1] - apart[0][0])


def test_what_cannot_be_compared() -> None:
    with pytest.raises(DataError, match="models are other and model, expected the same"):
        compare_query_sets(make_pairs(item=["a"], model="other", rank_drop=[1]), ONE)
    with pytest.raises(DataError, match="share no item: one has 'z', the other 'a'"):
        compare_query_sets(make_pairs(item=["z"], rank_drop=[1]), ONE)
    with pytest.raises(DataError, match="'a' is one of 7 candidates and of 1"):
        compare_query_sets(make_pairs(item=["a"], pool=[7], rank_drop=[1]), ONE)
    with pytest.raises(DataError, match="all pairs are of one clip"):
        compare_query_sets(ONE.where(np.array([0])), ONE)


def test_tables_of_query_sets() -> None:
    new = random_pairs(400)
    sets = {"first": new, "second": new.where(new.form != "statement")}
    rows = cells(query_set_table(sets))
    part = sets["second"]
    assert rows["second"]["forms"] == 4
    assert rows["second"]["N"] == len(part)
    assert rows["second"]["R@5"] == pytest.approx((part.rank <= 5).mean())
    assert rows["second"]["MeanRD"] == pytest.approx(part.rank_drop.mean())
    assert rows["second"]["r(TBMD,RD)"] == pytest.approx(np.corrcoef(part.tbmd, part.rank_drop)[0, 1])
    (row,) = cells(difference_table(sets)).values()
    found = compare_query_sets(part, new)
    assert list(row.values()) == [
        "second", found.difference, found.low, found.high, found.improved, found.worsened, found.unchanged, 0, 0,
    ]  # fmt: skip
    assert found.improved + found.worsened + found.unchanged == 40
    by_form = form_table(sets)
    assert [row[:2] for row in by_form.rows][:4] == [
        ("command", "first"), ("command", "second"), ("indirect", "first"), ("indirect", "second"),
    ]  # fmt: skip
    assert cells(by_form, "form", "queries")["statement", "first"]["MeanRD"] == pytest.approx(
        new.rank_drop[new.form == "statement"].mean()
    )
