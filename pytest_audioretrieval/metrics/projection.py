"""Length and direction of the shift from a source query to its reformulation: CORA, eq. 3 and Appendix K.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.metrics.scores import PAIR_PRODUCTS, Floats, Ints, slices

#: CORA names no value. This one is far above the rounding of float64, so that a direction of no length gives a
#: projection of 0, and far below the length of any other direction.
EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class Projection:
    """Shifts of P queries from their source, as lengths and projections.

    Attributes:
        move: [P], 1 - cos(reformulated, source), from 0 to 2 (CORA, eq. 3).
        shift_norm: [P], length ``||d||`` of the shift in the tangent space at the source, from 0 to 1 (K.1).
        p_audio: [P], the tangent shift along the direction of the target; above 0 the query moves towards it (K.1).
        p_boundary: [P], the tangent shift along target minus hard negative; above 0 it favours the target (K.1).
    """

    move: Floats
    shift_norm: Floats
    p_audio: Floats
    p_boundary: Floats


def project(
    source: npt.NDArray[Any],
    reformulated: npt.NDArray[Any],
    candidates: npt.NDArray[Any],
    target: Ints,
    hard_negative: Ints,
) -> Projection:
    """Project the shift from ``source`` to ``reformulated`` (CORA, Appendix K.1), in blocks of pairs.

    Args:
        source, reformulated: unit vectors [P, dims].
        candidates: unit vectors [N, dims].
        target, hard_negative: int [P], a candidate's index for each pair.
    """
    found = np.empty((4, len(source)))
    for part in slices(len(source), max(1, PAIR_PRODUCTS // source.shape[1])):
        rows = (source[part], reformulated[part], candidates[target[part]], candidates[hard_negative[part]])
        found[:, part] = _project(*map(_normalised, rows))
    return Projection(*found)


def _project(source: Floats, reformulated: Floats, target: Floats, hard_negative: Floats) -> tuple[Floats, ...]:
    """Return move, shift norm and both projections of some pairs, from rows of length 1."""
    shift = reformulated - source
    tangent = _tangent(shift, source)
    return (
        # Equal to 1 - cos for unit vectors, without its cancellation: a query that did not move gets exactly 0.
        _dots(shift, shift) / 2,
        np.sqrt(_dots(tangent, tangent)),
        _along(tangent, _tangent(target, source)),
        _along(tangent, _tangent(target - hard_negative, source)),
    )


def _normalised(rows: npt.NDArray[Any]) -> Floats:
    """Return the rows with length 1 in float64, because the rounding of float32 would count as a shift."""
    rows = rows.astype(np.float64)
    unit: Floats = rows / np.sqrt(_dots(rows, rows))[:, np.newaxis]
    return unit


def _tangent(rows: Floats, anchor: Floats) -> Floats:
    """Return each row without its part along the unit vector ``anchor``."""
    return rows - _dots(anchor, rows)[:, np.newaxis] * anchor


def _along(shift: Floats, direction: Floats) -> Floats:
    """Return the length of each shift along a direction of any length."""
    length: Floats = _dots(shift, direction) / (np.sqrt(_dots(direction, direction)) + EPSILON)
    return length


def _dots(left: Floats, right: Floats) -> Floats:
    """Return the inner product of each pair of rows."""
    dots: Floats = np.einsum("ij,ij->i", left, right)
    return dots
