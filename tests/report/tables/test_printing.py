from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.printing import render, show
from pytest_audioretrieval.report.tables.table import Body, Column, Table, bounded, joined, table

SOME = Table(
    "Title [bold]",
    (Column("form"), Column("N", "d"), *bounded("MeanRD", "+.2f"), Column("R@5", ".4f")),
    (("command [x]", 3, 1.234, -0.5, 2.0, 0.25), ("all", 4, 0.0, None, None, None)),
    note="a [note]",
)


def printed(*tables: Table) -> list[str]:
    console = Console(file=io.StringIO(), width=200, highlight=False, soft_wrap=True)
    show(console, tables)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_table_reads_like_this() -> None:
    assert printed(SOME) == [
        "",
        "Title [bold]",
        "form          N                 MeanRD      R@5",
        "───────────────────────────────────────────────",
        "command [x]   3   +1.23 [-0.50, +2.00]   0.2500",
        "all           4                  +0.00        -",
        "a [note]",
    ]


def test_json_holds_every_value_and_nothing_that_is_no_number() -> None:
    text = render("some/1", [SOME, Table("None", (), (), "does not apply")], {"candidates": "pooled"})
    assert json.loads(text) == {
        "schema": "some/1",
        "candidates": "pooled",
        "tables": [
            {
                "title": "Title [bold]",
                "note": "a [note]",
                "columns": ["form", "N", "MeanRD", "MeanRD low", "MeanRD high", "R@5"],
                "rows": [["command [x]", 3, 1.234, -0.5, 2.0, 0.25], ["all", 4, 0.0, None, None, None]],
            },
            {"title": "None", "note": "does not apply", "columns": [], "rows": []},
        ],
    }
    with pytest.raises(ValueError, match="not JSON compliant"):
        render("s", [Table("t", (Column("x", "f"),), ((float("nan"),),))], {})


def test_an_analysis_that_fails_says_why_and_a_bug_stays_a_bug() -> None:
    def refused() -> Body:
        raise DataError("too few clips")

    def broken() -> Body:
        raise ZeroDivisionError

    assert table("t", refused) == Table("t", (), (), "does not apply: too few clips")
    assert printed(table("t", refused)) == ["", "t", "does not apply: too few clips"]
    with pytest.raises(ZeroDivisionError):
        table("t", broken)


def test_notes_join_in_one_line() -> None:
    assert joined("a", "", "b") == "a; b"
