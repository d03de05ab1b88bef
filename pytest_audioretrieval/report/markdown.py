"""The table as Markdown, for a pull request or a CI job summary."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from pytest_audioretrieval.report.columns import FOOTNOTE, HEADINGS, cells, heading, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_audioretrieval.gate import Finding


def render(findings: list[Finding]) -> str:
    """A table of all findings; under it, the queries that lost most of each claim that failed."""
    lines = ["## Retrieval", "", _row(HEADINGS), "|" + " --- |" * len(HEADINGS)]
    lines += [_row(cells(finding)) for finding in findings]
    if any(verdict(f).endswith("*") for f in findings):
        lines += ["", _escape(FOOTNOTE)]
    for finding in findings:
        if finding.losers:
            lines += ["", f"### {_escape(finding.metric)} of {_escape(heading(finding))}", ""]
            lines += [_row(("query", "rank before", "rank now", "first now")), "| --- | --- | --- | --- |"]
            lines += [_row((q.shown, str(q.before), str(q.after), q.first)) for q in finding.losers]
    return "\n".join(lines) + "\n\n"


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(_escape(value) for value in values) + " |"


def _escape(text: str) -> str:
    """Captions are foreign text: no HTML, no Markdown, no line break, at most 200 characters."""
    short = text if len(text) <= 200 else text[:199] + "…"
    safe = html.escape(" ".join(short.split()), quote=False)
    for mark in "\\`*_[]|!~$":
        safe = safe.replace(mark, "\\" + mark)
    return safe
