"""Where suites, baselines and PINS.json lie: inside the wheel, or at the top of a source checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


@cache
def shipped(name: str) -> Path:
    """Path of ``suites``, ``baselines`` or ``PINS.json``."""
    packed = _PACKAGE / "_shipped" / name
    return packed if packed.exists() else _PACKAGE.parent / name
