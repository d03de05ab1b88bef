"""Answers of a pair scorer, stored like vectors: scores of pairs of text and clip, and preferences among texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.types import refuse_dtype
from pytest_audioretrieval.pinning.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Samples
    from pytest_audioretrieval.models.types import ModelIdentity, PairScorer

Floats = npt.NDArray[np.float64]
Pairs = Sequence[tuple[str, Clip]]
TextPairs = Sequence[tuple[str, str]]
Windows = Callable[[Clip], "list[Samples]"]


def score_pairs(
    pairs: Pairs,
    scorer: Callable[[], PairScorer],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> Floats:
    """Score how well each text describes its clip, float64 [N].

    A clip of several windows (``full-clip``) gets the mean of their scores, weighted by the windows' lengths. The same
    text and bytes are scored once. Scores are stored under the same conditions as vectors in ``engine.embed_clips``.

    Raises:
        DataError: there are no pairs, or a text is empty.
        AudioError: a clip cannot be measured.
        ModelError: the scorer returned no finite scores; the error names the pairs.
    """
    refuse_empty([text for text, _ in pairs])
    clip_warnings = ClipWarnings()

    # The two texts of a choice are neighbours, so that their clip is decoded once.
    @lru_cache(maxsize=1)
    def windows(clip: Clip) -> list[Samples]:
        return _windows(clip, protocol, clip_warnings)

    def score(batch: Pairs, halving: BatchHalving) -> Vectors:
        return _score(batch, scorer(), protocol, windows, halving)

    keys = [text_digest(f"{clip.digest}\n{text}") for text, clip in pairs]
    batches = Batches(keys, pairs, protocol.audio_batch, unique=True)
    kept = Store(None) if protocol.drawn or not identity.weights_sha256 else store
    where = kept.space(identity, protocol, "pairs")
    scores = fill(batches, score, kept, where, protocol, track, "scoring pairs")
    clip_warnings.warn()
    return scores[:, 0].astype(np.float64)


def ask_preferences(
    pairs: TextPairs,
    scorer: Callable[[], PairScorer],
    identity: ModelIdentity,
    protocol: Protocol,
    store: Store,
    track: Track,
) -> tuple[Floats, Floats]:
    """Return P(the first text of each pair is chosen), shown first and shown second, float64 [N] each (MASB, Exp. 2).

    Raises:
        DataError: there are no pairs, or a text is empty.
        ModelError: the scorer returned no probabilities; the error names the texts.
    """
    refuse_empty([text for pair in pairs for text in pair])
    orders = [*pairs, *((second, first) for first, second in pairs)]

    def prefer(batch: TextPairs, halving: BatchHalving) -> Vectors:
        model = scorer()
        refuse_dtype(model, protocol.dtype)
        with naming("texts", [f"{one} | {two}" for one, two in batch]):
            chosen = halving(lambda part: _checked(model.prefer(*zip(*part, strict=True)), len(part)), batch)
            if chosen.min() < 0 or chosen.max() > 1:
                raise ModelError(
                    f"model prefers by {chosen.min()} to {chosen.max()}",
                    expected="probabilities, 0 to 1",
                    remedy="return P(first)",
                )
        return chosen[:, np.newaxis]

    keys = [text_digest(f"{text_digest(first)}\n{text_digest(second)}") for first, second in orders]
    batches = Batches(keys, orders, protocol.text_batch, unique=True)
    kept = store if identity.weights_sha256 else Store(None)
    where = kept.space(identity, protocol, "prefer")
    chosen = fill(batches, prefer, kept, where, protocol, track, "comparing texts")[:, 0].astype(np.float64)
    return chosen[: len(pairs)], 1 - chosen[len(pairs) :]


def _windows(clip: Clip, protocol: Protocol, clip_warnings: ClipWarnings) -> list[Samples]:
    from pytest_audioretrieval.audio.decode import describe
    from pytest_audioretrieval.audio.window import prepare

    wave = clip.read()
    windows = prepare(wave, protocol, name=clip.id)
    clip_warnings.note(clip.id, describe(wave), windows)
    return windows


def _score(batch: Pairs, scorer: PairScorer, protocol: Protocol, windows: Windows, halving: BatchHalving) -> Vectors:
    def ask(part: Sequence[tuple[Samples, str]]) -> Vectors:
        sounds, words = zip(*part, strict=True)
        return _checked(scorer.score(sounds, words, protocol), len(part))

    refuse_dtype(scorer, protocol.dtype)
    cut = [windows(clip) for _, clip in batch]
    flat = [(window, text) for (text, _), clip in zip(batch, cut, strict=True) for window in clip]
    made = []
    with naming("pairs", [f"{clip.id}: {text}" for text, clip in batch]):
        for start in range(0, len(flat), protocol.audio_batch):
            made.append(halving(ask, flat[start : start + protocol.audio_batch]))
    scores = np.split(np.concatenate(made).astype(np.float64), np.cumsum([len(clip) for clip in cut])[:-1])
    means = [np.average(part, weights=[len(w) for w in clip]) for part, clip in zip(scores, cut, strict=True)]
    return np.array(means, dtype=np.float32)[:, np.newaxis]


def _checked(answers: Any, count: int) -> Vectors:
    if not isinstance(answers, np.ndarray):
        raise ModelError(
            f"model returned {type(answers).__name__} for {count} pairs",
            expected="a numpy array, float32",
            remedy="convert it",
        )
    if answers.shape != (count,) or answers.dtype != np.float32:
        raise ModelError(
            f"model returned {answers.dtype} {answers.shape} for {count} pairs",
            expected="float32 [n]",
            remedy="return one answer for each pair",
        )
    if not np.isfinite(answers).all():
        raise ModelError(
            "model returned values that are not finite", expected="one a pair", remedy="check weights and input"
        )
    return answers
