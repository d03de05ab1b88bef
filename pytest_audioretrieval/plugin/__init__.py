"""Hooks and options. At import this pulls in pytest and the standard library only."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.plugin import bare_model, collection, settings, suites
from pytest_audioretrieval.plugin.fixtures import (  # noqa: F401  (pytest finds fixtures in a plugin's namespace)
    audio,
    dataset,
    gate,
    protocol,
    retrieval_target,
    retriever,
    throughput,
)
from pytest_audioretrieval.plugin.results import RESULTS

MARKER = (
    "retrieval(models, datasets, directions, baseline): run once per model x dataset x direction; "
    "lists of model SPECs, dataset names or folders, and directions such as 't2a' and 'a2t'"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    settings.register(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    yield
    bare_model.claim_bare_model(early_config, parser)
    suites.add_suites(early_config, parser, args)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    # An xdist controller collects nothing itself, yet reports come to it.
    if settings.mentioned(config) or config.getoption("dist", "no") != "no":
        from pytest_audioretrieval.plugin.session import session_of

        try:
            session_of(config)
        except RetrievalError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_report_header(config: pytest.Config) -> str | None:
    names = config.stash.get(suites.UNASKED, [])
    if not names or names == [suites.NO_SUITE]:
        return None
    return f"audioretrieval: packaged suite {', '.join(names)} (a suite of your own runs when its path is given)"


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return suites.suite_module(module_path, parent)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if not collection.rests_on_target(metafunc):
        return
    from pytest_audioretrieval.plugin.session import session_of

    try:
        collection.parametrize(metafunc, session_of(metafunc.config))
    except RetrievalError as error:
        raise collection.CollectionRefused(error, metafunc.definition.nodeid) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    if call.excinfo is not None and isinstance(call.excinfo.value, RetrievalError):
        call.excinfo = _without_traceback(call.excinfo.value)
    report = yield
    if call.when == "call" and RESULTS in item.stash:
        # An attribute of plain values travels from an xdist worker to the controller; all workers collect alike.
        results = item.stash[RESULTS]
        # An item that is run again, as plugins for flaky tests do, starts anew.
        del item.stash[RESULTS]
        items = item.session.items
        report.retrieval = results | {"position": items.index(item) if item in items else len(items)}
        # pytest repeats a failure's message in its summary, in CI at any length: there one line is enough.
        if crash := getattr(report.longrepr, "reprcrash", None):
            crash.message = crash.message.partition("\n")[0]
    return report


def _without_traceback(error: RetrievalError) -> pytest.ExceptionInfo[BaseException]:
    """Return an error of ours without its traceback: its one line says everything."""
    told = pytest.fail.Exception(f"{type(error).__name__}: {error}", pytrace=False)
    return pytest.ExceptionInfo.from_exception(told.with_traceback(error.__traceback__))


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    if report.when == "call" and report.skipped and getattr(report, "retrieval", {}).get("record"):
        return "recorded", "R", ("RECORDED", {"yellow": True})
    return None
