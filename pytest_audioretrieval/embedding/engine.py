"""Vectors of clips and texts: from the store where they are, from the model where they are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.batches import Batches, Track, Vectors, content, draws, fill, naming, refuse_empty
from pytest_audioretrieval.embedding.remarks import Remarks
from pytest_audioretrieval.embedding.store import Store, space
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.models.types import ModelIdentity, Retriever


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

    random = draws(protocol)
    batches = Batches(keys, clips, protocol.audio_batch, unique=not random)
    where = space(identity.weights_sha256, protocol, "audio")
    kept = Store(None) if random or not identity.weights_sha256 else store
    vectors = fill(batches, embed, kept, where, protocol, track, "embedding clips")
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
    refuse_empty(texts)
    keys = [content(text) for text in texts]
    kept = store if identity.weights_sha256 else Store(None)
    noted = space(identity.weights_sha256, protocol, "cut")
    cut = set(kept.get(noted))

    def embed(batch: Sequence[str]) -> Vectors:
        model = retriever()
        with naming("texts", batch):
            vectors = _checked(model.embed_text(batch, protocol), len(batch))
            long = [content(text) for text in _cut(model, batch, protocol)]
        if long:
            cut.update(long)
            kept.put(noted, long, np.ones((len(long), 1), dtype=np.float32))
        return vectors

    where = space(identity.weights_sha256, protocol, "text")
    batches = Batches(keys, texts, protocol.text_batch, unique=True)
    vectors = fill(batches, embed, kept, where, protocol, track, "embedding captions")
    count = sum(key in cut for key in keys)
    if count:
        warnings.warn(f"{count} of {len(texts)} texts are longer than what the model reads and were cut", stacklevel=2)
    return vectors


def _cut(retriever: Retriever, batch: Sequence[str], protocol: Protocol) -> list[str]:
    if not retriever.count_cut(batch, protocol):
        return []
    return [text for text in batch if retriever.count_cut([text], protocol)]


def _embed_audio(batch: Sequence[Clip], retriever: Retriever, protocol: Protocol, remarks: Remarks) -> Vectors:
    from pytest_audioretrieval.audio.window import prepare

    windows = []
    for clip in batch:
        wave = clip.read()
        windows.append(prepare(wave, protocol, name=clip.id))
        remarks.look(clip.id, wave, windows[-1])
    flat = [window for clip in windows for window in clip]
    made = []
    with naming("clips", [clip.id for clip in batch]):
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
