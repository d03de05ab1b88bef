from __future__ import annotations

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.marginals import (
    TITLES,
    marginal_table,
    marginal_tables,
    mean_interval,
)
from tests.benchmarks.cora.analyses.planted import cells, make_pairs, random_pairs

#: By hand: two forms of two items; the drops are 3, 4, -6 and 7.
SMALL = make_pairs(
    form=["command", "statement", "command", "statement"],
    item=["d::1", "d::1", "d::2", "d::2"],
    clip=["d::1", "d::1", "d::2", "d::2"],
    source_rank=[1, 4, 8, 1],
    rank=[4, 8, 2, 8],
)


def test_by_hand() -> None:
    rows = cells(marginal_table(SMALL, "form"))
    assert rows["command"] | {"MeanRD low": 0, "MeanRD high": 0} == {
        "form": "command",
        "N": 2,
        "source R@5": 0.5,
        "R@5": 1.0,
        "delta R@5": 0.5,
        "MeanRD": -1.5,
        "MeanRD low": 0,
        "MeanRD high": 0,
        "worsened": 0.5,
        "rank loss": 0.0,
        "tail": "",
    }
    statement = rows["statement"]
    assert (statement["source R@5"], statement["R@5"], statement["delta R@5"]) == (1.0, 0.0, -1.0)
    assert (statement["MeanRD"], statement["worsened"], statement["rank loss"]) == (5.5, 1.0, 2.0)
    (everything,) = marginal_table(SMALL).rows
    assert (everything[0], everything[4]) == (4, 2.0)


def test_two_clips_have_the_interval_of_their_means() -> None:
    row = cells(marginal_table(SMALL, "form"))["statement"]
    assert (row["MeanRD low"], row["MeanRD high"]) == (4.0, 7.0)


def test_cells_of_every_table_by_masks() -> None:
    pairs = random_pairs()
    for by in TITLES:
        table = marginal_table(pairs, *by)
        assert table.title == TITLES[by]
        for row in table.rows:
            mask = np.ones(len(pairs), dtype=bool)
            for label, name in zip(by, row, strict=False):
                mask &= getattr(pairs, label) == name
            count, before, after, change, drop, _, _, worsened, loss, _ = row[len(by) :]
            assert count == mask.sum()
            assert before == pytest.approx((pairs.source_rank[mask] <= 5).mean())
            assert after == pytest.approx((pairs.rank[mask] <= 5).mean())
            assert change == pytest.approx(after - before)
            assert drop == pytest.approx(pairs.rank_drop[mask].mean())
            assert worsened == pytest.approx((pairs.rank_drop[mask] > 0).mean())
            assert loss == pytest.approx(np.log2(pairs.rank[mask] / pairs.source_rank[mask]).mean())
    assert [len(table.rows) for table in marginal_tables(pairs)] == [1, 5, 10, 4, 2, 2, 20]


def test_the_interval_resamples_clips() -> None:
    rng = np.random.default_rng(3)
    clip = rng.integers(0, 40, 400).astype(str)
    values = rng.normal(size=40)[clip.astype(int)] + 0.1 * rng.normal(size=400)
    sums, sizes = np.bincount(clip.astype(int), values), np.bincount(clip.astype(int))
    drawn = rng.integers(0, 40, (4000, 40))
    expected = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), (0.025, 0.975))
    np.testing.assert_allclose(mean_interval(values, clip), expected, atol=0.04)
    assert expected[1] - expected[0] > 5 * values.std() / 400**0.5  # pairs as units would be far too sure


def test_one_clip_has_no_interval() -> None:
    assert mean_interval(np.array([1.0, 2.0]), np.array(["a", "a"])) == (None, None)


def test_what_does_not_vary_is_said_in_one_line() -> None:
    for by, reason in (
        (("dataset",), "one dataset, dataset"),
        (("dataset", "form"), "one dataset"),
        (("model",), "one model"),
    ):
        table = marginal_table(SMALL, *by)
        assert (table.columns, table.rows) == ((), ())
        assert table.note.startswith(f"does not apply: all pairs are of {reason}")
    assert len(marginal_table(SMALL, "dataset", "model", "form").rows) == 2


def test_a_heavy_tail_is_told() -> None:
    rng = np.random.default_rng(0)
    heavy = np.rint(rng.pareto(1.0, 1000) * 10).astype(int) + 1
    pairs = make_pairs(
        form=["command"] * 1000 + ["statement"] * 1000,
        clip=[str(i) for i in range(1000)] * 2,
        rank_drop=[*heavy, *([1, 2] * 500)],
    )
    table = marginal_table(pairs, "form")
    assert {name: row["tail"] for name, row in cells(table).items()} == {"command": "heavy", "statement": ""}
    assert table.note.startswith("heavy tail: no interval of that MeanRD can be trusted")
    assert marginal_table(pairs.where(pairs.form == "statement")).note == ""
