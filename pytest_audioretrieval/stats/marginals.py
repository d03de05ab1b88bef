"""Means of a quantity by any labels and their combinations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.columns import labels, numbers, same_length


@dataclass(frozen=True, slots=True)
class Marginal:
    """The mean over ``n`` pairs."""

    n: int
    mean: float


def marginal(
    values: npt.ArrayLike, *by: Iterable[str], counts: npt.ArrayLike | None = None
) -> dict[tuple[str, ...], Marginal]:
    """Mean of ``values`` [P] for each combination of labels that occurs, sorted (CORA, Tables 2, 3, 13, 24, Figure 1).

    Args:
        by: columns of labels [P]; one gives a margin, two their interaction, none the grand mean under ``()``.
        counts: [P], the pairs that each value is the mean of, where ``values`` are those of a table's cells.

    Raises:
        DataError: columns of different lengths, values that are not finite, counts that are not whole and above 0.
    """
    found = numbers("values", values)
    pairs = np.ones(len(found)) if counts is None else _counts(counts)
    columns = [labels(f"label {place}", column) for place, column in enumerate(by)]
    same_length({"values": found, "counts": pairs, **{f"label {place}": c for place, c in enumerate(columns)}})
    keys = list(zip(*columns, strict=True)) if columns else [()] * len(found)
    levels = sorted(set(keys))
    order = {key: code for code, key in enumerate(levels)}
    codes = np.fromiter((order[key] for key in keys), dtype=np.int64, count=len(keys))
    totals, sizes = np.bincount(codes, pairs * found), np.bincount(codes, pairs)
    return {key: Marginal(int(n), float(total / n)) for key, n, total in zip(levels, sizes, totals, strict=True)}


def worsened_share(rank_drop: npt.ArrayLike, *by: Iterable[str]) -> dict[tuple[str, ...], Marginal]:
    """Share of pairs whose target fell, RD > 0, as ``marginal`` (CORA, Table 24, as a fraction; Section 4.3.1)."""
    return marginal(numbers("rank_drop", rank_drop) > 0, *by)


def _counts(counts: npt.ArrayLike) -> Floats:
    found = numbers("counts", counts)
    wrong = np.flatnonzero((found < 1) | (found != np.floor(found)))
    if len(wrong):
        raise DataError(f"counts[{wrong[0]}] is {found[wrong[0]]:g}: expected a whole number of at least 1")
    return found
