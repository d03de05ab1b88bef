"""A text file, read strictly: bytes, then one JSON object or one row of CSV a line; an error names file and line."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pytest_audioretrieval.errors import DataError, did_you_mean

T = TypeVar("T")


def read(path: Path, *, expected: str) -> bytes:
    """All of a file.

    Args:
        expected: what should be there, for the error where nothing is.

    Raises:
        DataError: missing, unreadable, or beginning with a byte order mark.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} is missing: {expected}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    if text.startswith(codecs.BOM_UTF8):
        raise DataError(f"{path}: begins with a byte order mark: save it as UTF-8 without one")
    return text


def json_lines(text: bytes, path: Path, shape: type[T]) -> Iterator[tuple[int, T]]:
    """Line numbers, from 1, and objects; blank lines are passed over.

    Raises:
        DataError: a line that is not one JSON value of ``shape``.
    """
    for number, raw in enumerate(text.splitlines(), start=1):
        if not raw.strip():
            continue
        try:
            yield number, msgspec.json.decode(raw, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(f"{path}:{number}: {explain(error, shape)}") from None


def explain(error: Exception, shape: type[Any]) -> str:
    """The decoder's message, with the nearest field name where an unknown one was met."""
    message = str(error)
    if "unknown field" not in message:
        return message
    unknown, known = message.split("`")[1], shape.__struct_fields__
    return f"unknown field {unknown!r}: {did_you_mean(unknown, known)}known: {', '.join(known)}"


def csv_lines(
    text: bytes, path: Path, columns: Sequence[str], optional: Sequence[str] = (), *, tabs: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers, from 1 (the last line of a row that has several), and rows by column; blank lines are passed over.

    Args:
        columns: those that the header line has to name, in any order; ``optional`` those it may name.
        tabs: cells are parted by tabs and never quoted.

    Raises:
        DataError: a wrong header, a row of another length, no UTF-8, no CSV.
    """
    try:
        lines = io.StringIO(text.decode(), newline="")
    except UnicodeDecodeError as error:
        number = text.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{number}: invalid UTF-8: save the file as UTF-8") from None
    reader = csv.reader(lines, csv.excel_tab, quoting=csv.QUOTE_NONE) if tabs else csv.reader(lines, strict=True)
    header: Sequence[str] | None = None
    try:
        for cells in reader:
            if not cells:
                continue
            if header is None:
                header = cells
                check_columns(header, f"{path}:{reader.line_num}", columns, optional)
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{path}:{reader.line_num}: {len(cells)} cells, expected {len(header)} ({', '.join(header)}): "
                    + ("part cells by single tabs" if tabs else "quote a cell that holds a comma")
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: no readable CSV: {error}") from None


def check_columns(found: Sequence[str], where: str, columns: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Refuse columns other than those expected, naming both sides.

    Raises:
        DataError: one is missing, unknown or repeated.
    """
    missing = [column for column in columns if column not in found]
    unknown = [column for column in found if column not in (*columns, *optional)]
    repeated = sorted({column for column in found if found.count(column) > 1})
    wrong = [
        f"{what} {', '.join(map(repr, names))}"
        for what, names in (("missing", missing), ("unknown", unknown), ("repeated", repeated))
        if names
    ]
    if wrong:
        hint = did_you_mean(unknown[0], missing) if unknown else ""
        also = f", and optionally {', '.join(optional)}" if optional else ""
        raise DataError(f"{where}: columns {'; '.join(wrong)}: {hint}expected {', '.join(columns)}{also}")
