"""Embedding store: vectors by content, in shards that are written whole or not at all.

A *space* holds the vectors of one model, protocol and set of library versions: all that a vector depends on besides the
clip or text itself. Each space is a folder of shards. A shard is an ``.npz`` of keys and vectors whose file name is the
sha256 of its bytes, so a flipped bit or a cut file is found before its vectors are used.

The key of a recording is the digest of its file's bytes, not of its samples: the samples follow from the bytes and the
decoder's version, which is part of the space. A hit therefore decodes nothing, which is 5 (FLAC) to 150 times (OGG)
less work for each clip of a warm run; in return the same samples in another container are embedded once more. The key
of a rendered clip, which has no file, is the digest of its samples.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import platform
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.files import write_atomically
from pytest_audioretrieval.base.versions import versions
from pytest_audioretrieval.errors import one_line
from pytest_audioretrieval.pinning.protocol import Protocol

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from pytest_audioretrieval.models.types import ModelIdentity

Vectors = npt.NDArray[np.float32]
#: Folder of all vectors in a cache.
EMBEDDINGS = "embeddings"
#: File that names the device. A run that finds every vector loads no model, and so has no device of its own.
DEVICE = "device"
#: File of a space that describes it.
INFO = "space.json"
#: Number to raise when code of this package changes vectors or the meaning of a row, so that old and new never mix.
REVISION = "3"
#: Errors of a file system without locks.
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
#: Errors of reading a damaged shard.
DAMAGE = (OSError, ValueError, KeyError, zipfile.BadZipFile)


def space(weights_sha256: str, protocol: Protocol, kind: str) -> str:
    """Return the name of the space of a model, a protocol and a ``kind`` (``audio``, ``pairs``, ...).

    The versions of the installed libraries are part of it.
    """
    installed = [f"{name} {version}" for name, version in versions().items()]
    parts = [weights_sha256, protocol.fingerprint, kind, REVISION, *installed]
    return f"{kind}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:32]}"


def read_shard(path: Path) -> dict[str, Vectors]:
    """Return the vectors of a shard by key; a damaged one raises one of ``DAMAGE``."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != path.stem:
        raise ValueError("damaged, its bytes are not those it was named after")
    with np.load(io.BytesIO(content), allow_pickle=False) as shard:
        return dict(zip(shard["keys"].tolist(), shard["vectors"], strict=True))


def place(cache: Path | None, device: str) -> Path | None:
    """Return the folder of the vectors that this kind of machine makes on ``device``, as the user named it.

    Vectors of one device are never used for another, so that a change of device is measured.
    """
    return cache / EMBEDDINGS / f"{platform.machine()}-{device}".replace(":", "-") if cache else None


@dataclass(frozen=True)
class SpaceInfo:
    """Description of a space, for people; ``"?"`` if the space has no such file."""

    model: str = "?"
    revision: str | None = None
    weights_sha256: str = "?"
    protocol: str = "?"
    settings: Mapping[str, Any] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)


class Claim:
    """Lock on a piece of a space; ends with ``end``, or with the process, however that ends."""

    def __init__(self, lock: BaseFileLock | None) -> None:
        self._lock = lock

    def end(self) -> None:
        """Release the piece.

        A process that locks the removed file afterwards reads the store first, and finds the vectors there.
        """
        if self._lock is not None:
            with suppress(OSError):
                Path(self._lock.lock_file).unlink()
            self._lock.release()


class Store:
    """Store of vectors under ``folder``, or nowhere if it is None.

    It never fails a run: a folder that cannot be written costs one warning.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._infos: dict[str, SpaceInfo] = {}
        self._lockable = True

    def space(self, identity: ModelIdentity, protocol: Protocol, kind: str) -> str:
        """Return the name of a space, see ``space``; its description is written with its first vectors."""
        where = space(identity.weights_sha256, protocol, kind)
        self._infos[where] = SpaceInfo(
            identity.id, identity.revision, identity.weights_sha256, protocol.name, protocol.settings(), versions()
        )
        return where

    def get(self, where: str, seen: set[str] | None = None) -> dict[str, Vectors]:
        """Return all vectors of a space by key; damaged shards are removed, and their items embedded anew.

        Args:
            where: name of the space.
            seen: names of shards to leave out; those that are read now are added.
        """
        found: dict[str, Vectors] = {}
        seen = set() if seen is None else seen
        for path in self._shards(where, seen):
            try:
                found.update(read_shard(path))
                seen.add(path.name)
            except FileNotFoundError:
                continue  # another process found it damaged first
            except OSError as error:  # of the disk, or too many open files: the shard may be intact
                seen.add(path.name)
                warnings.warn(f"{path} cannot be read ({error.strerror}): its vectors are made anew", stacklevel=2)
            except DAMAGE as error:
                with suppress(OSError):
                    path.unlink()
                warnings.warn(f"{path}: {one_line(error)}: removed, its vectors are made anew", stacklevel=2)
        if found and self._folder:
            with suppress(OSError):  # a cache without write permission
                os.utime(self._folder / where)  # its time of last use
        return found

    def _shards(self, where: str, seen: set[str]) -> list[Path]:
        if self._folder is None:
            return []
        folder = self._folder / where
        with suppress(OSError), os.scandir(folder) as files:
            names = {file.name for file in files if file.name.endswith(".npz")}
            return [folder / name for name in sorted(names - seen)]
        return []

    def claim(self, where: str, name: str) -> Claim | None:
        """Lock the piece ``name`` of a space; return None while another process holds it.

        If the file system has no locks, every process gets the piece: the work is done twice, with a warning.
        """
        if self._folder is None or not self._lockable:
            return Claim(None)
        from filelock import FileLock, Timeout

        path = self._folder / where / f".{name}.lock"
        lock = FileLock(str(path))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            return None
        except (OSError, NotImplementedError) as error:
            if isinstance(error, NotImplementedError) or error.errno in NO_LOCKS:
                self._lockable = False
                warnings.warn(
                    f"{self._folder} cannot be locked ({one_line(error)}): runs at the same time embed the same clips",
                    stacklevel=2,
                )
            return Claim(None)  # ``put`` warns of a folder that cannot be written
        return Claim(lock)

    def holds(self, where: str) -> bool:
        """Return whether the store has any shard of a space; no shard is read."""
        return self._folder is not None and any((self._folder / where).glob("*.npz"))

    @property
    def device(self) -> str | None:
        """Device that the stored vectors were made on, or None if there are none."""
        try:
            return (self._folder / DEVICE).read_text(encoding="utf-8").strip() if self._folder else None
        except OSError:
            return None

    def made_on(self, device: str) -> None:
        """Note the device that the next vectors are made on."""
        if self._folder is not None and self.device != device:
            with suppress(OSError):  # ``put`` warns of a folder that cannot be written
                self._folder.mkdir(parents=True, exist_ok=True)
                (self._folder / DEVICE).write_text(device, encoding="utf-8")

    def put(self, where: str, keys: Sequence[str], vectors: Vectors) -> str:
        """Write one shard atomically and return its name, or ``""`` without a folder; equal shards are one file."""
        if self._folder is None:
            return ""
        content = io.BytesIO()
        np.savez(content, keys=np.asarray(keys, dtype=np.str_), vectors=np.asarray(vectors, dtype=np.float32))
        data = content.getvalue()
        path = self._folder / where / f"{hashlib.sha256(data).hexdigest()}.npz"
        try:
            write_atomically(path, data)
            _describe(path.with_name(INFO), self._infos.get(where))
        except OSError as error:
            unwritable, self._folder = self._folder, None
            warnings.warn(
                f"{unwritable} does not keep vectors ({error.strerror}): they are embedded anew next time",
                stacklevel=2,
            )
        return path.name


def _describe(path: Path, info: SpaceInfo | None) -> None:
    if info is not None and not path.exists():
        write_atomically(path, json.dumps(asdict(info), indent=1).encode())
