"""The table at the end of a run."""

from __future__ import annotations

import io
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
    import pytest
    from rich.table import Table

    from pytest_audioretrieval.gate.findings import Finding
    from pytest_audioretrieval.report.summary import Summary
    from pytest_audioretrieval.runs.form_rows import FormRow

COLOURS = {
    "identical": "green",
    "equivalent": "green",
    "improved": "bold green",
    "non_inferior": "green",
    "consistent": "green",
    "above_chance": "green",
    "inconclusive": "yellow",
    "regressed": "bold red",
    "inconsistent": "bold red",
    "below_chance": "bold red",
}
#: Columns that the heading of each run says once: model, dataset, direction.
SAID = 3
#: Wider than any table: what a terminal has no room for, it wraps, and figures cut short would be lost.
WIDTH = 1000


def write_summary(terminal: pytest.TerminalReporter, summary: Summary) -> None:
    """Print one table a run, then what tests tell, and what was recorded."""
    from rich.console import Console

    terminal.section("retrieval", sep="=")
    marked = terminal.hasmarkup
    console = Console(
        file=io.StringIO(),
        force_terminal=marked,
        no_color=not marked,
        width=WIDTH,
        highlight=False,
        soft_wrap=True,
    )
    for title, group in groupby(summary.findings, key=heading):
        findings = list(group)
        console.print(title, style="bold", markup=False)
        for note in findings[0].notes:
            console.print(f"  {note}", style="dim", markup=False)
        console.print(_table(findings))
        if findings[0].forms:
            console.print(form_legend(findings[0].forms), markup=False)
            console.print(_forms(findings[0].forms))
    if any(row.heavy_tailed for finding in summary.findings for row in finding.forms):
        console.print(HEAVY, markup=False)
    if any(verdict(f).endswith("*") for f in summary.findings):
        console.print(FOOTNOTE, markup=False)
    for line in summary.lines:
        console.print(line, markup=False)
    for file in summary.recorded:
        then = "look at the difference and commit it" if file.replaced else "new, commit it"
        console.print(f"recorded {file.path}: {then}", markup=False)
        for note in file.notes:
            console.print(f"  {note}", style="dim", markup=False)
    for line in console.file.getvalue().splitlines():  # type: ignore[attr-defined]
        terminal.write_line(line.rstrip())


def _table(findings: list[Finding]) -> Table:
    from rich.text import Text

    table = empty_table(HEADINGS[SAID:], left=("metric", "verdict"))
    for finding in findings:
        *values, last = cells(finding)[SAID:]
        table.add_row(*map(Text, values), Text(last, style=COLOURS.get(finding.verdict, "")))
    return table


def _forms(rows: list[FormRow]) -> Table:
    from rich.text import Text

    table = empty_table(FORM_HEADINGS, left=("form",))
    for row in rows:
        table.add_row(*map(Text, form_cells(row)))
    return table


def empty_table(headings: tuple[str, ...], left: tuple[str, ...]) -> Table:
    """Return an empty table, figures right and the columns ``left`` left."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in headings:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    return table
