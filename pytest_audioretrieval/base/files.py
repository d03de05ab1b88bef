"""Atomic writes, file stamps, and paths with ``~``."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` whole or not at all: temporary file in the same folder, fsync, rename.

    On any failure, and when the process is stopped, ``path`` stays as it was.

    Raises:
        OSError: the file was not written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that change when ``path`` is written or replaced; the file is not read.

    A copy may set the time of the last write back, and a new file may get the inode of a removed one; the file system
    itself sets the time of the last change (``st_ctime_ns``).
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def expanded(path: str | Path) -> Path:
    """Return ``path`` with ``~`` or ``~name`` replaced by that user's home; unchanged if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
