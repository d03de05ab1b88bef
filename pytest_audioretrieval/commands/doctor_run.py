"""Targets of a command line of pytest, as pytest itself collects them, with its ini files, markers and suites."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_audioretrieval.base.importing import BESIDE, beside
from pytest_audioretrieval.errors import RetrievalError, SpecError, one_line
from pytest_audioretrieval.plugin.collection import CollectionRefused
from pytest_audioretrieval.plugin.session import session_of

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.session import RetrievalSession
    from pytest_audioretrieval.plugin.targets import Target

#: Claims that compare with a stored run, and claims that compare with something else.
COMPARING, ABSOLUTE = {"non_inferior", "equivalent", "superior"}, {"above_chance", "consistent"}


class Row(NamedTuple):
    """One thing that a command line needs; ``next`` says what to do where it is missing."""

    what: str
    name: str
    found: str
    next: str = ""


class Needs(NamedTuple):
    """Stored things that the tests of one target compare it with.

    Attributes:
        run: whether it is a stored run.
        costs: whether it is stored costs of throughput; only the tests know which, when they run.
    """

    run: bool = False
    costs: bool = False


NeedsByTarget = dict["Target", Needs]
Check = Callable[["RetrievalSession", NeedsByTarget], list[Row]]


def examine(arguments: Sequence[str], check: Check) -> list[Row]:
    """Return the rows of ``check`` for the targets that ``pytest arguments`` collects, and one a collection error.

    Args:
        arguments: those of ``pytest``, which may stand before them; after ``python -m pytest`` those of that, which
            finds modules of the current folder as well.

    Raises:
        SpecError: pytest does not start, or collects no test of ours.
    """
    plugin, said = _Collected(check), io.StringIO()
    program = Path(arguments[0]) if arguments else Path()
    started = program.name.startswith("python") and [*arguments[1:3]] == ["-m", "pytest"]
    said_first = 3 if started else int(program.name == "pytest" and not program.is_dir())
    with redirect_stdout(said), redirect_stderr(said), nullcontext() if started else _without_this_folder():
        code = _collected([*arguments[said_first:], "--collect-only"], plugin)
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        lines = [line for line in said.getvalue().splitlines() if line.strip()]
        raise SpecError(f"pytest does not start with these arguments: {_error(lines)}")
    if plugin.error is not None:
        raise plugin.error
    if not plugin.rows:
        raise SpecError(
            "this command line asks for no retrieval test", remedy="add --model SPEC, or the path of such tests"
        )
    return plugin.rows


def _collected(arguments: list[str], plugin: _Collected) -> int:
    try:
        return pytest.main(arguments, plugins=[plugin])
    except SystemExit as error:  # of a conftest.py: the doctor would end with it, and say nothing
        found = f"pytest does not start with these arguments: it is left with exit code {error.code}"
        raise SpecError(found, remedy="mend the conftest.py that exits") from None


@contextmanager
def _without_this_folder() -> Iterator[None]:
    """Set the path as ``pytest`` has it: ``python -m``, which started the doctor, looks for modules here first."""
    before = sys.path[:]
    if not sys.flags.safe_path and sys.path[0] in ("", str(Path.cwd())):
        del sys.path[0]
    try:
        yield
    finally:
        sys.path[:] = before


def _error(lines: Sequence[str]) -> str:
    """Return the line that says why pytest does not start; argparse says its usage first."""
    for mark in (": error: ", "ERROR: "):
        for line in lines:
            if mark in line:
                return line.partition(mark)[2]
    inside = [line for line in lines if line.startswith("INTERNALERROR>")]
    if inside:
        return inside[-1].removeprefix("INTERNALERROR>").strip()
    return lines[-1] if lines else "it says nothing"


class _Collected:
    def __init__(self, check: Check) -> None:
        self._check = check
        self.rows: list[Row] = []
        self.error: Exception | None = None
        self._raised: dict[str, BaseException] = {}

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]) -> None:
        if call.excinfo is not None:
            self._raised[node.nodeid] = call.excinfo.value

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.rows.append(_refused(report, self._raised.get(report.nodeid)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # Here and not later: the paths that pytest put before all others are still there.
        try:
            asked, nameless = _targets(session.items)
            self.rows += [
                Row("tests", item.nodeid, "no model is named", "add --model SPEC, or ini retrieval_model")
                for item in nameless
            ]
            if asked:
                self.rows += self._check(session_of(session.config), asked)
        except RetrievalError as error:
            self.error = error
        except Exception as error:
            self.error = SpecError(f"the doctor failed ({type(error).__name__}: {one_line(error)}): report it")


def _targets(items: Sequence[pytest.Item]) -> tuple[NeedsByTarget, list[pytest.Item]]:
    asked: NeedsByTarget = {}
    nameless: list[pytest.Item] = []
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "retrieval_target" not in parameters:
            continue
        target = parameters["retrieval_target"]
        if target is None:
            nameless.append(item)
        else:
            known = asked.get(target, Needs())
            asked[target] = Needs(known.run or _compares(item), known.costs or _asks_for(item, "throughput"))
    return asked, nameless


def _compares(item: pytest.Item) -> bool:
    """Return whether a test needs a stored run; a test that claims something through a helper is taken to."""
    if not _asks_for(item, "gate"):
        return False
    code = getattr(getattr(item, "function", None), "__code__", None)
    names = set(code.co_names) if code else set()
    return bool(names & COMPARING) or not names & ABSOLUTE


def _asks_for(item: pytest.Item, fixture: str) -> bool:
    return fixture in getattr(item, "fixturenames", ())


def _refused(report: pytest.CollectReport, raised: BaseException | None) -> Row:
    """Return the row of a file or test that cannot be collected."""
    if isinstance(raised, CollectionRefused):
        return Row("tests", report.nodeid, raised.error.problem, raised.error.remedy or "correct it")
    cause = raised.__cause__ if raised is not None else None
    lines = [line for line in report.longreprtext.splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")] or lines[-1:] or [""]
    said = errors[-1 if errors[0].startswith('File "') else 0]  # a syntax error is said after its place
    absent = cause.name if isinstance(cause, ModuleNotFoundError) else None
    here = absent is not None and beside(absent.partition(".")[0])
    return Row(
        "tests", report.nodeid, said, BESIDE if here else f"pytest --collect-only {report.nodeid} shows all of it"
    )
