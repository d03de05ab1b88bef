"""What a model answers for items, in batches: stored as it is made, so that no interruption costs more than a shard."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.embedding.sharing import Shared
from pytest_audioretrieval.errors import AudioError, DataError, ModelError, one_line

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.store import Store
    from pytest_audioretrieval.pinning.protocol import Protocol

Vectors = npt.NDArray[np.float32]
T = TypeVar("T")
R = TypeVar("R")
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


class Halves:
    """Asks a model; what is too much for its device's memory is asked for in halves, down to one item.

    Each batch is tried whole first. A vector's last digit depends on its batch (fault 11), so that what came in halves
    is not what a machine with more memory makes, and is not stored.

    Attributes:
        used: whether the last batch needed them; reset by whoever stores.
    """

    def __init__(self) -> None:
        self.used = self._said = False

    def __call__(self, model: Callable[[Sequence[T]], Vectors], items: Sequence[T]) -> Vectors:
        """``model(items)``; ``ModelError`` where even one item is too much."""
        try:
            return model(items)
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
            if len(items) == 1:
                raise ModelError(
                    f"does not fit in the device's memory, alone: {one_line(error)}: use another device"
                ) from None
        # Behind the handler: the error holds the tensors of the pass that failed.
        _free_memory()
        self.used, middle = True, -(-len(items) // 2)
        if not self._said:
            self._said = True
            warnings.warn(
                f"a batch of {len(items)} does not fit in the device's memory and is embedded in halves: vectors may "
                "differ in the last digit and are not kept; a protocol with a smaller batch spares the failed tries",
                stacklevel=2,
            )
        return np.concatenate([self(model, items[:middle]), self(model, items[middle:])])


def _out_of_memory(error: RuntimeError) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error)  # so says MPS


def _free_memory() -> None:
    import torch

    torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


def fill(
    batches: Batches[T],
    make: Callable[[Sequence[R], Halves], Vectors],
    store: Store,
    where: str,
    protocol: Protocol,
    track: Track,
    what: str,
    *,
    read: Callable[[Iterator[T]], Iterator[R]] = iter,  # type: ignore[assignment]
) -> Vectors:
    """One row an item, in order, float32 [items, D]: from the store, or made batch by batch, shown and stored.

    Processes that ask for the same at once share the batches.

    Args:
        make: one batch of what was read; the model itself is asked through ``Halves``.
        read: what is made of an item; goes on through a piece, beyond the batch in hand, if it likes.
    """
    if not batches.keys:
        raise DataError(f"{what}: there are none: expected at least one, check the dataset")

    def items_of(keys: Iterable[str]) -> Generator[R, None, None]:
        yield from read(batches.item[key] for key in keys)

    work, halves = Shared(batches.batches, store, where, items_of), Halves()
    if len(work):
        from pytest_audioretrieval.embedding.randomness import seeded

        # Closed also on Ctrl-C: what is done is kept.
        with seeded(protocol.seed), closing(work):
            for batch, items in track(work, what):
                if items:
                    halves.used = False
                    made = make(items, halves)
                    _refuse_another_length(made, work.vectors, what)
                    work.add(batch, made, keep=not halves.used)
    rows: Vectors = np.stack([work.vectors[key] for key in batches.keys])
    return rows


def _refuse_another_length(made: Vectors, known: Mapping[str, Vectors], what: str) -> None:
    before = next(iter(known.values()), made[0])
    if made.shape[1:] != before.shape:
        raise ModelError(f"{what}: model returned {made.shape[1:]} a row, before {before.shape}")


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
