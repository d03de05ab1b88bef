"""Rounding of printed figures: the counts that a printed share allows."""

from __future__ import annotations

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.runs.published import Publication, read


def publication(name: str) -> Publication:
    return read(shipped("baselines") / f"published/{name}.json")


def near(found: float, printed: float, decimals: int) -> bool:
    """Return whether ``found`` prints so; either neighbour at an exact half, the last term is float rounding."""
    return abs(found - printed) <= 0.5 * 10.0**-decimals + 1e-9


def counts(share: float, total: int, decimals: int) -> list[int]:
    """Return the counts among ``total`` whose share prints so."""
    return [count for count in range(total + 1) if near(count / total, share, decimals)]
