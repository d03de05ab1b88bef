"""Clips of sound files in a folder, with paths that stay inside it."""

from __future__ import annotations

import errno
import hashlib
from collections import defaultdict
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import stamp
from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.errors import AudioError, DataError

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Waveform


def inside(folder: Path, audio: str, where: str) -> Path:
    """Return the file at ``audio``, a path relative to ``folder``; links are followed.

    Raises:
        DataError: the path is absolute, or leads outside of the folder; names ``where``.
    """
    root = folder.resolve()
    relative = PurePosixPath(audio)
    try:
        path = (root / relative).resolve() if "\0" not in audio else root.parent
    except (OSError, RuntimeError):
        raise DataError(
            f"{where}: audio path {audio!r} cannot be followed (a loop of links?)", remedy="name a file"
        ) from None
    if relative.is_absolute() or not path.is_relative_to(root) or path == root:
        raise DataError(f"{where}: audio path {audio!r} leaves {folder}", remedy="use a path inside the folder")
    return path


def file_clip(folder: Path, audio: str, name: str, where: str) -> Clip:
    """Return the clip ``name`` of the file at ``audio``, a path relative to ``folder``: hashed, not decoded.

    Raises:
        DataError: there is no such file inside the folder, or it cannot be read; names ``where``.
    """
    path = inside(folder, audio, where)
    try:
        return clip_of(path, name)
    except FileNotFoundError:
        raise DataError(f"{where}: audio file {audio!r} is missing", remedy="add it or remove the line") from None
    except OSError as error:
        raise DataError(
            f"{where}: audio file {audio!r} cannot be read ({error.strerror})", remedy="restore it or remove the line"
        ) from None


def clip_of(path: Path, name: str) -> Clip:
    """Return the clip ``name`` of a file: hashed, not decoded.

    Raises:
        OSError: the file cannot be read.
    """
    before = stamp(path)
    if not path.is_file():  # reading a pipe would block
        raise OSError(errno.EINVAL, "a folder, pipe or device")
    digest = _digest(path)
    return Clip(name, digest, partial(_read, path, name, digest, before), path)


def by_stem(folder: Path) -> dict[str, list[str]]:
    """Map the part before the first dot to the file names at the top of a folder; empty where it is no folder."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file() and not path.name.startswith("."):
            found[path.name.partition(".")[0]].append(path.name)
    return found


def only_file(names: list[str], folder: Path) -> str | None:
    """Return the one name, or None where there is none.

    Raises:
        DataError: there are several names.
    """
    if len(names) > 1:
        raise DataError(f"{folder}: {' and '.join(names)} are files of one recording", remedy="keep one")
    return names[0] if names else None


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(path: Path, name: str, digest: str, before: tuple[int, ...]) -> Waveform:
    """Decode the file if it still holds what was hashed: its vector is stored under that hash."""
    from pytest_audioretrieval.audio.decode import decode

    with suppress(OSError):  # ``decode`` says what cannot be read
        if stamp(path) != before and _digest(path) != digest:
            raise AudioError(f"clip {name!r}: {path} changed since the dataset was loaded", remedy="run again")
    return decode(path, name=name)
