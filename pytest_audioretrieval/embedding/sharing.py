"""Processes that want the same vectors at once share the work: each takes the next piece that no other has."""

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
#: Keys of what is embedded together.
Batch = Sequence[str]
#: What keys stand for, in order.
Read = Callable[[Iterable[str]], Generator[Any, None, None]]

#: Vectors a piece holds, and so a shard: a process that is stopped, however hard, loses no more than these.
SHARD = 64
#: Seconds between two looks at pieces that others are making.
LOOK = 0.05
#: Seconds without any news after which a piece is made here as well: its maker lives, but may be stopped for good.
PATIENCE = 1800.0
#: Seconds without any news after which a wait is told.
TOLD = 10.0


class Shared:
    """The batches that a store lacks, each yielded once: to be made here, or made by another process meanwhile.

    With a batch to be made comes what its keys stand for; with one that is there, nothing.

    A piece is claimed before it is made, and what is stored is read again under the claim, so that nothing is made
    twice; the claims of a process end with it. ``close`` stores what is made of the piece in hand.

    Args:
        batches: keys in document order, the same in every process whatever is stored.
        where: their space.
        read: yields what keys stand for; asked for a piece at a time.

    Attributes:
        vectors: all that is known, by key.
        waits: called once a wait, when others have had all that is left for ``TOLD`` seconds.
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
        self._news, self._told = time.monotonic(), False
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
        if not self._told and time.monotonic() - self._news > TOLD:
            self._told = True
            self.waits()
        time.sleep(LOOK)

    def _walk(self, piece: Sequence[Batch]) -> Iterator[tuple[Batch, list[Any]]]:
        wanted = [() if self.has(batch) else batch for batch in piece]
        with closing(self._read(chain.from_iterable(wanted))) as items:
            for batch, keys in zip(piece, wanted, strict=True):
                yield batch, list(islice(items, len(keys)))

    def has(self, batch: Batch) -> bool:
        """Whether all vectors of a batch are there."""
        return all(key in self.vectors for key in batch)

    def add(self, batch: Batch, made: Vectors, *, keep: bool = True) -> None:
        """Take what was made of a batch [len(batch), D]; stored, and so seen by others, if it is to be kept."""
        self.vectors.update(zip(batch, made, strict=True))
        if keep:
            self._made += batch

    def close(self) -> None:
        """Store what was made since the last time, and let others have the rest of the piece."""
        made, self._made = self._made, []
        claim, self._claim = self._claim, None
        self._news, self._told = time.monotonic(), False
        try:
            if made:
                self._seen.add(self._store.put(self._where, made, np.stack([self.vectors[key] for key in made])))
        finally:
            if claim is not None:
                claim.end()

    def _take(self, name: str) -> bool:
        """Whether a piece is to be walked through now: it is ours, or nothing is left to make of it."""
        piece = self._missing[name]
        if all(map(self.has, piece)):
            return True
        self._claim = self._store.claim(self._where, name)
        if self._claim is None and time.monotonic() - self._news < PATIENCE:
            return False
        if self._claim is None:
            warnings.warn(
                f"another process has had {self._where}/{name} for {PATIENCE / 60:.0f} minutes: made here as well",
                stacklevel=2,
            )
        self.vectors.update(self._store.get(self._where, self._seen))
        return True


def _pieces(batches: Sequence[Batch]) -> list[Sequence[Batch]]:
    """Batches in groups of ``SHARD`` keys; all batches but the last have one size."""
    step = -(-SHARD // len(batches[0]))
    return [batches[start : start + step] for start in range(0, len(batches), step)]


def _name(piece: Sequence[Batch]) -> str:
    return hashlib.sha256("\n".join(key for batch in piece for key in batch).encode()).hexdigest()[:16]
