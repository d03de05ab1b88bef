"""Hooks and options. At import this pulls in pytest and the standard library only."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_audioretrieval import collection, settings
from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.fixtures import (  # noqa: F401  (pytest finds fixtures in a plugin's namespace)
    CARGO,
    audio,
    dataset,
    gate,
    protocol,
    retrieval_target,
    retriever,
)

if TYPE_CHECKING:
    from pytest_audioretrieval.session import RetrievalSession

SESSION: pytest.StashKey[RetrievalSession] = pytest.StashKey()

MARKER = (
    "retrieval(models, datasets, directions, baseline): run once per model x dataset x direction; "
    "lists of model SPECs, dataset names or folders, and 't2a' / 'a2t'"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    settings.register(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    yield
    collection.claim_bare_model(early_config, parser)
    collection.add_suites(early_config, parser, args)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    # An xdist controller collects nothing itself, yet reports come to it.
    if settings.mentioned(config) or config.getoption("dist", "no") != "no":
        try:
            session_of(config)
        except RetrievalError as error:
            raise pytest.UsageError(str(error)) from None


def session_of(config: pytest.Config) -> RetrievalSession:
    """The state of this run, made on first use: a run without retrieval tests pays nothing for it.

    Raises:
        SpecError: a wrong option.
    """
    if SESSION not in config.stash:
        from pytest_audioretrieval.report.collect import Collector
        from pytest_audioretrieval.session import RetrievalSession

        config.stash[SESSION] = RetrievalSession(config)
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Collector(config.stash[SESSION]), "audioretrieval-reports")
    return config.stash[SESSION]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return collection.suite_module(module_path, parent)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "retrieval_target" not in metafunc.fixturenames:
        return
    try:
        collection.parametrize(metafunc, session_of(metafunc.config))
    except RetrievalError as error:
        # Unlike a UsageError, which ends in a traceback here.
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if call.when == "call" and CARGO in item.stash:
        # An attribute of plain values travels from an xdist worker to the controller; all workers collect alike.
        cargo = item.stash[CARGO]
        items = item.session.items
        report.retrieval = cargo | {"position": items.index(item) if item in items else len(items)}
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    if report.when == "call" and report.skipped and getattr(report, "retrieval", {}).get("record"):
        return "recorded", "R", ("RECORDED", {"yellow": True})
    return None
