"""The table as Markdown, for a pull request or a CI job summary."""

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

    from pytest_audioretrieval.form_rows import FormRow
    from pytest_audioretrieval.gate import Finding


def render(findings: list[Finding]) -> str:
    """A table of all findings; under it, the queries that lost most of each claim that failed."""
    lines = ["## Retrieval", "", _row(HEADINGS), "|" + " --- |" * len(HEADINGS)]
    lines += [_row(cells(finding)) for finding in findings]
    if any(verdict(f).endswith("*") for f in findings):
        lines += ["", _escape(FOOTNOTE)]
    for title, group in groupby(findings, key=heading):
        lines += _forms(title, next(group).forms)
    for finding in findings:
        if finding.losers:
            lines += ["", f"### {_escape(finding.metric)} of {_escape(heading(finding))}", ""]
            lines += [f"Why: {_escape(': '.join(finding.causes))}.", ""] if finding.causes else []
            lines += [_row(("query", "rank before", "rank now", "first now")), "| --- | --- | --- | --- |"]
            lines += [_row((q.shown, str(q.before), str(q.after), q.first)) for q in finding.losers]
    return "\n".join(lines) + "\n\n"


def _forms(title: str, rows: list[FormRow]) -> list[str]:
    if not rows:
        return []
    table = [_row(FORM_HEADINGS), "|" + " --- |" * len(FORM_HEADINGS), *(_row(form_cells(row)) for row in rows)]
    heavy = ["", _escape(HEAVY)] if any(row.heavy_tailed for row in rows) else []
    return ["", f"### Forms of {_escape(title)}", "", _escape(form_legend(rows)), "", *table, *heavy]


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(_escape(value) for value in values) + " |"


def _escape(text: str) -> str:
    """Captions are foreign text: no HTML, no Markdown, no line break, at most 200 characters."""
    short = text if len(text) <= 200 else text[:199] + "…"
    safe = html.escape(" ".join(short.split()), quote=False)
    for mark in "\\`*_[]|!~$":
        safe = safe.replace(mark, "\\" + mark)
    return safe
