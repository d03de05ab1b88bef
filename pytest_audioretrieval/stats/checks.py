"""Checks of the numbers and labels that statistics take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import Floats


def numbers(name: str, values: npt.ArrayLike, shape: str = "[P]") -> Floats:
    """Return ``values`` as finite float64 with as many axes as ``shape`` names.

    Raises:
        DataError: values that are no numbers, another number of axes, an empty array, or a value that is not finite.
    """
    try:
        raw = np.asarray(values)
        found = raw.astype(np.float64, casting="same_kind" if raw.dtype.kind in "biuf" else "safe")
    except (TypeError, ValueError):
        remedy = "pass numbers alone"
        raise DataError(f"{name} holds no numbers", expected=f"an array of shape {shape}", remedy=remedy) from None
    if found.ndim != shape.count(",") + 1 or not found.size:
        remedy = "pass at least one value and as many axes"
        raise DataError(f"{name} has shape {found.shape}", expected=f"{shape}, none of them 0", remedy=remedy)
    if not np.isfinite(found).all():
        place = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        at = ", ".join(map(str, place))
        raise DataError(
            f"{name}[{at}] is {found[place]}", expected="finite numbers", remedy="leave it out and count it"
        )
    return found


def choices(name: str, values: npt.ArrayLike) -> Floats:
    """Return ``values`` [P] as outcomes of choices between two options: 1 right, 0 wrong, 0.5 at a tie.

    Raises:
        DataError: values that ``numbers`` refuses, or another number.
    """
    found = numbers(name, values)
    wrong = np.flatnonzero((found != 0) & (found != 0.5) & (found != 1))
    if len(wrong):
        raise DataError(
            f"{name}[{wrong[0]}] is {found[wrong[0]]:g}",
            expected="1 (right), 0 (wrong) or 0.5 (a tie)",
            remedy="turn scores into choices first",
        )
    return found


def labels(name: str, values: Iterable[object]) -> list[str]:
    """Return ``values`` as a list of texts.

    Raises:
        DataError: a label that is not text.
    """
    plain: list[str] = []
    for place, label in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        if not isinstance(label, str):
            raise DataError(f"{name}[{place}] is {label!r}", expected="a label, which is text", remedy="pass str of it")
        plain.append(label)
    return plain


def labels_or_numbers(name: str, values: npt.ArrayLike) -> list[str] | Floats:
    """Return ``values`` as labels where the first value is text, else as numbers."""
    if isinstance(values, Sequence | np.ndarray) and len(values) and isinstance(values[0], str):
        return labels(name, values)
    return numbers(name, values)


def same_length(columns: Mapping[str, Sized]) -> int:
    """Return the length that all columns share.

    Raises:
        DataError: columns of different lengths.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) != 1:
        found = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise DataError(f"lengths differ: {found}", expected="as many of each", remedy="align them in the same order")
    return next(iter(lengths.values()))
