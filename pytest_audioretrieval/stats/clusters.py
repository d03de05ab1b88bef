"""Queries grouped by the unit that is resampled: the clip, with all its captions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which queries belong together.

    Attributes:
        codes: int64 [Q], the cluster of each query, 0 to C - 1 in the order of the sorted labels.
        sizes: float64 [C], queries per cluster.
    """

    codes: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.float64]

    def sums(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sum of ``values`` [Q] within each cluster, [C].

        Bit for bit the same in whatever order the queries come, and exactly negated when all values are: the mean of
        the sums taken in ascending and in descending order.
        """
        ordered = values[np.lexsort((values, self.codes))]
        ends = np.cumsum(self.sizes).astype(np.int64)
        starts = np.concatenate(([0], ends[:-1]))
        upwards = np.add.reduceat(ordered, starts)
        downwards = np.add.reduceat(ordered[::-1], len(values) - ends[::-1])[::-1]
        return np.asarray((upwards + downwards) / 2)


def group(labels: Iterable[Hashable]) -> Clusters:
    """Cluster queries by label (any hashable), whatever the order of the queries.

    Clusters are ordered by the text of their labels, so that every endpoint of a run sees the same resamples.

    Raises:
        DataError: a label that cannot be hashed or is NaN.
    """
    plain = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    for query, label in enumerate(plain):
        _check_label(query, label)
    order = {label: code for code, label in enumerate(sorted(set(plain), key=_text))}
    codes = np.fromiter((order[label] for label in plain), dtype=np.int64, count=len(plain))
    return Clusters(codes, np.bincount(codes, minlength=len(order)).astype(np.float64))


def _text(label: Hashable) -> tuple[str, str]:
    return type(label).__qualname__, repr(label)


def _check_label(query: int, label: Hashable) -> None:
    try:
        hash(label)
    except TypeError:
        raise DataError(
            f"cluster label of query {query} is a {type(label).__name__}: expected a hashable one, such as a clip id"
        ) from None
    if label != label:
        raise DataError(f"cluster label of query {query} is NaN: expected the id of its clip")
