"""Terminal, JSON, Markdown, JUnit: what they hold, and what becomes of a path that cannot be written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_audioretrieval.gate.findings import Finding
from pytest_audioretrieval.gate.losing import LostQuery
from tests.plugin.toys import Project, counts, has_traceback, write_clips


@pytest.fixture
def lost(project: Project) -> Project:
    """A project whose R@1 is certain to have fallen."""
    project.record()
    project.wrong(12)
    return project


def strict(path: Path) -> Any:
    """JSON without NaN and without a key twice."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    text = path.read_text(encoding="utf-8")
    return json.loads(text, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"), object_pairs_hook=unique)


@pytest.mark.slow
def test_json_holds_every_finding_with_every_field(lost: Project) -> None:
    lost.run("--retrieval-json", "deep/out.json")
    report = strict(lost.path / "deep/out.json")
    assert report["schema"] == "pytest-audioretrieval/findings/1"
    findings = report["findings"]
    assert [f["metric"] for f in findings] == ["R@1", "R@5", "R@10"]
    assert all(set(f) == set(Finding.__struct_fields__) for f in findings)
    first = findings[0]
    assert first["test"] == "test_toys.py::test_not_inferior[R@1-toy:Toy-toys-t2a]"
    assert (first["baseline_value"], first["new_value"], first["clusters"], first["queries"]) == (1, 0.7, 40, 80)
    assert first["difference"] == pytest.approx(-0.3)
    assert (first["verdict"], first["holds"], first["changed"]) == ("regressed", False, 24)
    assert first["low"] < first["difference"] < first["high"] < 0
    assert 0 < first["p_regressed"] <= first["p_corrected"] <= 0.05
    assert len(first["losers"]) == 5
    assert set(first["losers"][0]) == set(LostQuery.__struct_fields__)


def test_json_is_written_when_nothing_was_judged(project: Project) -> None:
    """A report of yesterday must not stand for today's run."""
    (project.path / "out.json").write_text("yesterday")
    assert project.run("--retrieval-json", "out.json").ret == 1
    assert strict(project.path / "out.json")["findings"] == []


def test_collecting_only_leaves_reports_alone(project: Project) -> None:
    (project.path / "out.json").write_text("yesterday")
    project.run("--retrieval-json", "out.json", "--collect-only")
    assert (project.path / "out.json").read_text() == "yesterday"


@pytest.mark.slow
def test_p_values_are_corrected_over_the_endpoints_of_a_run(lost: Project) -> None:
    """Holm by hand: the smallest times 3, the next times 2, the last as it is, each at least the one before."""
    lost.run("--retrieval-json", "out.json")
    findings = strict(lost.path / "out.json")["findings"]
    raw = sorted(f["p_regressed"] for f in findings)
    expected: list[float] = []
    for rank, p in enumerate(raw):
        expected.append(max([min(1.0, p * (3 - rank)), *expected]))
    assert sorted(f["p_corrected"] for f in findings) == pytest.approx(expected)


def test_the_terminal_table(lost: Project) -> None:
    result = lost.run()
    headings = ["metric", "baseline", "new", "difference", "interval", "margin", "verdict"]
    start = next(i for i, line in enumerate(result.outlines) if line.split() == headings)
    table = [line for line in result.outlines[start : start + 5] if "──" not in line]
    assert re.fullmatch(
        r"R@1 +1\.0000 +0\.7000 +-0\.3000 +\[-0\.\d{4}, -0\.\d{4}\] +0\.03 +regressed", table[1].rstrip()
    )
    assert [row.split()[0] for row in table[1:]] == ["R@1", "R@5", "R@10"]
    assert result.outlines[start - 1] == "toy:Toy on toys t2a"


def test_markdown_shows_the_table_and_who_lost(lost: Project) -> None:
    lost.run("--retrieval-markdown", "out.md")
    lines = (lost.path / "out.md").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["## Retrieval", ""]
    assert lines[2].startswith("| model | dataset | direction | metric | baseline | new |")
    assert lines[4].startswith("| toy:Toy | toys | t2a | R@1 | 1.0000 | 0.7000 | -0.3000 | ")
    assert "### R@1 of toy:Toy on toys t2a" in lines
    assert sum(line.startswith("| tone ") for line in lines) >= 5


NASTY = "1 <script>alert('x')</script> | a | [click](http://x) `code` *b* $a$\n## heading \x1b[31m"


@pytest.fixture
def nasty(project: Project) -> Project:
    """Lost queries whose captions are anything but plain text."""
    folder = write_clips(project.path / "nasty", [NASTY.replace("1", str(n), 1) for n in range(1, 13)])
    project.ini(clips=folder)
    project.record()
    project.wrong(12)
    return project


def test_markdown_escapes_captions(nasty: Project) -> None:
    nasty.run("--retrieval-markdown", "out.md")
    text = (nasty.path / "out.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if "alert" in line]
    assert rows
    assert "<" not in text
    for row in rows:
        assert "&lt;script&gt;" in row
        unescaped = re.sub(r"\\.", "", row)
        assert unescaped.count("|") == 5, "four cells"
        assert not set("`*[]$") & set(unescaped)
    assert not any(line.startswith("## heading") for line in text.splitlines())


def test_the_terminal_shows_captions_without_control_codes(nasty: Project) -> None:
    result = nasty.run()
    shown = [line for line in result.outlines if "alert" in line]
    assert shown
    assert all("\x1b" not in line for line in shown)
    assert not any(line.startswith("## heading") for line in result.outlines)


def test_an_id_with_control_codes_is_refused(project: Project) -> None:
    folder = write_clips(project.path / "odd", clips=1)
    line = json.loads((folder / "captions.jsonl").read_text())
    (folder / "captions.jsonl").write_text(json.dumps(line | {"id": "\x1b[31mred"}))
    project.ini(clips=folder)
    result = project.run("--retrieval-record", "new")
    assert (result.ret, counts(result)) == (1, {"failed": 3})
    assert "\x1b" not in result.stdout.str()
    result.stdout.fnmatch_lines([r"DataError: *captions.jsonl:1: clip id *x1b?31mred*"])


def test_the_terminal_shows_a_baseline_without_control_codes(lost: Project) -> None:
    """Whoever can change a stored run must not write to the terminal of whoever judges against it."""
    path = lost.path / "baselines/toys/t2a/toy%3AToy.json"
    stored = json.loads(path.read_text())
    stored["environment"]["torch"] = "\x1b[31m1.0"
    path.write_text(json.dumps(stored))
    result = lost.run()
    assert "\x1b" not in result.stdout.str()
    result.stdout.fnmatch_lines(["  torch \N{REPLACEMENT CHARACTER}[[]31m1.0 -> *"])


def test_json_keeps_captions_as_they_are(nasty: Project) -> None:
    nasty.run("--retrieval-json", "out.json")
    shown = [query["shown"] for query in strict(nasty.path / "out.json")["findings"][0]["losers"]]
    assert any(text.endswith("## heading \x1b[31m") for text in shown)


@pytest.mark.slow
def test_the_job_summary_is_appended_to(lost: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = lost.path / "summary.md"
    summary.write_text("what another step wrote\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    lost.run()
    lost.run()
    lines = summary.read_text().splitlines()
    assert lines[0] == "what another step wrote"
    assert lines.count("## Retrieval") == 2


def test_the_job_summary_is_left_alone_where_nothing_was_judged(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = project.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    project.run()
    assert not summary.exists()


def test_junit_has_properties_and_the_failure(lost: Project) -> None:
    lost.run("--junitxml", "out.xml")
    cases = ElementTree.parse(lost.path / "out.xml").getroot().findall(".//testcase")
    assert [case.get("name") for case in cases] == [f"test_not_inferior[R@{k}-toy:Toy-toys-t2a]" for k in (1, 5, 10)]
    properties = {p.get("name"): p.get("value") for p in cases[0].iter("property")}
    assert properties["retrieval_R@1_verdict"] == "regressed"
    assert float(properties["retrieval_R@1_difference"] or "") == pytest.approx(-0.3)
    assert set(properties) == {f"retrieval_R@1_{key}" for key in ("verdict", "difference", "low", "high", "margin")}
    failure = cases[0].find("failure")
    assert failure is not None
    assert "queries that lost most (rank before -> now):" in (failure.text or "")


@pytest.mark.slow
@pytest.mark.parametrize("option", ["json", "markdown"])
@pytest.mark.parametrize("path", ["taken/out", "."], ids=["below a file", "a folder"])
def test_a_report_that_cannot_be_written_is_one_line_and_an_exit_code(project: Project, option: str, path: str) -> None:
    project.record()
    (project.path / "taken").write_text("a regular file")
    result = project.run(f"--retrieval-{option}", path)
    assert (result.ret, counts(result)) == (1, {"passed": 3})
    lines = [line for line in result.outlines if line.startswith("ERROR: ")]
    assert len(lines) == 1
    assert re.fullmatch(
        rf"ERROR: --retrieval-{option}: .* was not written \(.*\): name a file in a folder .*", lines[0]
    )
    assert not has_traceback(result)


@pytest.mark.slow
def test_one_report_that_fails_does_not_cost_the_other(project: Project) -> None:
    project.record()
    assert project.run("--retrieval-json", ".", "--retrieval-markdown", "out.md").ret == 1
    assert (project.path / "out.md").is_file()


@pytest.mark.slow
def test_a_job_summary_that_cannot_be_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.record()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path))
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["ERROR: $GITHUB_STEP_SUMMARY: * was not written (Is a directory): *"])


@pytest.mark.slow
def test_a_star_marks_a_loss_that_the_correction_does_not_bear_out(project: Project) -> None:
    """Verdicts are per endpoint; the footnote says which of them the run as a whole does not show."""
    from pytest_audioretrieval.report.columns import FOOTNOTE

    project.record()
    project.wrong(12)
    result = project.run()
    assert FOOTNOTE not in result.stdout.str()
    assert not any(line.endswith("regressed*") for line in result.outlines)
