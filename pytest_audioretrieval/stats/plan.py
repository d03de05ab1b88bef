"""What a claim would take: the margin these data certify, and the clusters that would settle it."""

from __future__ import annotations

from math import floor
from typing import Literal, get_args

from pytest_audioretrieval.errors import SpecError

Claim = Literal["non_inferior", "equivalent", "superior"]


def check_claim(claim: str) -> None:
    """Refuse anything that is no claim about a difference."""
    if claim not in get_args(Claim):
        raise SpecError(f"claim is {claim!r}: expected one of {', '.join(get_args(Claim))}")


def smallest_margin(claim: Claim, low: float, high: float) -> float | None:
    """Every margin above this one is certified by bounds ``low`` and ``high``; None for a claim without a margin."""
    check_claim(claim)
    if claim == "superior":
        return None
    return max(0.0, -low, high) if claim == "equivalent" else max(0.0, -low)


def clusters_needed(
    claim: Claim, *, difference: float, low: float, high: float, margin: float, clusters: int
) -> int | None:
    """Clusters that would settle ``claim`` at the spread observed, about; None where more of them would not help.

    Half-widths shrink with the square root of the number of clusters, around the same difference.
    """
    check_claim(claim)
    below, above = difference - low, high - difference
    rooms = {
        "non_inferior": [(below, difference + margin)],
        "equivalent": [(below, difference + margin), (above, margin - difference)],
        "superior": [(below, difference)],
    }[claim]
    if any(room <= 0 for _, room in rooms):
        return None
    return max(floor(clusters * (half / room) ** 2) + 1 for half, room in rooms)
