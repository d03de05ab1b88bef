"""Inventory of the store on disk: its spaces, damaged shards, and files that can be removed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from pytest_audioretrieval.base.versions import versions
from pytest_audioretrieval.embedding.store import DAMAGE, DEVICE, EMBEDDINGS, INFO, SpaceInfo, Store, read_shard
from pytest_audioretrieval.errors import SpecError, one_line

DAY = 86_400.0
#: Seconds after which the writer of an unfinished file is taken to be gone.
ABANDONED = 3_600.0


@dataclass(frozen=True)
class Space:
    """Space on disk: a folder of shards.

    Attributes:
        folder: the folder.
        info: description of the space.
        shards: files of vectors.
        size: bytes of all its files.
        used: time of the last read or write of its vectors, in seconds since the epoch.
    """

    folder: Path
    info: SpaceInfo
    shards: tuple[Path, ...]
    size: int
    used: float

    @property
    def made_on(self) -> str:
        """Machine and device that its vectors are kept for, and device that they were made on."""
        place = self.folder.parent
        with suppress(OSError):
            return f"{place.name} ({(place / DEVICE).read_text(encoding='utf-8').strip()})"
        return place.name

    @property
    def vectors(self) -> int:
        """Number of its vectors, without those of shards that cannot be read."""
        return sum(map(_rows, self.shards))

    def damaged(self) -> Iterator[Damaged]:
        """Read every byte and yield each shard that has changed since it was written, or that cannot be read."""
        for path in self.shards:
            try:
                read_shard(path)
            except FileNotFoundError:
                continue  # pruned, or removed by a run meanwhile
            except OSError as error:  # as in ``Store.get``
                yield Damaged(path, f"cannot be read ({error.strerror})", whole=True)
            except DAMAGE as error:
                yield Damaged(path, one_line(error))


@dataclass(frozen=True)
class Damaged:
    """Shard that is damaged or cannot be read.

    Attributes:
        path: its file.
        why: cause, in words.
        whole: True if the shard may be intact, but cannot be read.
    """

    path: Path
    why: str
    whole: bool = False


@dataclass(frozen=True)
class Removed:
    """File or space that ``prune`` removed.

    Attributes:
        path: its path.
        why: reason, in words.
        size: bytes that it took.
    """

    path: Path
    why: str
    size: int


def spaces(cache: Path) -> list[Space]:
    """Return all spaces below a cache folder, in the order of their paths.

    Raises:
        SpecError: nothing was ever stored there, or a folder of it cannot be read.
    """
    try:
        if (cache / EMBEDDINGS).is_dir():
            return [space for place in _folders(cache / EMBEDDINGS) for space in _read_all(*_folders(place))]
    except OSError as error:
        raise SpecError(f"{error.filename} cannot be read ({error.strerror})", remedy="see who owns it") from None
    raise SpecError(
        f"{cache} holds no embedding store",
        remedy="give --cache the folder of --retrieval-cache, or pytest's cache folder",
    )


def prune(cache: Path, *, older_than: float | None = None, keep_bytes: int | None = None) -> Iterator[Removed]:
    """Remove files of stopped processes, spaces that no run of this environment can use, and spaces over the limits.

    A run at work embeds the missing vectors again.

    Args:
        cache: cache folder.
        older_than: days without use after which a space is removed.
        keep_bytes: most bytes to keep; the spaces that were unused for longest are removed first.

    Yields:
        Each file or space as it is removed.
    """
    kept = []
    for found in spaces(cache):
        yield from _leftovers(found.folder, found.used)
        for space in _read_all(found.folder):
            if why := _useless(space, older_than):
                yield _remove(space, why)
            else:
                kept.append(space)
    excess = sum(space.size for space in kept) - keep_bytes if keep_bytes is not None else 0
    for space in sorted(kept, key=lambda space: space.used):
        if excess > 0:
            yield _remove(space, f"over {keep_bytes} bytes, and longest unused")
            excess -= space.size


def _folders(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_dir()]


def _read_all(*folders: Path) -> Iterator[Space]:
    for folder in folders:
        with suppress(FileNotFoundError):  # another process prunes as well
            yield _read(folder)


def _read(folder: Path) -> Space:
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    shards = tuple(path for path in files if path.suffix == ".npz")
    size = 0
    for path in files:
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return Space(folder, _info(folder / INFO), shards, size, folder.stat().st_mtime)


def _info(path: Path) -> SpaceInfo:
    try:
        return msgspec.json.decode(path.read_bytes(), type=SpaceInfo)
    except (OSError, msgspec.MsgspecError):
        return SpaceInfo()


def _rows(shard: Path) -> int:
    # Its bytes are not hashed here, and zipfile and numpy raise many kinds of error on damaged ones.
    with suppress(Exception), shard.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
        return len(found["keys"])
    return 0


def _leftovers(folder: Path, used: float) -> Iterator[Removed]:
    """Remove unfinished files and claims that nobody holds; the folder keeps its time of last use."""
    for path in sorted(folder.glob(".*")):
        with suppress(OSError):
            found = path.stat()
            if _abandoned(path, found.st_mtime):
                path.unlink(missing_ok=True)
                yield Removed(path, "left by a process that was stopped", found.st_size)
    with suppress(OSError):
        os.utime(folder, (used, used))


def _abandoned(path: Path, written: float) -> bool:
    if path.suffix == ".lock":
        claim = Store(path.parents[1]).claim(path.parent.name, path.stem.removeprefix("."))
        if claim is not None:
            claim.end()
        return claim is not None
    return path.suffix == ".tmp" and time.time() - written > ABANDONED


def _useless(space: Space, older_than: float | None) -> str:
    installed = versions()
    for name, version in space.info.libraries.items():
        if installed.get(name) != version:
            return f"made with {name} {version}, here is {installed.get(name, 'none')}"
    days = (time.time() - space.used) / DAY
    if older_than is not None and days > older_than:
        return f"last used {days:.0f} days ago"
    return ""


def _remove(space: Space, why: str) -> Removed:
    remove(space.folder)
    return Removed(space.folder, why, space.size)


def remove(path: Path) -> None:
    """Remove a shard or a whole space; ``SpecError`` if that is not allowed."""
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        pass  # another process prunes as well
    except OSError as error:
        raise SpecError(f"{path} cannot be removed ({error.strerror})", remedy="see who owns it") from None
