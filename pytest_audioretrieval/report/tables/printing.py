"""Tables for a terminal and for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.report.tables.table import HIGH, LOW, Cell, Column, Table
from pytest_audioretrieval.report.terminal import empty_table

if TYPE_CHECKING:
    from rich.console import Console


def render(schema: str, tables: Sequence[Table], about: dict[str, Any]) -> str:
    """Return strict JSON: ``schema``, the keys of ``about``, then ``tables``, a row a line."""
    head = [f'  "schema": {_json(schema)}', *(f"  {_json(key)}: {_json(value)}" for key, value in about.items())]
    body = _list("  ", '"tables"', [_rendered(table) for table in tables])
    return "{\n" + ",\n".join([*head, body]) + "\n}\n"


def show(console: Console, tables: Sequence[Table]) -> None:
    """Print each table under its title, its note below it."""
    from rich.text import Text

    for table in tables:
        console.print()
        console.print(table.title, style="bold", markup=False)
        if table.columns:
            headings = tuple(column.name for column in table.columns if not _is_end(column))
            left = tuple(column.name for column in table.columns if not column.format)
            printed = empty_table(headings, left=left)
            for row in table.rows:
                printed.add_row(*map(Text, _texts(table.columns, row)))
            console.print(printed)
        if table.note:
            console.print(table.note, style="dim", markup=False)


def _rendered(table: Table) -> str:
    fields = {"title": table.title, "note": table.note, "columns": [column.name for column in table.columns]}
    head = [f"      {_json(key)}: {_json(value)}" for key, value in fields.items()]
    rows = _list("      ", '"rows"', [f"        {_json(row)}" for row in table.rows])
    return "    {\n" + ",\n".join([*head, rows]) + "\n    }"


def _list(indent: str, name: str, entries: Sequence[str]) -> str:
    inside = "\n" + ",\n".join(entries) + f"\n{indent}" if entries else ""
    return f"{indent}{name}: [{inside}]"


def _json(value: object) -> str:
    # NaN is no JSON, and a writer that turns it into null would hide it.
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _is_end(column: Column) -> bool:
    return column.name.endswith((LOW, HIGH))


def _texts(columns: Sequence[Column], row: Sequence[Cell]) -> list[str]:
    """Return one text a heading: the ends of an interval join the value before them."""
    found: list[str] = []
    for column, cell in zip(columns, row, strict=True):
        text = "-" if cell is None else format(cell, column.format)
        if not _is_end(column):
            found.append(text)
        elif cell is not None:
            found[-1] += f" [{text}" if column.name.endswith(LOW) else f", {text}]"
    return found
