from __future__ import annotations

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.policies import policy_table
from tests.benchmarks.cora.analyses.planted import cells, make_pairs, random_pairs

#: Two items of two forms. Drops: 4, -2 and 6, 0. Smallest move, TAL and TBMD: forms f, g; g, f; g, g.
SMALL = make_pairs(
    item=["1", "1", "2", "2"],
    clip=["1", "1", "2", "2"],
    form=["f", "g", "f", "g"],
    rank_drop=[4, -2, 6, 0],
    move=[0.1, 0.2, 0.4, 0.3],
    tal=[0.5, -0.5, 0.1, 0.2],
    tbmd=[0.9, 0.1, 0.7, 0.6],
)


def means(pairs) -> list[float]:
    return [row["MeanRD"] for row in cells(policy_table(pairs)).values()]


def test_by_hand() -> None:
    assert means(SMALL) == [2.0, 2.0, 2.0, -1.0, -1.0]
    assert [row[1] for row in policy_table(SMALL).rows] == [2] * 5


def test_the_interval_is_over_clips() -> None:
    row = cells(policy_table(SMALL))["smallest TAL (oracle)"]
    assert (row["MeanRD low"], row["MeanRD high"]) == (-2.0, 6.0)


def test_by_loops_in_whatever_order_the_pairs_come() -> None:
    pairs = random_pairs(400)
    shuffled = pairs.where(np.random.default_rng(1).permutation(len(pairs)))
    chosen: dict[str, list[float]] = {"average": [], "move": [], "tal": [], "tbmd": [], "rank_drop": []}
    for _, part in pairs.groups("model", "item"):
        assert len(part) == 5
        chosen["average"].append(part.rank_drop.mean())
        for signal in ("move", "tal", "tbmd", "rank_drop"):
            chosen[signal].append(part.rank_drop[getattr(part, signal).argmin()])
    expected = [np.mean(values) for values in chosen.values()]
    np.testing.assert_allclose(means(pairs), expected)
    np.testing.assert_allclose(means(shuffled), expected)
    assert expected[4] < expected[2] < expected[0]


def test_the_same_item_under_two_models_is_chosen_for_twice() -> None:
    assert policy_table(random_pairs(400)).rows[0][1] == 80


def test_equal_forms_fall_to_the_first() -> None:
    tied = make_pairs(item=["1", "1"], form=["z", "a"], rank_drop=[5, 1], move=[0.1, 0.1], tal=[0, 0], tbmd=[0, 0])
    assert means(tied) == [3.0, 5.0, 5.0, 5.0, 1.0]
    two = make_pairs(item=list("1122"), form=list("zaaz"), rank_drop=[5, 1, 2, 6], move=0.1, tal=0.0, tbmd=0.0)
    assert means(two)[1:] == [5.5, 5.5, 5.5, 1.5]


@pytest.mark.parametrize("kept", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 3, 3]], ids=["missing", "replaced", "twice"])
def test_incomplete_items_do_not_apply(kept: list[int]) -> None:
    table = policy_table(SMALL.where(np.array(kept)))
    assert table.note == (
        "does not apply: 1 of 2 items lack one of f, g or have it twice, expected complete items: leave the others out"
    )
