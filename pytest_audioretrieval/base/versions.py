"""Versions of the packages that may change a vector or a rank; none of them is imported."""

from __future__ import annotations

from functools import cache
from importlib import metadata

LIBRARIES = ("numpy", "pytest-audioretrieval", "soundfile", "soxr", "tokenizers", "torch", "transformers")


def versions() -> dict[str, str]:
    """Return the version of each package in ``LIBRARIES``, or ``"absent"``."""
    return {name: _version(name) for name in LIBRARIES}


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"
