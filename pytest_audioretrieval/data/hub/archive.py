"""Rows of tar archives (WebDataset): members that share a name make one row.

Archives are read as streams and never unpacked.

Columns are called as the library ``datasets`` calls them: ``__key__`` is the name of a sample, ``flac`` its member with
that ending, ``json.short`` a field of its JSON member.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import weakref
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import IO, Any

from pytest_audioretrieval.data.hub.download import Part
from pytest_audioretrieval.data.hub.sounds import Row, Sound
from pytest_audioretrieval.errors import DataError, one_line

ENDINGS = (".tar", ".tar.gz", ".tgz")
KEY = "__key__"
#: Size limit of a member that is read as text, in bytes.
_LONGEST = 2**20
#: Bytes to hold, so that two threads, one a clip behind the other, do not start the archive again.
_HELD = 2**22


def rows(part: Part, columns: Sequence[str], audio: str | None = None) -> Iterator[Row]:
    """Yield the samples of one archive in the order in which they begin, like ``parquet.rows``.

    Args:
        audio: ending of the sounds.

    Raises:
        DataError: the archive cannot be read, or a member or field is missing or occurs twice.
    """
    texts = {column.partition(".")[0] for column in columns} - {KEY}
    asked = sorted({*texts, audio} if audio else texts)
    for key, found in _samples(part, asked, audio).items():
        where = f"{part.name}, {key}"
        missing = next((ending for ending in asked if ending not in found), None)
        if missing:
            raise DataError(f"{where}: no member ends in .{missing}", expected="one", remedy="name another commit")
        yield Row(where, {column: _cell(column, key, found, where) for column in columns}, found.get(audio or ""))


def _samples(part: Part, asked: Sequence[str], audio: str | None) -> dict[str, dict[str, Any]]:
    """Map the name of each sample to its texts and its sound, by ending; sounds are hashed and not held."""
    samples: dict[str, dict[str, Any]] = defaultdict(dict)
    with _opening(part), tarfile.open(part.path, "r|*") as archive:
        for member in archive:
            key, _, ending = PurePosixPath(member.name).name.partition(".")
            if member.isdir() or ending not in asked:
                continue
            where = f"{part.name}, {key}"
            stream = archive.extractfile(member) if member.isreg() and not member.issparse() else None
            if stream is None:
                raise DataError(
                    f"{part.name}: member {member.name!r} is a link or device",
                    expected="a plain file",
                    remedy="name another commit",
                )
            if ending in samples[key]:
                raise DataError(f"{where}: two members end in .{ending}", expected="one", remedy="name another commit")
            if ending == audio:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
                content = partial(_content, part.path, member.offset_data, member.size)
                samples[key][ending] = Sound(digest, where, content)
            else:
                samples[key][ending] = _text(member, stream, where)
    return samples


@contextmanager
def _opening(part: Part) -> Iterator[None]:
    try:
        yield
    # A header that is cut short is a TypeError.
    except (tarfile.TarError, OSError, EOFError, zlib.error, TypeError) as error:
        raise DataError(
            f"{part.name} cannot be read as a tar archive ({one_line(error)})", remedy="remove it from the hub's cache"
        ) from None


def _text(member: tarfile.TarInfo, stream: IO[bytes], where: str) -> str:
    if member.size > _LONGEST:
        raise DataError(
            f"{where}: {member.name!r} holds {member.size} bytes",
            expected=f"a text of {_LONGEST} or fewer",
            remedy="name another commit",
        )
    try:
        return stream.read().decode()
    except UnicodeDecodeError:
        raise DataError(f"{where}: {member.name!r} is no text in UTF-8", remedy="name another commit") from None


def _cell(column: str, key: str, found: dict[str, Any], where: str) -> Any:
    ending, dot, field = column.partition(".")
    if column == KEY or not dot:
        return key if column == KEY else found[ending]
    try:
        content = json.loads(found[ending])
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: .{ending} is no JSON ({one_line(error)})", remedy="name another commit") from None
    if not isinstance(content, dict) or field not in content:
        there = ", ".join(content) if isinstance(content, dict) else type(content).__name__
        raise DataError(
            f"{where}: .{ending} holds {there}", expected=f"a field {field!r}", remedy="name another field or commit"
        )
    return content[field]


def _content(path: Path, start: int, size: int) -> bytes:
    return _opened(path).read(start, size)


class _Unpacked:
    """The decompressed bytes of an archive: reading forwards is cheap, far backwards starts again."""

    def __init__(self, path: Path) -> None:
        raw: Any = tarfile.open(path).fileobj  # noqa: SIM115
        self._bytes = io.BufferedReader(raw, _HELD)
        weakref.finalize(self, self._bytes.close)
        self._lock = Lock()

    def read(self, start: int, size: int) -> bytes:
        with self._lock:
            self._bytes.seek(start)
            return self._bytes.read(size)


@lru_cache(maxsize=1)
def _opened(path: Path) -> _Unpacked:
    """Return the archive opened last: clips are read in document order, so one at a time is enough."""
    return _Unpacked(path)
