"""Means of a quantity for each combination of labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.checks import labels, numbers, same_length


@dataclass(frozen=True, slots=True)
class Marginal:
    """Mean over the ``n`` pairs of one combination of labels.

    Source: CORA, Tables 2, 3, 13 and 24.

    Attributes:
        n: number of pairs.
        mean: in the unit of the values.

    >>> from pytest_audioretrieval.stats import Marginal, marginal
    >>> marginal([2, 4])
    {(): Marginal(n=2, mean=3.0)}
    """

    n: int
    mean: float


def marginal(
    values: npt.ArrayLike, *by: Iterable[str], counts: npt.ArrayLike | None = None
) -> dict[tuple[str, ...], Marginal]:
    """Return the mean of ``values`` [P] for each combination of labels that occurs, in the order of the sorted labels.

    Source: CORA, Tables 2, 3, 13 and 24, Figure 1.

    Args:
        values: [P], in any unit.
        by: columns of labels [P]. One column gives a margin, two give their interaction, none gives the grand mean
            under ``()``.
        counts: [P], the number of pairs that each value is the mean of, where ``values`` are cells of a table.

    Raises:
        DataError: columns of different lengths, values that are not finite, or counts that are not whole and above 0.

    >>> from pytest_audioretrieval.stats import marginal
    >>> marginal([1, 3, 8], ["question", "question", "command"])
    {('command',): Marginal(n=1, mean=8.0), ('question',): Marginal(n=2, mean=2.0)}
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
    """Return the share of pairs whose target fell, RD > 0, for each combination of labels that occurs.

    Source: CORA, section 4.3.1 and Table 24, as a fraction.

    Args:
        rank_drop: [P], in ranks.
        by: columns of labels [P], as in ``marginal``.

    Raises:
        DataError: columns of different lengths, or values that are not finite.

    >>> from pytest_audioretrieval.stats import worsened_share
    >>> worsened_share([5, 0, -2, 1], ["command", "command", "question", "question"])
    {('command',): Marginal(n=2, mean=0.5), ('question',): Marginal(n=2, mean=0.5)}
    """
    return marginal(numbers("rank_drop", rank_drop) > 0, *by)


def _counts(counts: npt.ArrayLike) -> Floats:
    """Return the counts as float64 [P], checked."""
    found = numbers("counts", counts)
    wrong = np.flatnonzero((found < 1) | (found != np.floor(found)))
    if len(wrong):
        raise DataError(
            f"counts[{wrong[0]}] is {found[wrong[0]]:g}",
            expected="a whole number of at least 1",
            remedy="leave out cells without pairs",
        )
    return found
