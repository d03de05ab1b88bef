"""Rows of MASB's CSV files as checked values; an error names the file, the line and the column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

import msgspec

from pytest_audioretrieval.data.lines import csv_lines, read
from pytest_audioretrieval.data.texts import query_text
from pytest_audioretrieval.errors import DataError, did_you_mean

#: Timbre, role (lead or accompaniment), order of first appearance (MASB, 2.1).
Axis = Literal["T", "R", "O"]
#: The two caption formats: a strict template and a natural rewrite of the same content.
Style = Literal["strict", "natural"]
STYLES: tuple[Style, ...] = get_args(Style)
#: What becomes part of a file's name.
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
#: At most a day: what has no end is no length.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]

T = TypeVar("T", bound=msgspec.Struct)


def rows(path: Path, shape: type[T], *, optional: Sequence[str] = ()) -> Iterator[tuple[str, T]]:
    """``FILE:LINE`` and value of each row; white space around a cell is stripped.

    Args:
        shape: its fields are the columns that have to be there.
        optional: columns that may be there; they are not kept.

    Raises:
        DataError: the file, its header or a row is not as described.
    """
    columns = [field.encode_name for field in msgspec.structs.fields(shape)]
    text = read(path, remedy=f"name a CSV file with the columns {', '.join(columns)}")
    for number, row in csv_lines(text, path, columns, optional):
        where = f"{path}:{number}"
        cells = {column: query_text(row[column], f"{where}: {column}") for column in columns}
        try:
            yield where, msgspec.convert(cells, shape, strict=False)
        except msgspec.ValidationError as error:
            raise DataError(f"{where}: {_told(str(error), cells)}") from None


def once(seen: dict[str, str], key: str, where: str) -> None:
    """Note where ``key`` stands.

    Raises:
        DataError: it stood somewhere before.
    """
    if key in seen:
        raise DataError(f"{where}: {key!r} stands on line {seen[key].rpartition(':')[2]} already: remove one of them")
    seen[key] = where


def _told(message: str, cells: dict[str, str]) -> str:
    """msgspec's message, with the cell it is about."""
    reason, _, place = message.partition(" - at `$.")
    column = place.rstrip("`")
    if column not in cells:
        return reason
    found, known = cells[column], {"axis": get_args(Axis), "style": STYLES}.get(column)
    if not found:
        return f"{column} is empty: fill it or remove the row"
    if known:
        return f"{column} {found!r}: {did_you_mean(found, known)}expected one of {', '.join(known)}"
    return f"{column} {found!r}: {reason[0].lower()}{reason[1:]}: correct the cell"
