"""The embedding store: vectors by content, in shards that are written at once or not at all.

A *space* is what a vector depends on besides the clip or text itself: weights, protocol, library versions. Each
space is a folder of shards; a shard is an ``.npz`` of keys and vectors whose file name holds the sha256 of its bytes,
so a flipped bit or a cut file is found before it is believed.

A recording is known by the bytes it is decoded from, not by its samples: its samples follow from them and the decoder's
version, which the space holds, and a hit decodes nothing. That is 5 (FLAC) to 150 times (OGG) less work for each clip
of a warm run; in return the same samples in another container are embedded once more. What is rendered and has no file
is known by its samples.
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
#: File that names the device; a run that finds every vector loads no model, and so knows no device of its own.
DEVICE = "device"
#: File of a space that says what it is.
ABOUT = "space.json"
#: Raised when code of ours moves vectors or changes what a row means, so that old and new are never mixed.
REVISION = "3"
#: What a file system without locks answers.
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
#: What reading a shard that is not what it should be ends in.
DAMAGE = (OSError, ValueError, KeyError, zipfile.BadZipFile)


def space(weights_sha256: str, protocol: Protocol, kind: str) -> str:
    """Name of the space of a model, protocol and ``kind`` (``audio``, ``pairs``, ...) under the libraries installed."""
    installed = [f"{name} {version}" for name, version in versions().items()]
    parts = [weights_sha256, protocol.fingerprint, kind, REVISION, *installed]
    return f"{kind}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:32]}"


def read_shard(path: Path) -> dict[str, Vectors]:
    """Vectors by key; one of ``DAMAGE`` where its bytes are not those it was named after."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != path.stem:
        raise ValueError("damaged, its bytes are not those it was named after")
    with np.load(io.BytesIO(content), allow_pickle=False) as shard:
        return dict(zip(shard["keys"].tolist(), shard["vectors"], strict=True))


def place(cache: Path | None, device: str) -> Path | None:
    """Folder of the vectors made on ``device`` as the user named it, by this kind of machine.

    A change of device is to be measured, not answered with the vectors of another one.
    """
    return cache / EMBEDDINGS / f"{platform.machine()}-{device}".replace(":", "-") if cache else None


@dataclass(frozen=True)
class About:
    """What the file of a space says of it, for people; ``"?"`` where there is no such file."""

    model: str = "?"
    revision: str | None = None
    weights_sha256: str = "?"
    protocol: str = "?"
    settings: Mapping[str, Any] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)


class Claim:
    """The right to make a piece of a space; ends with ``end``, or with the process, however that ends."""

    def __init__(self, lock: BaseFileLock | None) -> None:
        self._lock = lock

    def end(self) -> None:
        """Let others have it. Who holds the removed file by now finds in the store what was made."""
        if self._lock is not None:
            with suppress(OSError):
                Path(self._lock.lock_file).unlink()
            self._lock.release()


class Store:
    """Vectors under ``folder``, or nowhere if it is None. Never fails a run: what it cannot keep it says once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._about: dict[str, About] = {}
        self._lockable = True

    def space(self, identity: ModelIdentity, protocol: Protocol, kind: str) -> str:
        """Name of a space (see ``space``); the first vectors put there come with a file that says what it is."""
        where = space(identity.weights_sha256, protocol, kind)
        self._about[where] = About(
            identity.id, identity.revision, identity.weights_sha256, protocol.name, protocol.settings(), versions()
        )
        return where

    def get(self, where: str, seen: set[str] | None = None) -> dict[str, Vectors]:
        """All vectors of a space by key; damaged shards are removed, so that they are embedded anew.

        Args:
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
            except OSError as error:  # of the disk, or too many open files: it may be whole
                seen.add(path.name)
                warnings.warn(f"{path} cannot be read ({error.strerror}): its vectors are made anew", stacklevel=2)
            except DAMAGE as error:
                with suppress(OSError):
                    path.unlink()
                warnings.warn(f"{path}: {one_line(error)}: removed, its vectors are made anew", stacklevel=2)
        if found and self._folder:
            with suppress(OSError):  # a cache that is only read
                os.utime(self._folder / where)  # when it was last used
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
        """The right to make the piece ``name`` of a space, or None while another process has it.

        Where nothing can be locked everyone has it: the work is done twice, and that is said.
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
            return Claim(None)  # a folder that cannot be written is said by ``put``
        return Claim(lock)

    def holds(self, where: str) -> bool:
        """Whether anything of a space is here, told without reading it."""
        return self._folder is not None and any((self._folder / where).glob("*.npz"))

    @property
    def device(self) -> str | None:
        """Where the vectors kept here were made, or None if there are none."""
        try:
            return (self._folder / DEVICE).read_text(encoding="utf-8").strip() if self._folder else None
        except OSError:
            return None

    def made_on(self, device: str) -> None:
        """Note where the vectors that will be put here are made."""
        if self._folder is not None and self.device != device:
            with suppress(OSError):  # a folder that cannot be written is said by ``put``
                self._folder.mkdir(parents=True, exist_ok=True)
                (self._folder / DEVICE).write_text(device, encoding="utf-8")

    def put(self, where: str, keys: Sequence[str], vectors: Vectors) -> str:
        """Write one shard atomically, and say its name, if it has one; the same shard twice is one file."""
        if self._folder is None:
            return ""
        content = io.BytesIO()
        np.savez(content, keys=np.asarray(keys, dtype=np.str_), vectors=np.asarray(vectors, dtype=np.float32))
        data = content.getvalue()
        path = self._folder / where / f"{hashlib.sha256(data).hexdigest()}.npz"
        try:
            write_atomically(path, data)
            _describe(path.with_name(ABOUT), self._about.get(where))
        except OSError as error:
            unwritable, self._folder = self._folder, None
            warnings.warn(
                f"{unwritable} does not keep vectors ({error.strerror}): they are embedded anew next time",
                stacklevel=2,
            )
        return path.name


def _describe(path: Path, about: About | None) -> None:
    if about is not None and not path.exists():
        write_atomically(path, json.dumps(asdict(about), indent=1).encode())
