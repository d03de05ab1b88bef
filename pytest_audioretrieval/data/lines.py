"""A text file, read strictly: bytes, then one JSON object a line; an error names the file and the line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
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
