"""Vectors of clips and texts: from the store where they are, from the model where they are not."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.remarks import Remarks
from pytest_audioretrieval.embedding.store import Store, space
from pytest_audioretrieval.errors import AudioError, DataError, ModelError
from pytest_audioretrieval.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.models.types import ModelIdentity, Retriever

Vectors = npt.NDArray[np.float32]
T = TypeVar("T")
#: Wraps batches, given with what is done to them, to show progress.
Track = Callable[..., Iterable[Any]]

#: Vectors a shard holds; an interruption loses less than these.
SHARD = 64

#: Names an error lists, and letters of each.
SHOWN, SHOWN_LETTERS = 3, 60


def embed_clips(
    clips: Sequence[Clip],
    retriever: Callable[[], Retriever],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> Vectors:
    """Unit vectors of ``clips``, float32 [len(clips), D].

    A clip of several windows (``full-clip``) gets the normalised mean of their unit vectors, weighted by the windows'
    lengths: the last one may be a single sample. Clips with the same bytes are embedded once. Where the processor
    draws at random nothing is stored or reused, nor where nobody knows the model's weights.

    Args:
        retriever: called, and so torch imported, only if a vector is missing.
        track: wraps the batches to show progress.

    Raises:
        DataError: no clips.
        AudioError: a clip that cannot be measured.
        ModelError: the model returned no finite unit vectors; names the clips.
    """
    keys = [clip.digest for clip in clips]
    remarks = Remarks()

    def embed(batch: Sequence[Clip]) -> Vectors:
        return _embed_audio(batch, retriever(), protocol, remarks)

    batches = _Batches(keys, clips, protocol.audio_batch, unique=not protocol.drawn)
    where = space(identity.weights_sha256, protocol, "audio")
    kept = Store(None) if protocol.drawn or not identity.weights_sha256 else store
    vectors = _embed(batches, embed, kept, where, protocol, track, "embedding clips")
    remarks.say()
    return vectors


def embed_texts(
    texts: Sequence[str],
    retriever: Callable[[], Retriever],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> Vectors:
    """Unit vectors of ``texts``, float32 [len(texts), D]; see ``embed_clips``. An empty text is a ``DataError``.

    Texts that are longer than what the model reads of them are cut, and counted in a warning, from the store too.
    """
    for position, text in enumerate(texts):
        if not text.strip():
            raise DataError(f"text {position} is empty: write it or remove it (an empty query has no right answer)")
    keys = [_content(text) for text in texts]

    kept = store if identity.weights_sha256 else Store(None)
    noted = space(identity.weights_sha256, protocol, "cut")
    cut = set(kept.get(noted))

    def embed(batch: Sequence[str]) -> Vectors:
        model = retriever()
        with _naming("texts", batch):
            vectors = _checked(model.embed_text(batch, protocol), len(batch))
            long = [_content(text) for text in _cut(model, batch, protocol)]
        if long:
            cut.update(long)
            kept.put(noted, long, np.ones((len(long), 1), dtype=np.float32))
        return vectors

    where = space(identity.weights_sha256, protocol, "text")
    batches = _Batches(keys, texts, protocol.text_batch, unique=True)
    vectors = _embed(batches, embed, kept, where, protocol, track, "embedding captions")
    count = sum(key in cut for key in keys)
    if count:
        warnings.warn(f"{count} of {len(texts)} texts are longer than what the model reads and were cut", stacklevel=2)
    return vectors


def _cut(retriever: Retriever, batch: Sequence[str], protocol: Protocol) -> list[str]:
    if not retriever.count_cut(batch, protocol):
        return []
    return [text for text in batch if retriever.count_cut([text], protocol)]


def _content(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Batches(Generic[T]):
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


def _embed(
    batches: _Batches[T],
    embed: Callable[[Sequence[T]], Vectors],
    store: Store,
    where: str,
    protocol: Protocol,
    track: Track,
    what: str,
) -> Vectors:
    if not batches.keys:
        raise DataError(f"{what}: there are none: expected at least one, check the dataset")
    vectors = store.get(where)
    missing = [batch for batch in batches.batches if any(key not in vectors for key in batch)]
    if missing:
        from pytest_audioretrieval.embedding.randomness import seeded

        pending: list[str] = []
        try:
            with seeded(protocol.seed):
                for batch in track(missing, what):
                    made = embed([batches.item[key] for key in batch])
                    vectors.update(zip(batch, made, strict=True))
                    pending += batch
                    if len(pending) >= SHARD:
                        store.put(where, pending, np.stack([vectors[key] for key in pending]))
                        pending = []
        finally:
            # Also on Ctrl-C: what is done is kept.
            if pending:
                store.put(where, pending, np.stack([vectors[key] for key in pending]))
    rows: Vectors = np.stack([vectors[key] for key in batches.keys])
    return rows


def _embed_audio(batch: Sequence[Clip], retriever: Retriever, protocol: Protocol, remarks: Remarks) -> Vectors:
    from pytest_audioretrieval.audio.window import prepare

    windows = []
    for clip in batch:
        wave = clip.read()
        windows.append(prepare(wave, protocol, name=clip.id))
        remarks.look(clip.id, wave, windows[-1])
    flat = [window for clip in windows for window in clip]
    made = []
    with _naming("clips", [clip.id for clip in batch]):
        for start in range(0, len(flat), protocol.audio_batch):
            part = flat[start : start + protocol.audio_batch]
            made.append(_checked(retriever.embed_audio(part, protocol), len(part)))
        ends = np.cumsum([len(clip) for clip in windows])
        parts = np.split(np.concatenate(made), ends[:-1])
        pooled: Vectors = np.stack([_mean(part, clip) for part, clip in zip(parts, windows, strict=True)])
        return pooled


def _mean(vectors: Vectors, windows: Sequence[Vectors]) -> Vectors:
    if len(windows) == 1:
        only: Vectors = vectors[0]
        return only
    mean = np.average(vectors.astype(np.float64), axis=0, weights=[len(window) for window in windows])
    norm = np.linalg.norm(mean)
    if not norm:
        raise ModelError(f"the vectors of {len(windows)} windows cancel out: leave the clip out, or use short-clip")
    unit: Vectors = (mean / norm).astype(np.float32)
    return unit


@contextmanager
def _naming(what: str, names: Sequence[str]) -> Iterator[None]:
    """Say in an error of the model, which knows positions only, what it was given."""
    try:
        yield
    except (AudioError, ModelError) as error:
        shown = ", ".join(repr(name[:SHOWN_LETTERS]) for name in names[:SHOWN])
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        raise type(error)(f"{what} {shown}{more}: {error}") from None


def _checked(vectors: Vectors, count: int) -> Vectors:
    if vectors.shape[:1] != (count,) or vectors.ndim != 2 or vectors.dtype != np.float32:
        raise ModelError(f"model returned {vectors.dtype} {vectors.shape} for {count} inputs, expected float32 [n, D]")
    if not np.isfinite(vectors).all():
        raise ModelError("model returned values that are not finite, expected unit vectors: check weights and input")
    norms = np.linalg.norm(vectors, axis=1)
    if np.abs(norms - 1).max() > 1e-5:
        raise ModelError(
            f"model returned vectors of norm {norms.min():.6f} to {norms.max():.6f}, expected 1: normalise them"
        )
    return vectors
