"""What a command line of pytest asks for: pytest itself collects it, with its ini files, markers and suites."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_audioretrieval.base.importing import BESIDE, beside
from pytest_audioretrieval.errors import RetrievalError, SpecError, one_line
from pytest_audioretrieval.plugin.session import session_of

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.session import RetrievalSession
    from pytest_audioretrieval.plugin.targets import Target

#: Claims that compare with a stored run, and claims that compare with something else.
COMPARING, ABSOLUTE = {"non_inferior", "equivalent", "superior"}, {"above_chance", "consistent"}
#: What Python says of a module that it does not find.
NO_MODULE = re.compile(r"No module named '([^'.]+)'")


class Row(NamedTuple):
    """One thing that a command line needs; ``next`` says what to do where it is missing."""

    what: str
    name: str
    found: str
    next: str = ""


class Needs(NamedTuple):
    """What the tests of one target compare it with.

    Attributes:
        run: whether it is a stored run.
        figures: whether it is stored figures of throughput; only the tests know which, when they run.
    """

    run: bool = False
    figures: bool = False


Asked = dict["Target", Needs]
Check = Callable[["RetrievalSession", Asked], list[Row]]


def examine(arguments: Sequence[str], check: Check) -> list[Row]:
    """The rows of ``check`` for what ``pytest arguments`` collects, and one for each test that cannot be collected.

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
        raise SpecError("this command line asks for no retrieval test: add --model SPEC, or the path of such tests")
    return plugin.rows


def _collected(arguments: list[str], plugin: _Collected) -> int:
    try:
        return pytest.main(arguments, plugins=[plugin])
    except SystemExit as error:  # of a conftest.py: the doctor would end with it, and say nothing
        raise SpecError(f"pytest does not start with these arguments: it is left with exit code {error.code}") from None


@contextmanager
def _without_this_folder() -> Iterator[None]:
    """The path as ``pytest`` has it: ``python -m``, which started the doctor, looks for modules here first."""
    before = sys.path[:]
    if not sys.flags.safe_path and sys.path[0] in ("", str(Path.cwd())):
        del sys.path[0]
    try:
        yield
    finally:
        sys.path[:] = before


def _error(lines: Sequence[str]) -> str:
    """Which of the lines of a pytest that does not start says why; argparse says its usage first."""
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

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            lines = [line for line in report.longreprtext.splitlines() if line.strip()]
            errors = [line[1:].strip() for line in lines if line.startswith("E ")] or lines[-1:] or [""]
            said = errors[-1 if errors[0].startswith('File "') else 0]  # a syntax error is said after its place
            _, install, packages = said.rpartition(": pip install ")
            then = f"pip install {packages}" if install else f"pytest --collect-only {report.nodeid} shows all of it"
            absent = NO_MODULE.search(said)
            then = BESIDE if absent and beside(absent[1]) else then
            self.rows.append(Row("tests", report.nodeid, said.removesuffix(f": {then}"), then))

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


def _targets(items: Sequence[pytest.Item]) -> tuple[Asked, list[pytest.Item]]:
    asked: Asked = {}
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
            asked[target] = Needs(known.run or _compares(item), known.figures or _asks_for(item, "throughput"))
    return asked, nameless


def _compares(item: pytest.Item) -> bool:
    """Whether a test needs a stored run; one that claims something by way of a helper is taken to."""
    if not _asks_for(item, "gate"):
        return False
    code = getattr(getattr(item, "function", None), "__code__", None)
    names = set(code.co_names) if code else set()
    return bool(names & COMPARING) or not names & ABSOLUTE


def _asks_for(item: pytest.Item, fixture: str) -> bool:
    return fixture in getattr(item, "fixturenames", ())
