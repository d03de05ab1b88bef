"""A titled table of plain values, which says in one line where its analysis does not apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, ParamSpec, TypeAlias

from pytest_audioretrieval.errors import RetrievalError

Cell: TypeAlias = str | int | float | None
P = ParamSpec("P")

#: Endings of the columns that bound the one before them.
LOW, HIGH = " low", " high"


class Column(NamedTuple):
    """A heading, and the format of its numbers in print (as of ``format()``)."""

    name: str
    format: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells, one a column; None where there is no value.

    Attributes:
        title: what is shown, and which table of the paper it is.
        columns: none where the analysis does not apply.
        note: one line: what a reader must know, or why the analysis does not apply.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


class Body(NamedTuple):
    """A table without its title."""

    columns: Sequence[Column]
    rows: Iterable[Sequence[Cell]]
    note: str = ""


def table(title: str, make: Callable[P, Body], *args: P.args, **keywords: P.kwargs) -> Table:
    """Return the table that ``make`` returns under ``title``, or the line that says why it cannot be made.

    ``make`` only analyses arrays: a model or a clip that fails is no reason for an analysis not to apply.
    """
    try:
        columns, rows, note = make(*args, **keywords)
    except RetrievalError as error:
        return Table(title, (), (), f"does not apply: {error}")
    return Table(title, tuple(columns), tuple(tuple(row) for row in rows), note)


def bounded(name: str, form: str) -> tuple[Column, Column, Column]:
    """Return the columns of a value and of the ends of its 95 % interval."""
    return Column(name, form), Column(name + LOW, form), Column(name + HIGH, form)


def joined(*notes: str) -> str:
    """Return notes in one line."""
    return "; ".join(note for note in notes if note)
