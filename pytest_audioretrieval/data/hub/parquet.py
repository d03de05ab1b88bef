"""Rows of parquet files: texts are read, sounds are hashed, and decoded only on demand.

Peak memory is a few times that of one row group's sounds (pyarrow decompresses a whole page), never that of all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from pytest_audioretrieval.data.hub.download import Part
from pytest_audioretrieval.data.hub.sounds import Row, Sound
from pytest_audioretrieval.errors import DataError, one_line

#: Rows to hold at once while a file is hashed.
_BATCH = 32
#: Two threads that need the next row group at the same time read it once, and never hold two.
_READING = Lock()


def rows(part: Part, columns: Sequence[str], audio: str | None = None) -> Iterator[Row]:
    """Yield the rows of one file; ``where`` numbers them from 0, as hubs show them.

    Args:
        columns: names of those to read; ``a.b`` is field ``b`` of a struct.
        audio: name of the column of sounds, a struct with ``bytes``.

    Raises:
        DataError: the file cannot be read, a column is missing, or a row holds no sound.
    """
    wanted = [*columns, *([f"{audio}.bytes"] if audio else [])]
    number = 0
    with _opened(part) as file:
        _check(file.schema_arrow, part, wanted)
        for group in range(file.num_row_groups):
            row = 0
            for batch in file.iter_batches(batch_size=_BATCH, row_groups=[group], columns=wanted):
                cells = {column: _cells(batch, column) for column in columns}
                for at in range(batch.num_rows):
                    where = f"{part.name}, row {number}"
                    sound = _sound(batch.column(audio)[at], part.path, audio, group, row, where) if audio else None
                    yield Row(where, {column: values[at] for column, values in cells.items()}, sound)
                    number, row = number + 1, row + 1


def columns_of(part: Part) -> list[str]:
    """Return the names of the columns of a file."""
    with _opened(part) as file:
        return list(file.schema_arrow.names)


@contextmanager
def _opened(part: Part) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(
            "pyarrow is not installed, and datasets of a hub are parquet files",
            remedy="pip install 'pytest-audioretrieval[hub]'",
        ) from None
    try:
        with ParquetFile(part.path) as file:
            yield file
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{part.name} cannot be read as a parquet file ({one_line(error)})", remedy="remove it from the hub's cache"
        ) from None


def _check(schema: Any, part: Part, columns: Sequence[str]) -> None:
    for column in columns:
        name, dot, field = column.partition(".")
        if name not in schema.names:
            raise DataError(
                f"{part.name}: columns are {', '.join(schema.names)}",
                expected=repr(name),
                remedy="name another column or commit",
            )
        kind = schema.field(name).type
        if dot and field not in {kind.field(i).name for i in range(kind.num_fields)}:
            raise DataError(
                f"{part.name}: column {name!r} is {kind}",
                expected=f"a struct with {field!r}",
                remedy="name another column or commit",
            )


def _cells(batch: Any, column: str) -> list[Any]:
    name, _, field = column.partition(".")
    values: list[Any] = batch.column(name).to_pylist() if not field else batch.column(name).field(field).to_pylist()
    return values


def _sound(cell: Any, path: Path, column: str, group: int, row: int, where: str) -> Sound:
    content = cell["bytes"] if cell.is_valid else None
    if content is None or not content.is_valid:
        raise DataError(
            f"{where}: column {column!r} holds no bytes of a sound",
            expected="sounds inside the file",
            remedy="name another column or commit",
        )
    digest = hashlib.sha256(content.as_buffer()).hexdigest()
    return Sound(digest, where, partial(_content, path, column, group, row))


def _content(path: Path, column: str, group: int, row: int) -> bytes:
    with _READING:
        content: bytes = _sounds(path, group, column)[row]["bytes"].as_py()
    return content


@lru_cache(maxsize=1)
def _sounds(path: Path, group: int, column: str) -> Any:
    """Return the sounds of a row group: clips are read in document order, so each group is read once."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return file.read_row_group(group, columns=[f"{column}.bytes"]).column(column)
