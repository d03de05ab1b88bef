"""Reuse of stored vectors: never across batches, datasets or devices in a way that changes a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.embedding.engine import embed_texts
from pytest_audioretrieval.embedding.store import Store, place
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import Protocol

Vectors = npt.NDArray[np.float32]
MODEL = ModelIdentity("toy", None, "0" * 64)


class Neighbourly:
    """Its vectors depend on the batch, as a padded batch's do in their last digit."""

    device, text_limit = "cpu", 8

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        self.batches.append(list(texts))
        angles = np.array([len(text) + 1e-3 * max(map(len, texts)) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        raise AssertionError

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        return 0


def track(items: Sequence[Any], what: str) -> Iterable[Any]:
    return items


def embed(texts: Sequence[str], store: Store, *, size: int, model: Neighbourly | None = None) -> Vectors:
    made = model or Neighbourly()
    return embed_texts(texts, lambda: made, MODEL, Protocol(text_batch=size), store, track)


def test_another_datasets_vectors_are_not_taken_over(tmp_path: Path) -> None:
    here, there = ["a", "bb", "ccc"], ["a", "dddddd", "bb"]
    alone = embed(here, Store(None), size=2)
    embed(there, Store(tmp_path), size=2)
    assert embed(here, Store(tmp_path), size=2).tobytes() == alone.tobytes()


def test_a_batch_of_one_is_shared_by_datasets(tmp_path: Path) -> None:
    model = Neighbourly()
    embed(["a", "bb"], Store(tmp_path), size=1, model=model)
    embed(["bb", "ccc"], Store(tmp_path), size=1, model=model)
    assert model.batches == [["a"], ["bb"], ["ccc"]]


def test_a_second_run_asks_for_nothing(tmp_path: Path) -> None:
    texts = ["a", "bb", "ccc", "bb", "dddd", "a"]
    first = embed(texts, Store(tmp_path), size=3)
    model = Neighbourly()
    assert embed(texts, Store(tmp_path), size=3, model=model).tobytes() == first.tobytes()
    assert model.batches == []
    np.testing.assert_array_equal(first[1], first[3])
    np.testing.assert_array_equal(first[0], first[5])


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(tmp_path: Path) -> None:
    texts = [letter * length for letter in "abcdefg" for length in range(1, 20)]
    whole = embed(texts, Store(None), size=4)

    class Interrupted(Neighbourly):
        def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
            if len(self.batches) == 20:
                raise KeyboardInterrupt
            return super().embed_text(texts, protocol)

    with pytest.raises(KeyboardInterrupt):
        embed(texts, Store(tmp_path), size=4, model=Interrupted())
    rest = Neighbourly()
    assert embed(texts, Store(tmp_path), size=4, model=rest).tobytes() == whole.tobytes()
    assert len(rest.batches) == len(range(0, len(texts), 4)) - 20


def test_another_device_is_measured_anew(tmp_path: Path) -> None:
    for device, asked in (("cpu", 1), ("cuda:0", 1), ("cpu", 0)):
        model = Neighbourly()
        embed(["a", "bb"], Store(place(tmp_path, device)), size=2, model=model)
        assert len(model.batches) == asked
    assert place(None, "cpu") is None
