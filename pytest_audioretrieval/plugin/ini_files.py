"""Ini files of pytest that the value of an option can hide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_audioretrieval.plugin.bare_model import BARE
from pytest_audioretrieval.plugin.settings import OPTIONS

if TYPE_CHECKING:
    import argparse

#: Files that pytest reads its settings from, each with the table that holds them; "" where the whole file does.
INIS = dict.fromkeys(("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"), "")
INIS |= {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}


def refuse_another_ini(config: pytest.Config, given: argparse.Namespace) -> None:
    """Raise ``UsageError`` where pytest took the folder in ``--model FOLDER`` for a path of tests.

    pytest looks for its ini file before it knows our options, beside what looks like a path.
    """
    said = [(option, getattr(given, option.dest, None)) for option in OPTIONS]
    values = [
        (option.switch if option.name != "model" else BARE, value)
        for option, found in said
        for value in (found if isinstance(found, list) else [found])
        if isinstance(value, str) and Path(value).exists()
    ]
    if given.inifilename or given.rootdir or given.file_or_dir or not values:
        return
    here = config.invocation_params.dir
    paths = ((folder / name, section) for folder in (here, *here.parents) for name, section in INIS.items())
    found = next((path for path, section in paths if _holds(path, section)), None)
    if found is not None and (config.inipath is None or not here.is_relative_to(config.inipath.parent)):
        meant = " ".join(f"{switch}={value}" for switch, value in values)
        raise pytest.UsageError(
            f"pytest takes the path of an option for one of tests, and so does not read {found}: "
            f"write it with '=': {meant}"
        )


def _holds(path: Path, section: str) -> bool:
    """Return whether a file holds settings of pytest."""
    return path.is_file() and section in path.read_text(encoding="utf-8", errors="replace")
