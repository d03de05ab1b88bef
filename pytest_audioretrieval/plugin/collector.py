"""Findings and recorded runs of all tests, on all xdist workers, brought together by the controlling process."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.plugin.bare_model import BARE_TAKEN

if TYPE_CHECKING:
    from pytest_audioretrieval.gate.findings import Finding
    from pytest_audioretrieval.plugin.places import Places
    from pytest_audioretrieval.plugin.settings import Settings
    from pytest_audioretrieval.report.summary import RecordedFile


class ReportWriter:
    """Plugin of the controlling process: takes what reports carry, writes baselines and reports."""

    def __init__(self, config: pytest.Config, settings: Settings, places: Places) -> None:
        self._config, self._settings, self._places = config, settings, places
        self._received: list[tuple[int, Finding]] = []
        self._findings: list[Finding] = []
        self._lines: list[str] = []
        self._recorded: dict[Path, RecordedFile] = {}
        self._unwritten: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        # Before anyone counts the report: a baseline that cannot be written fails the test that recorded it.
        results = getattr(report, "retrieval", None)
        if results is not None:
            self._receive(report, results)
        yield

    def _receive(self, report: pytest.TestReport, results: dict[str, object]) -> None:
        import msgspec

        from pytest_audioretrieval.gate.findings import Finding

        findings = msgspec.convert(results.get("findings", []), list[Finding])
        position = msgspec.convert(results["position"], int)
        self._received.extend((position, finding) for finding in findings)
        self._lines += msgspec.convert(results.get("said", []), list[str])
        record = results.get("record")
        if isinstance(record, dict):
            try:
                self._write(Path(record["path"]), record["content"], record["notes"])
            except RetrievalError as error:
                report.outcome, report.longrepr = "failed", f"{type(error).__name__}: {error}"

    def _write(self, path: Path, content: str, notes: list[str]) -> None:
        from pytest_audioretrieval.report.summary import RecordedFile
        from pytest_audioretrieval.runs import baselines

        if path not in self._recorded:
            replaced = path.exists()
            baselines.write(path, content)
            self._recorded[path] = RecordedFile(self._places.shown(path), replaced, notes)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._config.getoption("collectonly"):
            return
        if not self._received and not any(self._settings[option] for option in ("json", "markdown")):
            return
        from pytest_audioretrieval.gate.family import corrected

        # In the order of collection, whichever xdist worker came first.
        received = sorted(self._received, key=lambda pair: pair[0])
        self._findings = corrected([finding for _, finding in received])
        self._write_reports()
        if self._unwritten and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write_reports(self) -> None:
        from pytest_audioretrieval.report import json, markdown

        settings, findings = self._settings, self._findings
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
        if self._findings or self._recorded or self._lines:
            from pytest_audioretrieval.report.summary import Summary
            from pytest_audioretrieval.report.terminal import write_summary

            write_summary(terminalreporter, Summary(self._findings, list(self._recorded.values()), self._lines))
        if BARE_TAKEN in self._config.stash:
            terminalreporter.write_line(
                "audioretrieval: another plugin or conftest.py defines --model, so the models to judge are named with "
                "--retrieval-model alone",
                yellow=True,
            )
        for line in self._unwritten:
            terminalreporter.write_line(f"ERROR: {line}", red=True)
