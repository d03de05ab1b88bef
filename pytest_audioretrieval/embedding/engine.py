"""Vectors of clips and texts: from the store where they are, from the model where they are not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.store import Store, space
from pytest_audioretrieval.errors import DataError, ModelError
from pytest_audioretrieval.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.models.types import ModelIdentity, Retriever

Vectors = npt.NDArray[np.float32]
T = TypeVar("T")
#: Wraps batches, given with what is done to them, to show progress.
Track = Callable[..., Iterable[Any]]

#: Vectors a shard holds; an interruption loses less than these.
SHARD = 64


def embed_clips(
    clips: Sequence[Clip],
    retriever: Callable[[], Retriever],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> Vectors:
    """Unit vectors of ``clips``, float32 [len(clips), D].

    A clip of several windows (``full-clip``) gets the normalised mean of their unit vectors. Clips with the same bytes
    are embedded once. Where the processor draws at random nothing is stored or reused.

    Args:
        retriever: called, and so torch imported, only if a vector is missing.
        track: wraps the batches to show progress.
    """
    keys = [clip.digest for clip in clips]

    def embed(batch: Sequence[Clip]) -> Vectors:
        return _embed_audio(batch, retriever(), protocol)

    random = protocol.is_longer == "processor"
    batches = _Batches(keys, clips, protocol.audio_batch, unique=not random)
    where = space(identity.weights_sha256, protocol, "audio")
    return _embed(batches, embed, Store(None) if random else store, where, protocol, track, "embedding clips")


def embed_texts(
    texts: Sequence[str],
    retriever: Callable[[], Retriever],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> Vectors:
    """Unit vectors of ``texts``, float32 [len(texts), D]; see ``embed_clips``. An empty text is a ``DataError``."""
    for position, text in enumerate(texts):
        if not text.strip():
            raise DataError(f"text {position} is empty: write it or remove it (an empty query has no right answer)")
    keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]

    def embed(batch: Sequence[str]) -> Vectors:
        return retriever().embed_text(batch, protocol)

    where = space(identity.weights_sha256, protocol, "text")
    batches = _Batches(keys, texts, protocol.text_batch, unique=True)
    return _embed(batches, embed, store, where, protocol, track, "embedding captions")


class _Batches(Generic[T]):
    """Items in document order, in batches that do not depend on what is stored already."""

    def __init__(self, keys: Sequence[str], items: Sequence[T], size: int, *, unique: bool) -> None:
        self.keys = [key if unique else f"{position}" for position, key in enumerate(keys)]
        first = dict(zip(reversed(self.keys), reversed(items), strict=True))
        wanted = list(dict.fromkeys(self.keys))
        self.batches = [wanted[i : i + size] for i in range(0, len(wanted), size)]
        self.item = first


def _embed(
    batches: _Batches[T],
    embed: Callable[[Sequence[T]], Vectors],
    store: Store,
    where: str,
    protocol: Protocol,
    track: Track,
    what: str,
) -> Vectors:
    vectors = store.get(where)
    missing = [batch for batch in batches.batches if any(key not in vectors for key in batch)]
    if missing:
        from pytest_audioretrieval.embedding.randomness import seeded

        pending: list[str] = []
        try:
            with seeded(protocol.seed):
                for batch in track(missing, what):
                    made = _checked(embed([batches.item[key] for key in batch]), batch)
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


def _embed_audio(batch: Sequence[Clip], retriever: Retriever, protocol: Protocol) -> Vectors:
    from pytest_audioretrieval.audio.window import prepare

    windows = [prepare(clip.read(), protocol, name=clip.id) for clip in batch]
    flat = [window for clip in windows for window in clip]
    made = [
        retriever.embed_audio(flat[i : i + protocol.audio_batch], protocol)
        for i in range(0, len(flat), protocol.audio_batch)
    ]
    rows = np.concatenate(made)
    if len(rows) == len(batch):
        return rows
    ends = np.cumsum([len(clip) for clip in windows])
    means = np.stack([part.mean(axis=0) for part in np.split(rows.astype(np.float64), ends[:-1])])
    unit: Vectors = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _checked(vectors: Vectors, batch: Sequence[str]) -> Vectors:
    if vectors.shape[:1] != (len(batch),) or vectors.ndim != 2 or vectors.dtype != np.float32:
        raise ModelError(
            f"model returned {vectors.dtype} {vectors.shape} for {len(batch)} inputs, expected float32 [n, D]"
        )
    norms = np.linalg.norm(vectors, axis=1)
    if not np.isfinite(vectors).all() or np.abs(norms - 1).max() > 1e-5:
        raise ModelError(
            f"model returned vectors of norm {norms.min():.6f} to {norms.max():.6f}, expected finite unit vectors"
        )
    return vectors
