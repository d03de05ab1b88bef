"""How many endpoints were looked at before one was called regressed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_audioretrieval.errors import DataError


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: any of these below alpha is a finding at family-wise level alpha.

    Valid under any dependence, so also for the strongly correlated R@1, R@5 and R@10 of one run. A claim that *all*
    endpoints hold needs no correction (intersection-union test).

    Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).

    Raises:
        DataError: what is no probability.
    """
    given: Sequence[object] = p_values
    for index, p in enumerate(given):
        if not isinstance(p, int | float | np.floating) or not 0 <= p <= 1:
            raise DataError(f"p_values[{index}] is {p!r}: expected a number from 0 to 1")
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = floor
    return adjusted
