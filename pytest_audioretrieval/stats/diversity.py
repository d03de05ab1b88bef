"""How far apart queries lie: mean cosine distance over all pairs of them (CORA, Appendix A.4.2).

The sum of all dot products is the squared length of the vectors' sum, so no pair is ever formed.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.columns import labels, numbers, same_length

#: How far a vector's norm may be from 1.
_NORM_TOLERANCE = 1e-3


def global_diversity(vectors: npt.ArrayLike) -> float:
    """D_global of unit vectors [Q, dims]: mean of 1 - cosine over all pairs, between 0 and Q / (Q - 1).

    Raises:
        DataError: vectors that are not finite or not of length 1, or fewer than two.
    """
    return _diversity("all queries", _unit(vectors))


def diversity_by_type(vectors: npt.ArrayLike, types: Iterable[str]) -> dict[str, float]:
    """The diversity of each type's own queries, types [Q] sorted (CORA, Figure 4(b)).

    Raises:
        DataError: as ``global_diversity``, naming the type.
    """
    unit, names = _unit(vectors), np.array(labels("types", types))
    same_length({"vectors": unit, "types": names})
    return {name: _diversity(name, unit[names == name]) for name in sorted(set(names.tolist()))}


def within_diversity(vectors: npt.ArrayLike, types: Iterable[str]) -> float:
    """D_within: the mean of ``diversity_by_type``, every type counting alike however many queries it has.

    The paper passes only the types whose openings it diversified: command, indirect and question.
    """
    found = diversity_by_type(vectors, types)
    return fsum(found.values()) / len(found)


def _unit(vectors: npt.ArrayLike) -> Floats:
    found = numbers("vectors", vectors, "[Q, dims]")
    norms = np.linalg.norm(found, axis=1)
    wrong = np.flatnonzero(np.abs(norms - 1) > _NORM_TOLERANCE)
    if len(wrong):
        raise DataError(f"vector {wrong[0]} has length {norms[wrong[0]]:g}: expected 1; divide it by its length")
    return np.asarray(found / norms[:, None])


def _diversity(name: str, unit: Floats) -> float:
    count = len(unit)
    if count < 2:
        raise DataError(f"{name}: {count} query: expected at least two, because diversity is a distance between them")
    total = unit.sum(axis=0)
    # Rounding may leave equal vectors a hair apart on either side.
    return max(0.0, float(1 - (total @ total - count) / (count * (count - 1))))
