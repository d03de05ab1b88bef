from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats import selection_policies

NAMES = ["average", "min_move", "min_tal", "min_tbmd", "best_rank"]


def test_policies_by_hand():
    drop = [[4, -2, 7], [10, 0, 5]]
    move = [[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]]
    tal = [[0.0, 0.1, 0.2], [0.3, 0.2, 0.2]]  # a tie: the first of equal forms
    tbmd = [[-0.1, -0.3, 0.0], [0.5, 0.6, 0.4]]
    found = selection_policies(drop, move, tal, tbmd)
    assert list(found) == NAMES
    assert [policy.mean_rank_drop for policy in found.values()] == [4.0, 8.5, 2.0, 1.5, -1.0]
    assert found["average"].rank_drop.tolist() == [3.0, 5.0]
    assert found["average"].chosen is None
    chosen = {name: found[name].chosen.tolist() for name in NAMES[1:]}
    assert chosen == {"min_move": [2, 0], "min_tal": [0, 1], "min_tbmd": [1, 2], "best_rank": [1, 1]}
    assert found["min_tbmd"].rank_drop.tolist() == [-2.0, 5.0]


def test_planted_boundary_damage_orders_the_policies_as_table_4():
    """RD follows TBMD, TAL is a part of TBMD, and movement is independent of both."""
    rng = np.random.default_rng(0)
    tal, pull, move = rng.normal(size=(3, 500, 5))
    tbmd = tal + 0.5 * pull
    drop = np.round(20 * tbmd + rng.normal(0, 5, (500, 5)))
    found = {name: policy.mean_rank_drop for name, policy in selection_policies(drop, move, tal, tbmd).items()}
    assert found["best_rank"] < found["min_tbmd"] < found["min_tal"] < -10
    assert found["min_move"] == pytest.approx(found["average"], abs=3)


@given(st.lists(st.lists(st.integers(-3, 3), min_size=12, max_size=12), min_size=1, max_size=8))
def test_no_policy_beats_the_best_rank_and_one_form_leaves_no_choice(items):
    drop, move, tal, tbmd = np.array(items).reshape(-1, 4, 3).transpose(1, 0, 2)
    found = selection_policies(drop, move, tal, tbmd)
    for name, signal in {"min_move": move, "min_tal": tal, "min_tbmd": tbmd}.items():
        for item, form in enumerate(found[name].chosen):
            assert form == min(range(3), key=lambda f: (signal[item, f], f))
    for policy in found.values():
        assert (policy.rank_drop >= found["best_rank"].rank_drop).all()
    only = selection_policies(drop[:, :1], move[:, :1], tal[:, :1], tbmd[:, :1])
    assert len({policy.mean_rank_drop for policy in only.values()}) == 1


def test_incomplete_items_are_refused():
    whole = np.zeros((2, 3))
    with pytest.raises(
        DataError, match=r"^tal has shape \(2, 2\), expected that of rank_drop, \(2, 3\): align items and forms$"
    ):
        selection_policies(whole, whole, whole[:, :2], whole)
    missing = whole.copy()
    missing[1, 2] = np.nan
    with pytest.raises(DataError, match=r"^rank_drop\[1, 2\] is nan, "):
        selection_policies(missing, whole, whole, whole)
    with pytest.raises(DataError, match=r"^rank_drop has shape \(3,\), expected \[I, F\]"):
        selection_policies(whole[0], whole, whole, whole)
