"""Correction of p-values for the number of endpoints that are tested."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_audioretrieval.errors import DataError


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values after Holm's step-down correction, in the order given.

    Each returned value below alpha is a finding at family-wise level alpha. The correction is valid under any
    dependence, and so also for the strongly correlated R@1, R@5 and R@10 of one run. A claim that *all* endpoints hold
    needs no correction (intersection-union test).

    Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979); MASB, Exp. 1.

    Args:
        p_values: [E], from 0 to 1.

    Raises:
        DataError: a value that is no probability.

    >>> from pytest_audioretrieval.stats import holm
    >>> holm([0.25, 0.125, 0.5])
    [0.5, 0.375, 0.5]
    """
    given: Sequence[object] = p_values
    for index, p in enumerate(given):
        if not isinstance(p, int | float | np.floating) or not 0 <= p <= 1:
            raise DataError(f"p_values[{index}] is {p!r}", expected="a number from 0 to 1", remedy="pass p-values")
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = floor
    return adjusted
