"""Embedding of clips and texts: vectors come from the store, and missing ones from the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.batches import (
    Batches,
    BatchHalving,
    Track,
    Vectors,
    fill,
    naming,
    refuse_empty,
    text_digest,
)
from pytest_audioretrieval.embedding.clip_warnings import ClipWarnings
from pytest_audioretrieval.embedding.prefetch import prefetch
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.types import refuse_dtype
from pytest_audioretrieval.pinning.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.decode import Facts
    from pytest_audioretrieval.models.types import ModelIdentity, Retriever


def embed_clips(
    clips: Sequence[Clip],
    retriever: Callable[[], Retriever],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> Vectors:
    """Return the unit vectors of ``clips``, float32 [len(clips), D].

    A clip of several windows (``full-clip``) gets the normalised mean of their unit vectors, weighted by the windows'
    lengths, since the last one may be a single sample. Clips with the same bytes are embedded once, by one of the
    processes that need them. Nothing is stored or reused if the processor draws at random, or if the model's weights
    are unknown.

    Args:
        retriever: returns the model; called, and torch imported, only if a vector is missing.
        track: wraps the batches to show progress.

    Raises:
        DataError: there are no clips.
        AudioError: a clip cannot be measured.
        ModelError: the model returned no finite unit vectors; the error names the clips.
    """
    keys = [clip.digest for clip in clips]
    clip_warnings = ClipWarnings()

    def embed(batch: Sequence[DecodedClip], halving: BatchHalving) -> Vectors:
        for clip in batch:
            clip_warnings.note(clip.id, clip.facts, clip.windows)
        return _embed_audio(batch, retriever(), protocol, halving)

    batches = Batches(keys, clips, protocol.audio_batch, unique=not protocol.drawn)
    kept = Store(None) if protocol.drawn or not identity.weights_sha256 else store
    where = kept.space(identity, protocol, "audio")
    read = partial(prefetch, partial(_decoded, protocol))
    vectors: Vectors = fill(batches, embed, kept, where, protocol, track, "embedding clips", read=read)
    clip_warnings.warn()
    return vectors


def embed_texts(
    texts: Sequence[str],
    retriever: Callable[[], Retriever],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> Vectors:
    """Return the unit vectors of ``texts``, float32 [len(texts), D]; see ``embed_clips``.

    A warning counts the texts of which the model reads only a part, also if their vectors come from the store.

    Raises:
        DataError: there are no texts, or one is empty.
        ModelError: the model returned no finite unit vectors; the error names the texts.
    """
    refuse_empty(texts)
    keys = [text_digest(text) for text in texts]
    kept = store if identity.weights_sha256 else Store(None)
    where = kept.space(identity, protocol, "text")

    def embed(batch: Sequence[str], halving: BatchHalving) -> Vectors:
        model = retriever()
        refuse_dtype(model, protocol.dtype)
        with naming("texts", batch):
            vectors = halving(lambda part: _checked(model.embed_text(part, protocol), len(part)), batch)
            # In the same row, so that no vector is stored without its flag.
            return np.column_stack([vectors, _cut(model, batch, protocol)])

    batches = Batches(keys, texts, protocol.text_batch, unique=True)
    rows = fill(batches, embed, kept, where, protocol, track, "embedding captions")
    count = int(rows[:, -1].sum())
    if count:
        warnings.warn(f"{count} of {len(texts)} texts are longer than what the model reads and were cut", stacklevel=2)
    return np.ascontiguousarray(rows[:, :-1])


def _cut(retriever: Retriever, batch: Sequence[str], protocol: Protocol) -> Vectors:
    """Return 1 for each text of which the model reads only a part, else 0."""
    found = np.zeros(len(batch), dtype=np.float32)
    if retriever.count_cut(batch, protocol):
        found[:] = [retriever.count_cut([text], protocol) for text in batch]
    return found


class DecodedClip(NamedTuple):
    """Parts of a decoded clip that are kept for its batch; the samples themselves would not fit for long clips."""

    id: str
    facts: Facts
    windows: list[Vectors]


def _decoded(protocol: Protocol, clip: Clip) -> DecodedClip:
    from pytest_audioretrieval.audio.decode import describe
    from pytest_audioretrieval.audio.window import prepare

    wave = clip.read()
    return DecodedClip(clip.id, describe(wave), prepare(wave, protocol, name=clip.id))


def _embed_audio(batch: Sequence[DecodedClip], model: Retriever, protocol: Protocol, halving: BatchHalving) -> Vectors:
    refuse_dtype(model, protocol.dtype)
    windows = [clip.windows for clip in batch]
    flat = [window for clip in windows for window in clip]
    vectors = []
    with naming("clips", [clip.id for clip in batch]):
        for start in range(0, len(flat), protocol.audio_batch):
            windows_at_once = flat[start : start + protocol.audio_batch]
            vectors.append(
                halving(lambda part: _checked(model.embed_audio(part, protocol), len(part)), windows_at_once)
            )
        ends = np.cumsum([len(clip) for clip in windows])
        parts = np.split(np.concatenate(vectors), ends[:-1])
        pooled: Vectors = np.stack([_mean(part, clip) for part, clip in zip(parts, windows, strict=True)])
        return pooled


def _mean(vectors: Vectors, windows: Sequence[Vectors]) -> Vectors:
    if len(windows) == 1:
        only: Vectors = vectors[0]
        return only
    mean = np.average(vectors.astype(np.float64), axis=0, weights=[len(window) for window in windows])
    norm = np.linalg.norm(mean)
    if not norm:
        raise ModelError(
            f"the vectors of {len(windows)} windows cancel out", remedy="leave the clip out, or use short-clip"
        )
    unit: Vectors = (mean / norm).astype(np.float32)
    return unit


def _checked(vectors: Any, count: int) -> Vectors:
    if not isinstance(vectors, np.ndarray):
        kind = type(vectors)
        raise ModelError(
            f"model returned a {kind.__module__}.{kind.__qualname__}",
            expected="a numpy array float32 [n, D]",
            remedy="convert it",
        )
    if vectors.shape[:1] != (count,) or vectors.ndim != 2 or vectors.dtype != np.float32:
        raise ModelError(
            f"model returned {vectors.dtype} {vectors.shape} for {count} inputs",
            expected="float32 [n, D]",
            remedy="return one row for each input",
        )
    if not np.isfinite(vectors).all():
        raise ModelError(
            "model returned values that are not finite", expected="unit vectors", remedy="check weights and input"
        )
    norms = np.linalg.norm(vectors, axis=1)
    if np.abs(norms - 1).max() > 1e-5:
        raise ModelError(
            f"model returned vectors of norm {norms.min():.6f} to {norms.max():.6f}",
            expected="1",
            remedy="normalise them",
        )
    return vectors
