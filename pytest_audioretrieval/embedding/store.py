"""The embedding store: vectors by content, in shards that are written at once or not at all.

A *space* is what a vector depends on besides the clip or text itself: weights, protocol, library versions. Each
space is a folder of shards; a shard is an ``.npz`` of keys and vectors whose file name holds the sha256 of its bytes,
so a flipped bit or a cut file is found before it is believed.
"""

from __future__ import annotations

import hashlib
import io
import platform
import warnings
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import one_line
from pytest_audioretrieval.files import write_atomically
from pytest_audioretrieval.protocol import Protocol
from pytest_audioretrieval.versions import versions

Vectors = npt.NDArray[np.float32]
#: File that names the device; a run that finds every vector loads no model, and so knows no device of its own.
DEVICE = "device"


def space(weights_sha256: str, protocol: Protocol, kind: str) -> str:
    """Name of the space of a model, protocol and ``kind`` (``audio``, ``pairs``, ...) under the libraries installed."""
    installed = [f"{name} {version}" for name, version in versions().items()]
    parts = [weights_sha256, protocol.fingerprint, kind, *installed]
    return f"{kind}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:32]}"


def _shard(path: Path) -> dict[str, Vectors]:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != path.stem:
        raise ValueError("damaged, its bytes are not those it was named after")
    with np.load(io.BytesIO(content), allow_pickle=False) as shard:
        return dict(zip(shard["keys"].tolist(), shard["vectors"], strict=True))


def place(cache: Path | None, device: str) -> Path | None:
    """Folder of the vectors made on ``device`` as the user named it, by this kind of machine.

    A change of device is to be measured, not answered with the vectors of another one.
    """
    return cache / "embeddings" / f"{platform.machine()}-{device}".replace(":", "-") if cache else None


class Store:
    """Vectors under ``folder``, or nowhere if it is None. Never fails a run: what it cannot keep it says once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, where: str) -> dict[str, Vectors]:
        """All vectors of a space by key; damaged shards are removed, so that they are embedded anew."""
        found: dict[str, Vectors] = {}
        for path in sorted((self._folder / where).glob("*.npz")) if self._folder else ():
            try:
                found.update(_shard(path))
            except FileNotFoundError:
                continue  # another process found it damaged first
            except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
                with suppress(OSError):
                    path.unlink()
                warnings.warn(f"{path}: {one_line(error)}: removed, its vectors are made anew", stacklevel=2)
        return found

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

    def put(self, where: str, keys: Sequence[str], vectors: Vectors) -> None:
        """Write one shard atomically; the same shard twice is one file."""
        if self._folder is None:
            return
        content = io.BytesIO()
        np.savez(content, keys=np.asarray(keys, dtype=np.str_), vectors=np.asarray(vectors, dtype=np.float32))
        data = content.getvalue()
        path = self._folder / where / f"{hashlib.sha256(data).hexdigest()}.npz"
        try:
            write_atomically(path, data)
        except OSError as error:
            unwritable, self._folder = self._folder, None
            warnings.warn(
                f"{unwritable} does not keep vectors ({error.strerror}): they are embedded anew next time",
                stacklevel=2,
            )
