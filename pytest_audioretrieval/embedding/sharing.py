"""Sharing of work among processes that need the same vectors: each takes the next piece that no other has."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.embedding.store import Claim, Store

Vectors = npt.NDArray[np.float32]
#: Keys of the items of one batch.
Batch = Sequence[str]
#: Function that yields the items of keys, in order.
Read = Callable[[Iterable[str]], Generator[Any, None, None]]

#: Vectors of a piece, and so of a shard: a process that is killed loses at most these.
SHARD = 64
#: Seconds between two looks at pieces that others are making.
POLL = 0.05
#: Seconds without a new shard after which a piece is made here as well: its process lives, but may be stopped for good.
PATIENCE = 1800.0
#: Seconds without a new shard after which the user is told that others are waited for.
QUIET = 10.0


class SharedBatches:
    """Batches that a store lacks, each yielded once, whether it is made here or by another process meanwhile.

    A batch that is to be made here is yielded with its items, a batch that another process made without items.

    A piece is claimed before it is made, and the store is read again under the claim, so that no vector is made twice.
    A process's claims end with the process. ``close`` stores the vectors made so far of the current piece.

    Args:
        batches: keys in document order, the same in every process whatever is stored.
        store: the store.
        where: name of their space.
        read: yields the items of keys; called once for each piece.

    Attributes:
        vectors: all vectors known so far, by key.
        waits: called once a wait, after ``QUIET`` seconds in which other processes hold all remaining pieces.
    """

    def __init__(self, batches: Sequence[Batch], store: Store, where: str, read: Read) -> None:
        self._store, self._where, self._read = store, where, read
        self._seen: set[str] = set()
        self.vectors = store.get(where, self._seen)
        self._missing = {
            _name(piece): left
            for piece in _pieces(batches)
            if (left := [batch for batch in piece if not self.has(batch)])
        }
        self._made: list[str] = []
        self._claim: Claim | None = None
        self._last_news, self._told = time.monotonic(), False
        self.waits: Callable[[], object] = lambda: None

    def __len__(self) -> int:
        return sum(len(piece) for piece in self._missing.values())

    def __iter__(self) -> Iterator[tuple[Batch, list[Any]]]:
        waiting = list(self._missing)
        while waiting:
            others = []
            for name in waiting:
                if self._take(name):
                    yield from self._walk(self._missing[name])
                    self.close()
                else:
                    others.append(name)
            if len(others) == len(waiting):
                self._wait()
            waiting = others

    def _wait(self) -> None:
        if not self._told and time.monotonic() - self._last_news > QUIET:
            self._told = True
            self.waits()
        time.sleep(POLL)

    def _walk(self, piece: Sequence[Batch]) -> Iterator[tuple[Batch, list[Any]]]:
        wanted = [() if self.has(batch) else batch for batch in piece]
        with closing(self._read(chain.from_iterable(wanted))) as items:
            for batch, keys in zip(piece, wanted, strict=True):
                yield batch, list(islice(items, len(keys)))

    def has(self, batch: Batch) -> bool:
        """Return whether all vectors of a batch are known."""
        return all(key in self.vectors for key in batch)

    def add(self, batch: Batch, made: Vectors, *, keep: bool = True) -> None:
        """Add the vectors of a batch, [len(batch), D]; with ``keep`` they are stored, and so seen by others."""
        self.vectors.update(zip(batch, made, strict=True))
        if keep:
            self._made += batch

    def close(self) -> None:
        """Store the vectors made since the last call, and release the current piece."""
        made, self._made = self._made, []
        claim, self._claim = self._claim, None
        self._last_news, self._told = time.monotonic(), False
        try:
            if made:
                self._seen.add(self._store.put(self._where, made, np.stack([self.vectors[key] for key in made])))
        finally:
            if claim is not None:
                claim.end()

    def _take(self, name: str) -> bool:
        """Return whether to yield a piece now: it is claimed here, or all of it is known."""
        piece = self._missing[name]
        if all(map(self.has, piece)):
            return True
        self._claim = self._store.claim(self._where, name)
        if self._claim is None and time.monotonic() - self._last_news < PATIENCE:
            return False
        if self._claim is None:
            warnings.warn(
                f"another process has had {self._where}/{name} for {PATIENCE / 60:.0f} minutes: made here as well",
                stacklevel=2,
            )
        self.vectors.update(self._store.get(self._where, self._seen))
        return True


def _pieces(batches: Sequence[Batch]) -> list[Sequence[Batch]]:
    """Group batches into pieces of ``SHARD`` keys; all batches but the last have the same size."""
    step = -(-SHARD // len(batches[0]))
    return [batches[start : start + step] for start in range(0, len(batches), step)]


def _name(piece: Sequence[Batch]) -> str:
    return hashlib.sha256("\n".join(key for batch in piece for key in batch).encode()).hexdigest()[:16]
