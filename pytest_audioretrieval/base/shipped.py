"""Paths of the files shipped with the package: inside the wheel, or at the top of a source checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
#: A project's own pins, in its top folder: pytest's rootdir, or the folder a command is run in.
OWN = Path("PINS.json")


@cache
def shipped(name: str) -> Path:
    """Return the path of ``suites``, ``baselines`` or ``PINS.json``."""
    packed = _PACKAGE / "base" / "_shipped" / name
    return packed if packed.exists() else _PACKAGE.parent / name
