"""Batches: a model's answers for items, stored as they are made, so that an interruption costs at most one shard."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.embedding.sharing import SharedBatches
from pytest_audioretrieval.errors import AudioError, DataError, ModelError, one_line

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.store import Store
    from pytest_audioretrieval.pinning.protocol import Protocol

Vectors = npt.NDArray[np.float32]
T = TypeVar("T")
R = TypeVar("R")
#: Function that wraps batches to show progress; it also gets the name of the work.
Track = Callable[..., Iterable[Any]]

#: Most names that an error lists, and most letters of each.
SHOWN, SHOWN_LETTERS = 3, 60


def text_digest(text: str) -> str:
    """Return the sha256 (hex) of a text, its key in the store."""
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_empty(texts: Sequence[str]) -> None:
    """Raise ``DataError`` for the first text without a letter."""
    for position, text in enumerate(texts):
        if not text.strip():
            raise DataError(
                f"text {position} is empty", remedy="write it or remove it (an empty query has no right answer)"
            )


class Batches(Generic[T]):
    """Items in document order, in batches that do not depend on the content of the store.

    A vector's last digit depends on its neighbours in the batch (fault 11). A vector is therefore stored under its item
    *and* its batch, so that a gate's result never depends on the datasets that were embedded before.

    Args:
        digests: digest of each item's content.
        items: the items, in the same order.
        size: most items in a batch.
        unique: embed items with the same content once.

    Attributes:
        keys: key of each item, in order; of an item alone in its batch, its digest.
        batches: keys of the different items, batch by batch.
        item: one item for each key.
    """

    def __init__(self, digests: Sequence[str], items: Sequence[T], size: int, *, unique: bool) -> None:
        names = [name if unique else f"{position}" for position, name in enumerate(digests)]
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


class BatchHalving:
    """Caller of a model that halves a batch which does not fit in the device's memory, down to one item.

    Each batch is tried whole first. A vector's last digit depends on its batch (fault 11), so vectors of half batches
    may differ from those of a machine with more memory, and are not stored.

    Attributes:
        used: True if the last batch was halved; the caller resets it.
    """

    def __init__(self) -> None:
        self.used = self._warned = False

    def __call__(self, model: Callable[[Sequence[T]], Vectors], items: Sequence[T]) -> Vectors:
        """Return ``model(items)``; ``ModelError`` if even one item does not fit."""
        try:
            return model(items)
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
            if len(items) == 1:
                raise ModelError(
                    f"one item alone does not fit in the device's memory: {one_line(error)}",
                    remedy="use another device",
                ) from None
        # Outside the handler: the error holds the tensors of the pass that failed.
        _free_memory()
        self.used, middle = True, -(-len(items) // 2)
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"a batch of {len(items)} does not fit in the device's memory and is embedded in halves: vectors may "
                "differ in the last digit and are not stored; a protocol with a smaller batch avoids the failed tries",
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
    make: Callable[[Sequence[R], BatchHalving], Vectors],
    store: Store,
    where: str,
    protocol: Protocol,
    track: Track,
    what: str,
    *,
    read: Callable[[Iterator[T]], Iterator[R]] = iter,  # type: ignore[assignment]
) -> Vectors:
    """Return one row for each item, in order, float32 [items, D].

    Rows come from the store, or are made batch by batch and stored. Processes that need the same rows at the same time
    share the batches.

    Args:
        batches: the items.
        make: embeds one batch of items that were read; it calls the model through ``BatchHalving``.
        store: the store.
        where: name of the space in the store.
        protocol: its seed is set for the time.
        track: shows progress.
        what: name of the work, for progress and errors.
        read: reads items, lazily; it may read items of a piece in advance, beyond the current batch.

    Raises:
        DataError: there are no items.
        ModelError: the model's rows have different lengths.
    """
    if not batches.keys:
        raise DataError(f"{what}: there are no items", expected="at least one", remedy="check the dataset")

    def items_of(keys: Iterable[str]) -> Generator[R, None, None]:
        yield from read(batches.item[key] for key in keys)

    work, halving = SharedBatches(batches.batches, store, where, items_of), BatchHalving()
    if len(work):
        from pytest_audioretrieval.embedding.randomness import seeded

        # Closed also on Ctrl-C, so that finished batches are stored.
        with seeded(protocol.seed), closing(work):
            for batch, items in track(work, what):
                if items:
                    halving.used = False
                    made = make(items, halving)
                    _refuse_another_length(made, work.vectors, what)
                    work.add(batch, made, keep=not halving.used)
    rows: Vectors = np.stack([work.vectors[key] for key in batches.keys])
    return rows


def _refuse_another_length(made: Vectors, known: Mapping[str, Vectors], what: str) -> None:
    before = next(iter(known.values()), made[0])
    if made.shape[1:] != before.shape:
        raise ModelError(
            f"{what}: model returned {made.shape[1:]} a row, before {before.shape}",
            remedy="make all rows of one length",
        )


@contextmanager
def naming(what: str, names: Sequence[str]) -> Iterator[None]:
    """Put the names of a batch's items in front of an error of the model, which knows their positions only.

    Args:
        what: noun in front of the names, such as ``"clips"``.
        names: name of each item.
    """
    try:
        yield
    except (AudioError, ModelError, SystemExit) as error:
        shown = ", ".join(repr(name[:SHOWN_LETTERS]) for name in names[:SHOWN])
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        if isinstance(error, SystemExit):  # pytest would end with it without a word
            error = ModelError(
                f"the model ended the process (exit {one_line(error)})", remedy="let it raise an error instead"
            )
        raise error.about(f"{what} {shown}{more}") from None
