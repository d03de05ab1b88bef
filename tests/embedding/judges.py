"""Models that note their questions in ``noted``, which is cleared between tests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.embedding.fake import Fake, Vectors

JUDGE, NAMELESS = (f"tests.embedding.judges:{name}" for name in ("Judge", "Nameless"))
AXES, BAG = (f"tests.embedding.judges:{name}" for name in ("Axes", "Bag"))

#: What ``Axes`` makes of them.
TEXTS = {"x": (1.0, 0.0), "y": (0.0, 1.0), "slant": (0.6, 0.8)}


class Noted:
    """Record of the questions since the last ``clear``."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.loaded = 0
        self.batches: list[Any] = []
        self.before: Callable[[int], object] = lambda _: None
        self.answer: Any = None


noted = Noted()


def share(*parts: bytes) -> float:
    """A float32 number from 0 to 1 that depends on every byte of every part."""
    digest = hashlib.sha256(b"|".join(hashlib.sha256(part).digest() for part in parts)).digest()
    return float(np.float32(int.from_bytes(digest[:4], "big") / 2**32))


class Nameless:
    """A pair scorer that answers by hash, or what ``noted.answer`` makes of how many are asked."""

    device = "cpu"

    def __init__(self, *, device: str) -> None:
        noted.loaded += 1

    def score(self, windows: Sequence[Vectors], texts: Sequence[str], protocol: object) -> Any:
        return self._answered([(window.tobytes(), text.encode()) for window, text in zip(windows, texts, strict=True)])

    def prefer(self, first: Sequence[str], second: Sequence[str]) -> Any:
        return self._answered([(one.encode(), two.encode()) for one, two in zip(first, second, strict=True)])

    def _answered(self, batch: list[tuple[bytes, bytes]]) -> Any:
        noted.before(len(noted.batches))
        noted.batches.append(batch)
        if noted.answer is not None:
            return noted.answer(len(batch))
        return np.array([share(*pair) for pair in batch], dtype=np.float32)


class Judge(Nameless):
    """The same with known weights, and so with answers that are kept."""

    @staticmethod
    def weights_sha256() -> str:
        return "b" * 64


class Axes(Fake):
    """A retriever of two dimensions: clips are (4, 3) / 5 or (-1, 0), texts as in ``TEXTS``."""

    def __init__(self, *, device: str) -> None:
        super().__init__()
        noted.loaded += 1

    def embed_audio(self, windows: Sequence[Vectors], protocol: Any) -> Vectors:
        noted.batches.append(len(windows))
        return np.array([(0.8, 0.6) if window[0] > 0 else (-1.0, 0.0) for window in windows], dtype=np.float32)

    def embed_text(self, texts: Sequence[str], protocol: Any) -> Vectors:
        noted.batches.append(list(texts))
        return np.array([TEXTS[text] for text in texts], dtype=np.float32)


class Bag(Fake):
    """A retriever with known weights that reads which words a text has, and not their order."""

    def __init__(self, *, device: str) -> None:
        super().__init__()
        noted.loaded += 1

    @staticmethod
    def weights_sha256() -> str:
        return "c" * 64

    def embed_audio(self, windows: Sequence[Vectors], protocol: Any) -> Vectors:
        return np.stack([_unit(window.tobytes()) for window in windows])

    def embed_text(self, texts: Sequence[str], protocol: Any) -> Vectors:
        return np.stack([_unit(" ".join(sorted(text.split())).encode()) for text in texts])


def _unit(content: bytes) -> Vectors:
    rows = np.random.default_rng(list(content)).normal(size=512)
    return (rows / np.linalg.norm(rows)).astype(np.float32)
