"""What a model answers for items, in batches: stored as it is made, so that no interruption costs more than a shard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.embedding.sharing import Shared
from pytest_audioretrieval.errors import AudioError, DataError, ModelError

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.store import Store
    from pytest_audioretrieval.protocol import Protocol

Vectors = npt.NDArray[np.float32]
T = TypeVar("T")
#: Wraps batches, given with what is done to them, to show progress.
Track = Callable[..., Iterable[Any]]

#: Names an error lists, and letters of each.
SHOWN, SHOWN_LETTERS = 3, 60


def content(text: str) -> str:
    """The key of a text: its sha256 (hex)."""
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_empty(texts: Sequence[str]) -> None:
    """Raise ``DataError`` for the first text without a letter."""
    for position, text in enumerate(texts):
        if not text.strip():
            raise DataError(f"text {position} is empty: write it or remove it (an empty query has no right answer)")


class Batches(Generic[T]):
    """Items in document order, in batches that do not depend on what is stored already.

    A vector's last digit depends on its neighbours in the batch (fault 11), so that a vector is stored under its item
    *and* its batch: what a gate sees never depends on which datasets were embedded before.

    Attributes:
        keys: of each item given, in order; of a batch of one the content's own.
        batches: keys of different items.
        item: by key.
    """

    def __init__(self, contents: Sequence[str], items: Sequence[T], size: int, *, unique: bool) -> None:
        names = [name if unique else f"{position}" for position, name in enumerate(contents)]
        wanted = list(dict.fromkeys(names))
        key: dict[str, str] = {}
        self.batches: list[list[str]] = []
        for start in range(0, len(wanted), size):
            batch = wanted[start : start + size]
            key.update((name, _key(name, batch)) for name in batch)
            self.batches.append([key[name] for name in batch])
        self.keys = [key[name] for name in names]
        self.item = dict(zip(self.keys, items, strict=True))


def _key(name: str, batch: Sequence[str]) -> str:
    return name if len(batch) == 1 else hashlib.sha256("\n".join([name, *batch]).encode()).hexdigest()


def fill(
    batches: Batches[T],
    make: Callable[[Sequence[T]], Vectors],
    store: Store,
    where: str,
    protocol: Protocol,
    track: Track,
    what: str,
) -> Vectors:
    """One row an item, in order, float32 [items, D]: from the store, or made batch by batch, shown and stored.

    Processes that ask for the same at once share the batches.
    """
    if not batches.keys:
        raise DataError(f"{what}: there are none: expected at least one, check the dataset")
    work = Shared(batches.batches, store, where)
    if len(work):
        from pytest_audioretrieval.embedding.randomness import seeded

        # Closed also on Ctrl-C: what is done is kept.
        with seeded(protocol.seed), closing(work):
            for batch in track(work, what):
                if not work.has(batch):
                    work.add(batch, make([batches.item[key] for key in batch]))
    rows: Vectors = np.stack([work.vectors[key] for key in batches.keys])
    return rows


@contextmanager
def naming(what: str, names: Sequence[str]) -> Iterator[None]:
    """Say in an error of the model, which knows positions only, what it was given."""
    try:
        yield
    except (AudioError, ModelError, SystemExit) as error:
        shown = ", ".join(repr(name[:SHOWN_LETTERS]) for name in names[:SHOWN])
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        if isinstance(error, SystemExit):  # pytest would end with it, and say nothing
            raise ModelError(f"{what} {shown}{more}: the model ended the process (exit {error.code})") from None
        raise type(error)(f"{what} {shown}{more}: {error}") from None
