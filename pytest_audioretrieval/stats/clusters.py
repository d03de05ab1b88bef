"""Groups of queries that are resampled together: a clip with all its captions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError


@dataclass(frozen=True, eq=False)
class Clusters:
    """Assignment of Q queries to C clusters.

    Attributes:
        codes: int64 [Q], the cluster of each query, from 0 to C - 1 in the order of the sorted labels.
        sizes: float64 [C], number of queries in each cluster.
    """

    codes: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.float64]

    def sums(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the sum of ``values`` [Q] within each cluster, [C].

        It is the mean of the sums taken in ascending and in descending order. So it is the same to the bit in whatever
        order the queries come, and exactly negated when all values are negated.
        """
        ordered = values[np.lexsort((values, self.codes))]
        ends = np.cumsum(self.sizes).astype(np.int64)
        starts = np.concatenate(([0], ends[:-1]))
        upwards = np.add.reduceat(ordered, starts)
        downwards = np.add.reduceat(ordered[::-1], len(values) - ends[::-1])[::-1]
        return np.asarray((upwards + downwards) / 2)


def group(labels: Iterable[Hashable]) -> Clusters:
    """Put queries with equal labels (any hashable) into one cluster.

    Clusters are ordered by the text of their labels, so that every endpoint of a run gets the same resamples.

    Raises:
        DataError: a label that cannot be hashed or is NaN.
    """
    plain = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    for query, label in enumerate(plain):
        _check_label(query, label)
    order = {label: code for code, label in enumerate(sorted(set(plain), key=_text))}
    codes = np.fromiter((order[label] for label in plain), dtype=np.int64, count=len(plain))
    return Clusters(codes, np.bincount(codes, minlength=len(order)).astype(np.float64))


def check_two_clusters(clusters: Clusters) -> None:
    """Refuse a single cluster, because clusters are what is resampled.

    Raises:
        DataError: there is only one.
    """
    if len(clusters.sizes) < 2:
        expected = "at least 2, because clusters are what is resampled"
        raise DataError("all pairs are of one cluster", expected=expected, remedy="label each pair with its clip")


def _text(label: Hashable) -> tuple[str, str]:
    """Return the text by which a label is sorted."""
    return type(label).__qualname__, repr(label)


def _check_label(query: int, label: Hashable) -> None:
    """Refuse a label that cannot be hashed or is NaN."""
    try:
        hash(label)
    except TypeError:
        found = f"cluster label of query {query} is a {type(label).__name__}"
        raise DataError(found, expected="a hashable one", remedy="label each query with the id of its clip") from None
    if label != label:
        found = f"cluster label of query {query} is NaN"
        raise DataError(found, expected="a label that equals itself", remedy="label each query with the id of its clip")
