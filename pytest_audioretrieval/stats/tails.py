"""Whether a quantity's mean can be trusted: a tail index under 2 has no variance.

No interval for a mean is honest there (``docs/calibration.md``): the queries that decide it are too rare to be in the
sample. Ranks are such a quantity. The remedy is another outcome, such as log2 of the rank ratio.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.stats.columns import numbers

#: Share of the non-zero values that is called their tail; a larger one mistakes the body of small integers for it.
_SHARE = 10
#: Points under which a tail says nothing: the index then errs by more than a third of itself.
_LEAST = 10


def tail_index(values: npt.ArrayLike) -> float | None:
    """Hill's index of ``|values|`` [Q]: they exceed x about as often as x ** -index.

    Taken over the largest tenth of the non-zero values, as queries that did not change say nothing of how far others
    fall; infinite where all of those are equal. None with under 10 points in that tenth, which is not evidence of a
    light tail. Its standard error is the index over the square root of the points.

    Source: B. M. Hill, "A simple general approach to inference about the tail of a distribution" (1975).

    Raises:
        DataError: not finite numbers.
    """
    sizes = np.abs(numbers("values", values, "[Q]"))
    changed = np.sort(sizes[sizes > 0])
    points = len(changed) // _SHARE
    if points < _LEAST:
        return None
    excess = float(np.mean(np.log(changed[-points:]) - np.log(changed[-points - 1])))
    return 1 / excess if excess > 0 else float("inf")


def heavy_tailed(values: npt.ArrayLike) -> bool:
    """Whether ``values`` [Q] show a tail index under 2, so that no interval of their mean is to be trusted.

    False is no promise: the tail may have too few points to tell (``tail_index`` is None).
    """
    index = tail_index(values)
    return index is not None and index < 2
