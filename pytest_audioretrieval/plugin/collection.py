"""What is collected: the bare ``--model``, the packaged suites, and model x dataset x direction."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_audioretrieval.errors import did_you_mean
from pytest_audioretrieval.plugin import settings

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.session import RetrievalSession

BARE = "--model"
#: Set where a conftest.py or another plugin has ``--model``.
BARE_TAKEN = pytest.StashKey[bool]()
#: Suites collected because a model was named and no path.
UNASKED = pytest.StashKey[list[str]]()
NO_SUITE = "none"
#: Files that speak to pytest -> the table they do it in; "" where they do whatever they hold.
INIS = dict.fromkeys(("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"), "")
INIS |= {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}


def claim_bare_model(config: pytest.Config, parser: pytest.Parser) -> None:
    """Register ``--model`` unless a conftest.py or another plugin has it; ``report.collect`` then says so.

    Done after conftests are loaded, because two owners of one option end pytest.
    """
    option = next(o for o in settings.OPTIONS if o.name == "model")
    group = parser.getgroup("audioretrieval")
    try:
        group.addoption(BARE, dest=option.dest, action="append", default=None, metavar="SPEC", help="see above")
    except (argparse.ArgumentError, ValueError):
        config.stash[BARE_TAKEN] = True


def add_suites(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Collect packaged suites: those named by ``--retrieval-suite``, or, where a model is named on the command
    line and no path is, those of ini ``retrieval_suite`` (default: captions)."""
    args[:] = [_found(arg) for arg in args]
    given = parser.parse_known_args(args)
    _refuse_another_ini(config, given)
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


def _refuse_another_ini(config: pytest.Config, given: argparse.Namespace) -> None:
    """pytest looks for its ini file before it knows our options: the folder in ``--model FOLDER`` is a path to it."""
    said = [(option, getattr(given, option.dest, None)) for option in settings.OPTIONS]
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
    found = next((path for path, section in paths if _has(path, section)), None)
    if found is not None and (config.inipath is None or not here.is_relative_to(config.inipath.parent)):
        meant = " ".join(f"{switch}={value}" for switch, value in values)
        raise pytest.UsageError(
            f"pytest takes the path of an option for one of tests, and so does not read {found}: "
            f"write it with '=': {meant}"
        )


def _has(path: Path, section: str) -> bool:
    """Whether a file speaks to pytest."""
    return path.is_file() and section in path.read_text(encoding="utf-8", errors="replace")


def _found(arg: str) -> str:
    """An id of a packaged suite's test as reports print it, where there is no such file, made one that is found."""
    path, colons, rest = arg.partition("::")
    if Path(path).parent.name != "suites" or not colons or Path(path).exists():
        return arg
    return f"{_suite(Path(path).stem)}::{rest}"


def _suite(name: str) -> Any:
    """The file of a packaged suite."""
    from pytest_audioretrieval.base.shipped import shipped

    folder = shipped("suites")
    known = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    if name not in known:
        raise pytest.UsageError(f"--retrieval-suite {name!r}: {did_you_mean(name, known)}there are {', '.join(known)}")
    return folder / f"{name}.py"


def is_suite(path: Path) -> bool:
    """Whether ``path`` is a packaged suite."""
    from pytest_audioretrieval.base.shipped import shipped

    return path.parent == shipped("suites")


def suite_module(path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """The module of a packaged suite, with the same node id wherever the package is installed."""
    if not is_suite(path):
        return None
    module: pytest.Module = pytest.Module.from_parent(parent, path=path, nodeid=f"suites/{path.name}")
    return module


def rests_on_target(metafunc: pytest.Metafunc) -> bool:
    """Whether a test asks for a target, by itself or through a fixture.

    Names such as ``dataset`` are common: what another ``pytest_generate_tests`` gives values to is no fixture of ours,
    and pytest drops what that fixture would have asked for only after all hooks have run.
    """
    if "retrieval_target" not in metafunc.fixturenames:
        return False
    known = metafunc.definition._fixtureinfo
    left = replace(known, names_closure=list(known.names_closure))
    left.prune_dependency_tree()
    return "retrieval_target" in left.names_closure


def parametrize(metafunc: pytest.Metafunc, session: RetrievalSession) -> None:
    """Give a test that asks for a gate, or what a gate rests on, one case per model x dataset x direction.

    A packaged suite runs on a built-in checkpoint where no model is named; a user's own test fails then, because
    a forgotten model must not pass.
    """
    from pytest_audioretrieval.errors import SpecError

    marker: dict[str, Any] = {}
    for mark in reversed(list(metafunc.definition.iter_markers("retrieval"))):
        if mark.args:
            raise SpecError(f"marker retrieval takes keywords only, found {mark.args!r}: write datasets=[...]")
        marker |= mark.kwargs
    if is_suite(metafunc.definition.path):
        marker.setdefault("models", session.settings["model"] or (settings.DEFAULT_MODEL,))
    grouped = metafunc.config.pluginmanager.hasplugin("xdist")
    cases = [
        pytest.param(target, id=target.id, marks=[pytest.mark.xdist_group(target.group)] if grouped else [])
        for target in session.targets(marker)
    ]
    nobody = [pytest.param(None, id="no-model")]
    metafunc.parametrize("retrieval_target", cases or nobody, indirect=True, scope="session")
