"""Where the findings and recorded runs of all tests, on all xdist workers, come together."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.plugin import collection

if TYPE_CHECKING:
    from pytest_audioretrieval.gate.judging import Finding
    from pytest_audioretrieval.plugin.session import RetrievalSession


class Collector:
    """A plugin of the controlling process: takes what reports carry, writes baselines and reports."""

    def __init__(self, state: RetrievalSession) -> None:
        self.state = state
        self._received: list[tuple[int, Finding]] = []
        self._unwritten: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        # Before anyone counts the report: a baseline that cannot be written fails the test that recorded it.
        cargo = getattr(report, "retrieval", None)
        if cargo is not None:
            self._receive(report, cargo)
        yield

    def _receive(self, report: pytest.TestReport, cargo: dict[str, object]) -> None:
        import msgspec

        from pytest_audioretrieval.gate.judging import Finding

        findings = msgspec.convert(cargo.get("findings", []), list[Finding])
        position = msgspec.convert(cargo["position"], int)
        self._received.extend((position, finding) for finding in findings)
        self.state.said += msgspec.convert(cargo.get("said", []), list[str])
        record = cargo.get("record")
        if isinstance(record, dict):
            try:
                self._write(Path(record["path"]), record["content"])
                self.state.record_notes[Path(record["path"])] = record["notes"]
            except RetrievalError as error:
                report.outcome, report.longrepr = "failed", f"{type(error).__name__}: {error}"

    def _write(self, path: Path, content: str) -> None:
        from pytest_audioretrieval.runs import baselines

        if path not in self.state.recorded:
            known = path.exists()
            baselines.write(path, content)
            self.state.recorded[path] = known

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.state.config.getoption("collectonly"):
            return
        if not self._received and not any(self.state.settings[option] for option in ("json", "markdown")):
            return
        # In the order of collection, whichever xdist worker came first.
        received = sorted(self._received, key=lambda pair: pair[0])
        self.state.findings = corrected([finding for _, finding in received])
        self._write_reports()
        if self._unwritten and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write_reports(self) -> None:
        from pytest_audioretrieval.report import json, markdown

        settings, findings = self.state.settings, self.state.findings
        for option, render in (("json", json.render), ("markdown", markdown.render)):
            if settings[option]:
                self._report(settings.path(option), "w", f"--retrieval-{option}", render(findings))
        if findings and (step_summary := os.environ.get("GITHUB_STEP_SUMMARY")):
            self._report(Path(step_summary), "a", "$GITHUB_STEP_SUMMARY", markdown.render(findings))

    def _report(self, path: Path, mode: str, source: str, content: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open(mode, encoding="utf-8") as stream:
                stream.write(content)
        except OSError as error:
            self._unwritten.append(
                f"{source}: {path} was not written ({error.strerror}): name a file in a folder that can be written"
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.state.findings or self.state.recorded or self.state.said:
            from pytest_audioretrieval.report.terminal import summary

            summary(terminalreporter, self.state)
        if collection.BARE_TAKEN in self.state.config.stash:
            terminalreporter.write_line(
                "audioretrieval: another plugin or conftest.py defines --model, so the models to judge are named with "
                "--retrieval-model alone",
                yellow=True,
            )
        for line in self._unwritten:
            terminalreporter.write_line(f"ERROR: {line}", red=True)


def corrected(findings: list[Finding]) -> list[Finding]:
    """Give every finding its p-value corrected (Holm) over the endpoints of its run."""
    import msgspec

    from pytest_audioretrieval.stats.multiplicity import holm

    runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, finding in enumerate(findings):
        if finding.p_regressed is not None:
            runs[finding.run].append(position)
    result = list(findings)
    for positions in runs.values():
        adjusted = holm([findings[i].p_regressed or 0.0 for i in positions])
        for i, p in zip(positions, adjusted, strict=True):
            result[i] = msgspec.structs.replace(findings[i], p_corrected=float(p))
    return result
