"""How far a query moved, and in which direction: CORA, eq. 3 and Appendix K.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.metrics.scores import PAIR_PRODUCTS, Floats, Ints, slices

#: CORA names no value. This one is far above float64's rounding, so that a direction which vanishes projects
#: nothing, and far below the length of any other.
EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class Projection:
    """The shift of P queries, seen from their source.

    Attributes:
        move: 1 - cos(reformulated, source), [P], 0 to 2 (CORA, eq. 3).
        shift_norm: length of the shift in the tangent space at the source, ``||d||``, [P], 0 to 1 (K.1).
        p_audio: the tangent shift along the direction of the target, [P]; above 0 it moves towards it (K.1).
        p_boundary: the tangent shift along target minus hard negative, [P]; above 0 it favours the target (K.1).
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
        source, reformulated: unit vectors ``(P, dims)``.
        candidates: unit vectors ``(N, dims)``.
        target, hard_negative: a candidate's index for each pair, ``(P,)``.
    """
    found = np.empty((4, len(source)))
    for part in slices(len(source), max(1, PAIR_PRODUCTS // source.shape[1])):
        rows = (source[part], reformulated[part], candidates[target[part]], candidates[hard_negative[part]])
        found[:, part] = _project(*map(_normalised, rows))
    return Projection(*found)


def _project(source: Floats, reformulated: Floats, target: Floats, hard_negative: Floats) -> tuple[Floats, ...]:
    shift = reformulated - source
    tangent = _tangent(shift, source)
    return (
        # Of unit vectors 1 - cos, but nothing cancels: a query that did not move has moved by exactly 0.
        _dots(shift, shift) / 2,
        np.sqrt(_dots(tangent, tangent)),
        _along(tangent, _tangent(target, source)),
        _along(tangent, _tangent(target - hard_negative, source)),
    )


def _normalised(rows: npt.NDArray[Any]) -> Floats:
    """Norms are 1 up to float32's rounding only, which would be a shift of its own."""
    rows = rows.astype(np.float64)
    unit: Floats = rows / np.sqrt(_dots(rows, rows))[:, np.newaxis]
    return unit


def _tangent(rows: Floats, anchor: Floats) -> Floats:
    """What is left of each row without its part along the unit vector ``anchor``."""
    return rows - _dots(anchor, rows)[:, np.newaxis] * anchor


def _along(shift: Floats, direction: Floats) -> Floats:
    length: Floats = _dots(shift, direction) / (np.sqrt(_dots(direction, direction)) + EPSILON)
    return length


def _dots(left: Floats, right: Floats) -> Floats:
    dots: Floats = np.einsum("ij,ij->i", left, right)
    return dots
