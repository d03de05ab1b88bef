"""Findings as Markdown, for a pull request or a CI job summary."""

from __future__ import annotations

import html
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_audioretrieval.report.columns import (
    FOOTNOTE,
    FORM_HEADINGS,
    HEADINGS,
    HEAVY,
    cells,
    form_cells,
    form_legend,
    heading,
    verdict,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_audioretrieval.gate.findings import Finding
    from pytest_audioretrieval.runs.form_rows import FormRow


def render(findings: list[Finding]) -> str:
    """Return a table of all findings; below it, chance, and the queries that lost most of each claim that failed."""
    lines = ["## Retrieval", "", _row(HEADINGS), "|" + " --- |" * len(HEADINGS)]
    lines += [_row(cells(finding)) for finding in findings]
    if any(verdict(f).endswith("*") for f in findings):
        lines += ["", _escape(FOOTNOTE)]
    for title, group in groupby(findings, key=heading):
        lines += _forms(title, next(group).forms)
    for finding in findings:
        if finding.losers or finding.chance:
            lines += ["", f"### {_escape(finding.metric)} of {_escape(heading(finding))}", "", *_details(finding)]
    return "\n".join(lines) + "\n\n"


def _details(finding: Finding) -> list[str]:
    """Return the lines on chance, on the reasons of a loss, and on the queries that lost most."""
    lines = [f"- {_escape(line)}" for line in finding.chance]
    lines += [f"Why: {_escape(': '.join(finding.causes))}.", ""] if finding.causes else []
    if finding.losers:
        # Some data tell what should have ranked first, and which constraint the first breaks.
        more = ("should have", "breaks") if any(query.right for query in finding.losers) else ()
        headings = ("query", "rank before", "rank now", "first now", *more)
        lines += [_row(headings), "|" + " --- |" * len(headings)]
        for query in finding.losers:
            told = (query.right, query.why) if more else ()
            lines.append(_row((query.shown, str(query.before), str(query.after), query.first, *told)))
    return lines


def _forms(title: str, rows: list[FormRow]) -> list[str]:
    if not rows:
        return []
    table = [_row(FORM_HEADINGS), "|" + " --- |" * len(FORM_HEADINGS), *(_row(form_cells(row)) for row in rows)]
    heavy = ["", _escape(HEAVY)] if any(row.heavy_tailed for row in rows) else []
    return ["", f"### Forms of {_escape(title)}", "", _escape(form_legend(rows)), "", *table, *heavy]


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(_escape(value) for value in values) + " |"


def _escape(text: str) -> str:
    """Return foreign text, such as a caption, without HTML, Markdown or line breaks, at most 200 characters long."""
    short = text if len(text) <= 200 else text[:199] + "…"
    safe = html.escape(" ".join(short.split()), quote=False)
    for mark in "\\`*_[]|!~$":
        safe = safe.replace(mark, "\\" + mark)
    return safe
