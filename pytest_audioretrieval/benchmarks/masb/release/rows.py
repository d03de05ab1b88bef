"""Rows of MASB's CSV files as checked values; errors name the file, the line and the column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from pytest_audioretrieval.benchmarks.masb.caption_set import STYLES
from pytest_audioretrieval.data.lines import csv_lines, read
from pytest_audioretrieval.data.texts import query_text
from pytest_audioretrieval.errors import DataError, did_you_mean

#: Timbre, role (lead or accompaniment), order of first appearance (MASB, 2.1).
Axis = Literal["T", "R", "O"]
#: Names that become part of a file's name.
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
#: At most a day, so that infinity is refused.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]

#: Column -> its few allowed values.
_VALUES: dict[str, Sequence[str]] = {"axis": get_args(Axis), "style": STYLES}

T = TypeVar("T", bound=msgspec.Struct)


def rows(path: Path, shape: type[T], *, optional: Sequence[str] = ()) -> Iterator[tuple[str, T]]:
    """Yield ``FILE:LINE`` and value of each row; white space around a cell is stripped.

    Args:
        shape: its fields are the columns that the file has to have.
        optional: columns that the file may have; they are not kept.

    Raises:
        DataError: the file, its header or a row is not as described.
    """
    columns = [field.encode_name for field in msgspec.structs.fields(shape)]
    text = read(path, remedy=f"name a CSV file with the columns {', '.join(columns)}")
    for number, row in csv_lines(text, path, columns, optional):
        where = f"{path}:{number}"
        cells = {column: query_text(row[column], f"{where}: {column}") for column in columns}
        try:
            yield where, _value(cells, shape)
        except DataError as error:
            raise error.about(where) from None


def once(seen: dict[str, str], key: str, where: str) -> None:
    """Note the place of ``key``.

    Raises:
        DataError: the key has a place already.
    """
    if key in seen:
        raise DataError(
            f"{where}: {key!r} stands on line {seen[key].rpartition(':')[2]} already", remedy="remove one of them"
        )
    seen[key] = where


def _value(cells: dict[str, str], shape: type[T]) -> T:
    fields = msgspec.structs.fields(shape)
    return shape(**{field.name: _cell(field.encode_name, cells[field.encode_name], field.type) for field in fields})


def _cell(column: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        if not text:
            raise DataError(f"{column} is empty", remedy="fill it or remove the row") from None
        if known := _VALUES.get(column):
            hint = did_you_mean(text, known)
            raise DataError(
                f"{column} is {text!r}", expected=f"one of {', '.join(known)}", remedy=f"{hint}correct it"
            ) from None
        raise DataError(f"{column} is {text!r} ({error})", remedy="correct the cell") from None
