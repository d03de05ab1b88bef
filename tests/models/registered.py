"""Entry points as ``pyproject.toml`` states them, whichever version of it is installed."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

from pytest_audioretrieval.models.registry import GROUP

_PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS: dict[str, str] = _PROJECT["entry-points"][GROUP]


def backend(name: str) -> metadata.EntryPoint:
    """The entry point of a backend of ours."""
    return metadata.EntryPoint(name, ENTRY_POINTS[name], GROUP)
