"""Diversity of queries: the mean cosine distance over all pairs of them (CORA, Appendix A.4.2).

The sum of all dot products is the squared length of the sum of the vectors, so no pair is ever formed.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.checks import labels, numbers, same_length

#: How far a vector's norm may be from 1.
_NORM_TOLERANCE = 1e-3


def global_diversity(vectors: npt.ArrayLike) -> float:
    """Return D_global of unit vectors [Q, dims]: the mean of 1 - cosine over all pairs, from 0 to Q / (Q - 1).

    Source: CORA, Appendix A.4.2.

    Raises:
        DataError: vectors that are not finite or not of length 1, or fewer than two.

    >>> from pytest_audioretrieval.stats import global_diversity
    >>> round(global_diversity([[1, 0], [0, 1], [0.6, 0.8]]), 4)
    0.5333
    """
    return _diversity("the set", _unit(vectors))


def diversity_by_type(vectors: npt.ArrayLike, types: Iterable[str]) -> dict[str, float]:
    """Return the diversity of the queries of each type, in the order of the sorted types.

    Source: CORA, Appendix A.4.2 and Figure 4(b).

    Args:
        vectors: unit vectors [Q, dims].
        types: [Q], name of the type of each query.

    Raises:
        DataError: vectors that ``global_diversity`` refuses, or a type with fewer than two queries, which it names.

    >>> from pytest_audioretrieval.stats import diversity_by_type
    >>> diversity_by_type([[1, 0], [0, 1], [1, 0], [1, 0]], ["question", "question", "command", "command"])
    {'command': 0.0, 'question': 1.0}
    """
    unit, names = _unit(vectors), np.array(labels("types", types))
    same_length({"vectors": unit, "types": names})
    return {name: _diversity(f"type {name!r}", unit[names == name]) for name in sorted(set(names.tolist()))}


def within_diversity(vectors: npt.ArrayLike, types: Iterable[str]) -> float:
    """Return D_within: the mean of ``diversity_by_type``, in which every type counts the same.

    The paper passes only the types whose openings it diversified: command, indirect and question.

    Source: CORA, Appendix A.4.2.

    Args:
        vectors: unit vectors [Q, dims].
        types: [Q], name of the type of each query.

    Raises:
        DataError: vectors or types that ``diversity_by_type`` refuses.

    >>> from pytest_audioretrieval.stats import within_diversity
    >>> within_diversity([[1, 0], [0, 1], [1, 0], [1, 0]], ["question", "question", "command", "command"])
    0.5
    """
    found = diversity_by_type(vectors, types)
    return fsum(found.values()) / len(found)


def _unit(vectors: npt.ArrayLike) -> Floats:
    """Return the vectors with length 1 in float64, checked."""
    found = numbers("vectors", vectors, "[Q, dims]")
    norms = np.linalg.norm(found, axis=1)
    wrong = np.flatnonzero(np.abs(norms - 1) > _NORM_TOLERANCE)
    if len(wrong):
        raise DataError(
            f"vector {wrong[0]} has length {norms[wrong[0]]:g}", expected="1", remedy="divide it by its length"
        )
    return np.asarray(found / norms[:, None])


def _diversity(name: str, unit: Floats) -> float:
    """Return the mean cosine distance over all pairs of rows; an error calls them ``name``."""
    count = len(unit)
    if count < 2:
        raise DataError(
            f"{name} has {count} query",
            expected="at least two, because diversity is a distance between them",
            remedy="add queries or leave the type out",
        )
    total = unit.sum(axis=0)
    # Rounding may give equal vectors a tiny distance of either sign.
    return max(0.0, float(1 - (total @ total - count) / (count * (count - 1))))
