"""Policies that select one reformulation of each item, and their rank drops (CORA, section 4.3.2, Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.checks import numbers


@dataclass(frozen=True, eq=False)
class Policy:
    """Selection of one form for each of I items.

    Source: CORA, section 4.3.2 and Table 4.

    Attributes:
        rank_drop: float64 [I], rank drop of the selected form, or the mean over all forms.
        chosen: int64 [I], index of the selected form; None where all forms are averaged.

    >>> from pytest_audioretrieval.stats import selection_policies
    >>> forms = [[4, -2], [0, 2]]
    >>> policy = selection_policies(rank_drop=forms, move=forms, tal=forms, tbmd=forms)["best_rank"]
    >>> policy.chosen.tolist(), policy.rank_drop.tolist(), policy.mean_rank_drop
    ([1, 0], [-2.0, 0.0], -1.0)
    """

    rank_drop: Floats
    chosen: npt.NDArray[np.int64] | None

    @property
    def mean_rank_drop(self) -> float:
        """MeanRD under this policy, in ranks (CORA, eq. 2)."""
        return float(self.rank_drop.mean())


def selection_policies(
    rank_drop: npt.ArrayLike, move: npt.ArrayLike, tal: npt.ArrayLike, tbmd: npt.ArrayLike
) -> dict[str, Policy]:
    """Apply the five policies of CORA, Table 4, in the order of the table; of equal forms the first is selected.

    All but ``average`` and ``min_move`` read the target, so they are diagnostics and cannot be used to search.

    Source: CORA, section 4.3.2 and Table 4.

    Args:
        rank_drop, move, tal, tbmd: [I, F], one row for each item (under one model), one column for each form.

    Returns:
        ``average``, ``min_move``, ``min_tal``, ``min_tbmd`` and ``best_rank``. The form with the best rank is the one
        with the smallest rank drop, because the forms of an item share its source rank.

    Raises:
        DataError: shapes that differ, or a missing form (NaN), because the comparison needs complete items.

    >>> from pytest_audioretrieval.stats import selection_policies
    >>> drop, move = [[4, -2], [0, 2]], [[0.1, 0.2], [0.3, 0.2]]
    >>> policies = selection_policies(drop, move, tal=[[0.2, 0.1], [0.0, 0.1]], tbmd=[[0.3, 0.0], [0.1, 0.2]])
    >>> {name: policy.mean_rank_drop for name, policy in policies.items()}
    {'average': 1.0, 'min_move': 3.0, 'min_tal': -1.0, 'min_tbmd': -1.0, 'best_rank': -1.0}
    """
    drop = numbers("rank_drop", rank_drop, "[I, F]")
    found = {"average": Policy(drop.mean(axis=1), None)}
    for name, values in {"move": move, "tal": tal, "tbmd": tbmd}.items():
        found[f"min_{name}"] = _smallest(drop, _signal(drop, name, values))
    found["best_rank"] = _smallest(drop, drop)
    return found


def _signal(drop: Floats, name: str, values: npt.ArrayLike) -> Floats:
    """Return ``values`` as float64 [I, F], of the shape of the rank drops."""
    signal = numbers(name, values, "[I, F]")
    if signal.shape != drop.shape:
        expected = f"that of rank_drop, {drop.shape}"
        raise DataError(f"{name} has shape {signal.shape}", expected=expected, remedy="align items and forms")
    return signal


def _smallest(drop: Floats, signal: Floats) -> Policy:
    """Return the policy that selects the form with the smallest signal."""
    chosen = signal.argmin(axis=1)
    return Policy(np.take_along_axis(drop, chosen[:, None], axis=1)[:, 0], chosen)
