"""Versions of the packages that may move a vector or a rank, without importing them."""

from __future__ import annotations

from functools import cache
from importlib import metadata

LIBRARIES = ("numpy", "pytest-audioretrieval", "soundfile", "soxr", "tokenizers", "torch", "transformers")


def versions() -> dict[str, str]:
    """Package -> version, or ``"absent"``."""
    return {name: _version(name) for name in LIBRARIES}


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"
