"""The object behind the fixture ``throughput``: holds the cost of a checkpoint against its stored cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_audioretrieval.errors import BaselineError, SpecError
from pytest_audioretrieval.gate.throughput import (
    ALLOWED,
    FOLDER,
    Cost,
    check,
    compared,
    cost,
    encode,
    one_thread,
    read,
    reference,
    seconds,
)
from pytest_audioretrieval.plugin.results import add_line, record_and_skip
from pytest_audioretrieval.plugin.throughput_needs import ONE_TAKE

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.session import RetrievalSession
    from pytest_audioretrieval.plugin.targets import Target

ROUNDS = 10


class Throughput:
    """Holds the cost of a checkpoint against its stored cost; a test asks for it as ``throughput``."""

    def __init__(self, session: RetrievalSession, target: Target, device: str, request: pytest.FixtureRequest) -> None:
        self._session, self._target, self._device, self._request = session, target, device, request
        self._judged = ""

    def judge(self, work: Callable[[], object], items: int, what: str) -> Cost:
        """Time ``work``, which does ``items`` at once; fail where one costs over ``ALLOWED`` times the stored cost.

        ``--retrieval-record`` writes the cost instead, and the test is skipped as recorded: one that is missing, with
        ``changed`` also one that would fail. ``--retrieval-baseline`` is not read: a cost is of its own model.

        Args:
            what: one of the items, such as ``clip``. A model has one cost of it, whatever the dataset.

        Raises:
            SpecError: no items, a name that is none, or a second cost in one test.
            BaselineError: the stored cost is damaged, or not comparable.
        """
        __tracebackhide__ = True
        check(items, what)
        if self._judged:  # pytest-benchmark times one thing a test
            raise SpecError(
                f"{what} is judged after {self._judged}", expected="one cost a test", remedy="give each its own"
            )
        self._judged = what
        session, model = self._session, self._target.model
        shelf = session.places.shelf
        path, own = shelf.find(FOLDER, what, model.slug), shelf.target(FOLDER, what, model.slug)
        record = session.recorder.mode
        if path is None and not record:
            command = session.command(model.text, "--retrieval-record", "new")
            pytest.fail(f"no cost of a {what} of {model.id} is stored: record it with: {command}", pytrace=False)
        found = self._measured(work, items)
        # What an earlier test of this run has recorded is not judged against itself.
        if path is None or record == "all" or (record and session.recorder.written_now(own)):
            self._record(found, own)
        self._hold(found, path, what, own if record == "changed" else None)
        return found

    def _hold(self, found: Cost, path: Path, what: str, own: Path | None) -> None:
        """Compare with the stored cost; where it does not hold, record it as ``own``, or fail the test."""
        __tracebackhide__ = True
        try:
            stored = read(path)
            said = f"a {what} of {self._target.model.id} {compared(found, stored, self._session.places.shown(path))}"
        except BaselineError:
            if own is None:
                raise
            self._record(found, own)
        if found.cost <= ALLOWED * stored.cost:
            add_line(self._request.node, said)
            return
        if own is not None:
            self._record(found, own)
        then = "find what became slower, or record with --retrieval-record changed"
        pytest.fail(f"{said}; expected at most {ALLOWED:g} times: {then}", pytrace=False)

    def _record(self, found: Cost, own: Path) -> NoReturn:
        record_and_skip(self._request.node, own, encode(found), self._session.places.shown(own))

    def _measured(self, work: Callable[[], object], items: int) -> Cost:
        """Time ``work``, and the reference before each round, as it empties caches: a query after another is faster."""
        kind, taken, references = self._device.partition(":")[0], list[float](), list[float]()
        workload, benchmark = reference(self._device), self._request.getfixturevalue("benchmark")
        if benchmark.disabled:  # one take of each, and the first is always slower
            benchmark(lambda: None)  # it warns where it is not used
            pytest.skip(ONE_TAKE)
        benchmark.extra_info["items"] = items
        with one_thread(kind):
            benchmark.pedantic(
                lambda: taken.append(seconds(work, kind)),
                setup=lambda: references.append(seconds(workload, kind)),
                rounds=ROUNDS,
                warmup_rounds=2,
            )
        return Cost(device=kind, protocol=self._session.protocol.name, cost=cost(taken, references, items))
