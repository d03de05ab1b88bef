"""Packaged suites: collected by name from any folder, with the same node ids wherever the package is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.errors import did_you_mean
from pytest_audioretrieval.plugin.ini_files import refuse_another_ini

#: Suites collected because a model was named and no path.
UNASKED = pytest.StashKey[list[str]]()
NO_SUITE = "none"


def add_suites(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Add the packaged suites that ``--retrieval-suite`` names to the arguments of pytest.

    Where a model is named on the command line and no path is, those of ini ``retrieval_suite`` (default: captions).
    """
    args[:] = [_located(arg) for arg in args]
    given = parser.parse_known_args(args)
    refuse_another_ini(config, given)
    names = given.retrieval_suite
    if names is None:
        if given.retrieval_model is None or given.file_or_dir:
            return
        names = config.getini("retrieval_suite") or ["captions"]
        config.stash[UNASKED] = names
    for name in names:
        if name == NO_SUITE:
            continue
        path = str(_suite(name))
        if path not in args:
            args.append(path)


def is_suite(path: Path) -> bool:
    """Return whether ``path`` is a packaged suite."""
    return path.parent == shipped("suites")


def suite_module(path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Return the module of a packaged suite, with a node id that does not name where it is installed."""
    if not is_suite(path):
        return None
    module: pytest.Module = pytest.Module.from_parent(parent, path=path, nodeid=f"suites/{path.name}")
    return module


def _located(arg: str) -> str:
    """Return the node id of a packaged suite's test, as reports print it, as one that pytest finds."""
    path, colons, rest = arg.partition("::")
    if Path(path).parent.name != "suites" or not colons or Path(path).exists():
        return arg
    return f"{_suite(Path(path).stem)}::{rest}"


def _suite(name: str) -> Path:
    folder = shipped("suites")
    known = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    if name not in known:
        raise pytest.UsageError(f"--retrieval-suite {name!r}: {did_you_mean(name, known)}there are {', '.join(known)}")
    return folder / f"{name}.py"
