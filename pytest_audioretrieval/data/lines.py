"""Strict readers of text files: bytes, JSON lines and CSV rows; errors name the file and the line."""

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


def read(path: Path, *, remedy: str) -> bytes:
    """Return the content of a file.

    Args:
        remedy: what to do where there is no such file.

    Raises:
        DataError: the file is missing, cannot be read, or begins with a byte order mark.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} is missing", remedy=remedy) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", remedy="name a file that can") from None
    if text.startswith(codecs.BOM_UTF8):
        raise DataError(f"{path} begins with a byte order mark", remedy="save it as UTF-8 without one")
    return text


def json_lines(text: bytes, path: Path, shape: type[T]) -> Iterator[tuple[int, T]]:
    """Yield the number, from 1, and the object of each line; blank lines are skipped.

    Raises:
        DataError: a line is not one JSON value of ``shape``.
    """
    for number, raw in enumerate(text.splitlines(), start=1):
        if not raw.strip():
            continue
        try:
            yield number, msgspec.json.decode(raw, type=shape)
        except msgspec.ValidationError as error:
            raise misshapen(error, _untyped(raw), shape).about(f"{path}:{number}") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(f"{path}:{number}: {error}", remedy="write one JSON object a line") from None


def _untyped(raw: bytes) -> object:
    """Return the JSON value of ``raw``; None where something behind the first error is no JSON."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def misshapen(error: msgspec.ValidationError, value: object, shape: type[Any]) -> DataError:
    """Return the error for a decoded ``value`` that does not fit ``shape``; an unknown field shows the nearest name."""
    known = getattr(shape, "__struct_fields__", ())
    unknown = next((field for field in value if field not in known), None) if isinstance(value, dict) else None
    if not known or unknown is None:
        return DataError(str(error), remedy="correct it")
    return DataError(f"unknown field {unknown!r}", remedy=f"{did_you_mean(unknown, known)}use {', '.join(known)}")


def csv_lines(
    text: bytes, path: Path, columns: Sequence[str], optional: Sequence[str] = (), *, tabs: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row's last line, from 1, and the row by column; blank lines are skipped.

    Args:
        columns: those that the header line has to name, in any order; ``optional`` those it may name.
        tabs: cells are separated by tabs and never quoted.

    Raises:
        DataError: the header is wrong, a row has another length, or the text is no UTF-8 or no CSV.
    """
    try:
        lines = io.StringIO(text.decode(), newline="")
    except UnicodeDecodeError as error:
        number = text.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{number}: invalid UTF-8", remedy="save the file as UTF-8") from None
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
                    f"{path}:{reader.line_num}: {len(cells)} cells",
                    expected=f"{len(header)} ({', '.join(header)})",
                    remedy="separate cells by single tabs" if tabs else "quote a cell that holds a comma",
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: no readable CSV ({error})", remedy="correct the line") from None


def check_columns(found: Sequence[str], where: str, columns: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Refuse columns other than ``columns`` and ``optional``, naming what was found and what is expected.

    Raises:
        DataError: a column is missing, unknown or repeated.
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
        raise DataError(
            f"{where}: columns {'; '.join(wrong)}",
            expected=f"{', '.join(columns)}{also}",
            remedy=f"{hint}correct the header",
        )
