"""Requirements of a claim: the smallest margin that data certify, and the number of clusters that would settle it."""

from __future__ import annotations

from math import floor
from typing import Literal, get_args

from pytest_audioretrieval.errors import SpecError, did_you_mean

Claim = Literal["non_inferior", "equivalent", "superior"]


def check_claim(claim: str) -> None:
    """Refuse anything that is no claim about a difference.

    Raises:
        SpecError: an unknown claim.
    """
    known = get_args(Claim)
    if claim not in known:
        remedy = f"{did_you_mean(str(claim), known)}choose one"
        raise SpecError(f"claim is {claim!r}", expected=f"one of {', '.join(known)}", remedy=remedy)


def smallest_margin(claim: Claim, low: float, high: float) -> float | None:
    """Return the margin above which bounds ``low`` and ``high`` show ``claim``; None for a claim without a margin."""
    check_claim(claim)
    if claim == "superior":
        return None
    return max(0.0, -low, high) if claim == "equivalent" else max(0.0, -low)


def clusters_needed(
    claim: Claim, *, difference: float, low: float, high: float, margin: float, clusters: int
) -> int | None:
    """Return about how many clusters would settle ``claim`` at the spread observed; None where more would not help.

    Half-widths shrink with the square root of the number of clusters, while the difference stays the same.
    """
    check_claim(claim)
    below, above = difference - low, high - difference
    slack = {
        "non_inferior": [(below, difference + margin)],
        "equivalent": [(below, difference + margin), (above, margin - difference)],
        "superior": [(below, difference)],
    }[claim]
    if any(allowed <= 0 for _, allowed in slack):
        return None
    return max(floor(clusters * (half_width / allowed) ** 2) + 1 for half_width, allowed in slack)
