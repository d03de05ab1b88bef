"""Tail index of a quantity, which tells whether its mean can be trusted.

With a tail index below 2 a quantity has no variance, and no interval for its mean is honest
(``docs/explanation/calibration.md``):
the queries that decide the mean are too rare to be in the sample. Ranks are such a quantity. The remedy is another
outcome, such as log2 of the rank ratio.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.stats.checks import numbers

#: The tail is the largest one in this many non-zero values; a longer tail would include the bulk of small integers.
_TAIL_FRACTION = 10
#: With fewer points than this in the tail the index errs by more than a third of itself.
_LEAST_POINTS = 10


def tail_index(values: npt.ArrayLike) -> float | None:
    """Return Hill's index of ``|values|`` [Q], which exceed x about as often as x ** -index.

    The index is computed from the largest tenth of the non-zero values, because queries that did not change carry no
    information about how far others fall. It is infinite where all of these are equal, and None where they are fewer
    than 10 points, which is no evidence of a light tail. Its standard error is the index over the square root of the
    number of points.

    Source: B. M. Hill, "A simple general approach to inference about the tail of a distribution" (1975).

    Args:
        values: [Q], in any unit.

    Raises:
        DataError: values that are no finite numbers.

    >>> from pytest_audioretrieval.stats import tail_index
    >>> drops = [1000 / place for place in range(1, 201)]  # exceeds x about as often as 1 / x
    >>> round(tail_index(drops), 1), tail_index(drops[:50])
    (1.1, None)
    """
    sizes = np.abs(numbers("values", values, "[Q]"))
    changed = np.sort(sizes[sizes > 0])
    points = len(changed) // _TAIL_FRACTION
    if points < _LEAST_POINTS:
        return None
    excess = float(np.mean(np.log(changed[-points:]) - np.log(changed[-points - 1])))
    return 1 / excess if excess > 0 else float("inf")


def heavy_tailed(values: npt.ArrayLike) -> bool:
    """Return whether ``values`` [Q] have a tail index below 2, so that no interval of their mean can be trusted.

    False is no promise: the tail may have too few points to tell (``tail_index`` is None).

    Source: B. M. Hill, "A simple general approach to inference about the tail of a distribution" (1975).

    Args:
        values: [Q], in any unit.

    Raises:
        DataError: values that are no finite numbers.

    >>> from pytest_audioretrieval.stats import heavy_tailed
    >>> heavy_tailed([1000 / place for place in range(1, 201)]), heavy_tailed(range(200))
    (True, False)
    """
    index = tail_index(values)
    return index is not None and index < 2
