"""Files: written whole or not at all, whatever stops the process that writes; whether one is what it was; paths."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write by a temporary file in the same folder, fsync and rename; on any failure ``path`` stays as it was.

    Raises:
        OSError: it was not written.
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
    """Changes when ``path`` is written or replaced, as far as the file system tells, without reading it.

    Who copies may set the time of the last write back, and a new file may get the number of one that was removed; the
    time of the last change of either is the system's own.
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def expanded(path: str | Path) -> Path:
    """``path`` with ``~`` or ``~name`` as the home of that user; as it is where there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
