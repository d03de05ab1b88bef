"""What choosing one of an item's reformulations would do to the target's rank (CORA, Section 4.3.2, Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.columns import numbers


@dataclass(frozen=True, eq=False)
class Policy:
    """What a policy chooses for each of I items.

    Attributes:
        rank_drop: [I], RD of the form chosen, or the mean over forms.
        chosen: [I], the form's index; None where all forms are averaged.
    """

    rank_drop: Floats
    chosen: npt.NDArray[np.int64] | None

    @property
    def mean_rank_drop(self) -> float:
        """MeanRD under this policy (CORA, eq. 2)."""
        return float(self.rank_drop.mean())


def selection_policies(
    rank_drop: npt.ArrayLike, move: npt.ArrayLike, tal: npt.ArrayLike, tbmd: npt.ArrayLike
) -> dict[str, Policy]:
    """Apply the five policies of CORA, Table 4, in its order; of equal forms the first is chosen.

    All but ``average`` and ``min_move`` look at the target, so they are diagnostic and no way to search.

    Args:
        rank_drop, move, tal, tbmd: [I, F], item (under one model) by form.

    Returns:
        ``average``, ``min_move``, ``min_tal``, ``min_tbmd`` and ``best_rank``. The form of the best rank is that of the
        smallest RD, because the forms of an item share its source rank.

    Raises:
        DataError: shapes that differ, or a missing form (NaN): the comparison needs complete items.
    """
    drop = numbers("rank_drop", rank_drop, "[I, F]")
    found = {"average": Policy(drop.mean(axis=1), None)}
    for name, values in {"move": move, "tal": tal, "tbmd": tbmd}.items():
        found[f"min_{name}"] = _smallest(drop, _like(drop, name, values))
    found["best_rank"] = _smallest(drop, drop)
    return found


def _like(drop: Floats, name: str, values: npt.ArrayLike) -> Floats:
    signal = numbers(name, values, "[I, F]")
    if signal.shape != drop.shape:
        raise DataError(f"{name} has shape {signal.shape}: expected that of rank_drop, {drop.shape}")
    return signal


def _smallest(drop: Floats, signal: Floats) -> Policy:
    chosen = signal.argmin(axis=1)
    return Policy(np.take_along_axis(drop, chosen[:, None], axis=1)[:, 0], chosen)
