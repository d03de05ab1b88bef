"""Entry points read from ``pyproject.toml``, not from the installed version of it."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

from pytest_audioretrieval.base.registered import MODELS

_PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS: dict[str, str] = _PROJECT["entry-points"][MODELS]


def backend(name: str) -> metadata.EntryPoint:
    """Return the entry point of a backend of this package."""
    return metadata.EntryPoint(name, ENTRY_POINTS[name], MODELS)
