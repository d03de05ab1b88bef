"""Fake retriever without a model, and clips without files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.engine import embed_clips
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol

Vectors = npt.NDArray[np.float32]
WHO = ModelIdentity("fake", None, "a" * 64)
SHORT = NAMED["short-clip"]


def unit(content: bytes) -> Vectors:
    """A unit vector [8] that depends on every byte."""
    numbers = np.frombuffer(hashlib.sha256(content).digest(), dtype=np.uint8).astype(np.float64)[:8] - 127.5
    return (numbers / np.linalg.norm(numbers)).astype(np.float32)


class Fake:
    """Embeds by hash; ``before`` is called with the number of batches done before each batch."""

    device = "cpu"
    text_limit = 512

    def __init__(self, before: Callable[[int], object] = lambda _: None) -> None:
        self.before = before
        self.audio: list[int] = []
        self.texts: list[list[str]] = []

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        self.before(len(self.audio))
        self.audio.append(len(windows))
        return np.stack([unit(window.tobytes()) for window in windows])

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        self.before(len(self.texts))
        self.texts.append(list(texts))
        return np.stack([unit(text.encode()) for text in texts])

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        return 0


def clip(name: str, samples: Vectors, digest: str | None = None) -> Clip:
    """A mono clip at 48 kHz."""
    wave = Waveform(samples.astype(np.float32).reshape(-1, 1), 48_000)
    return Clip(name, digest or hashlib.sha256(wave.samples.tobytes()).hexdigest(), lambda: wave)


def clips(count: int) -> list[Clip]:
    """Different clips of 3 samples."""
    return [clip(f"c{i}", np.array([i, 1, 2]) / (count + 2)) for i in range(count)]


def expected(items: Sequence[Clip]) -> Vectors:
    """Return the vectors that ``Fake`` makes of clips of one window."""
    return np.stack([unit(item.read().samples[:, 0].tobytes()) for item in items])


def track(items: Iterable[object], what: str) -> Iterable[object]:
    """No progress shown."""
    return items


def embed(items: list[Clip], fake: Any, store: Store, protocol: Protocol = SHORT, who: ModelIdentity = WHO) -> Vectors:
    """Vectors of clips, by ``fake`` where the store has none."""
    return embed_clips(items, lambda: fake, who, protocol, store, track)


def never() -> Fake:
    """Stands for a model that is not to be asked for."""
    pytest.fail("the model was asked for")
