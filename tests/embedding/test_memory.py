"""Batches that do not fit in the device's memory: halved, with one warning, and not stored."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pytest_audioretrieval.embedding.batches import BatchHalving
from pytest_audioretrieval.embedding.engine import embed_clips, embed_texts
from pytest_audioretrieval.embedding.pairs import ask_preferences, score_pairs
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.pinning.protocol import NAMED
from tests.embedding.fake import WHO, Fake, clip, clips, expected, track, unit

EIGHT = replace(NAMED["short-clip"], audio_batch=8, text_batch=8)
SAID = "a batch of 8 does not fit in the device's memory and is embedded in halves"
CUDA = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
MPS = RuntimeError("MPS backend out of memory (MPS allocated: 9.00 GB)")


class Small(Fake):
    """A device with memory for ``room`` items; ``tried`` is the size of each pass, ``failed`` those that it refused."""

    def __init__(self, room: int, error: Exception = CUDA) -> None:
        super().__init__()
        self.room, self.error = room, error
        self.tried: list[int] = []

    def _fit(self, items: Any) -> None:
        self.tried.append(len(items))
        if len(items) > self.room:
            raise self.error

    def embed_audio(self, windows: Any, protocol: Any) -> npt.NDArray[np.float32]:
        self._fit(windows)
        return super().embed_audio(windows, protocol)

    def embed_text(self, texts: Any, protocol: Any) -> npt.NDArray[np.float32]:
        self._fit(texts)
        return super().embed_text(texts, protocol)

    def score(self, windows: Any, texts: Any, protocol: Any) -> npt.NDArray[np.float32]:
        self._fit(windows)
        return np.array([len(text) + 100 * window[0] for text, window in zip(texts, windows, strict=True)], np.float32)

    def prefer(self, first: Any, second: Any) -> npt.NDArray[np.float32]:
        self._fit(first)
        return np.array([len(one) / (len(one) + len(two)) for one, two in zip(first, second, strict=True)], np.float32)


def stored(folder: Path) -> list[Path]:
    return list(folder.rglob("*.npz"))


@pytest.mark.parametrize("error", [CUDA, MPS])
@pytest.mark.parametrize(
    ("room", "tried"),
    [
        (4, [8, 4, 4] * 2 + [3]),
        (3, [8, 4, 2, 2, 4, 2, 2] * 2 + [3]),
        (1, [8, *[4, *[2, 1, 1] * 2] * 2] * 2 + [3, 2, 1, 1, 1]),
    ],
)
def test_each_batch_is_tried_whole_then_in_halves(room: int, tried: list[int], error: Exception) -> None:
    items, small = clips(19), Small(room, error)
    with pytest.warns(UserWarning, match=SAID) as said:
        made = embed_clips(items, lambda: small, WHO, EIGHT, Store(None), track)
    np.testing.assert_array_equal(made, expected(items))
    assert small.tried == tried
    assert len(said) == 1


def test_only_what_was_made_in_one_batch_is_stored(tmp_path: Path) -> None:
    """Fault 11: the batch is a part of what a vector is stored under."""
    items = clips(19)
    with pytest.warns(UserWarning, match=SAID):
        embed_clips(items, lambda: Small(4), WHO, EIGHT, Store(tmp_path), track)
    assert len(stored(tmp_path)) == 1
    more = Small(8)
    embed_clips(items, lambda: more, WHO, EIGHT, Store(tmp_path), track)
    assert more.tried == [8, 8], "the batch of 3 is there"
    enough = Small(0)
    embed_clips(items, lambda: enough, WHO, EIGHT, Store(tmp_path), track)
    assert enough.tried == []


def test_texts_too(tmp_path: Path) -> None:
    texts, small = [f"rain {number}" for number in range(8)], Small(5)
    with pytest.warns(UserWarning, match=SAID):
        made = embed_texts(texts, lambda: small, WHO, EIGHT, Store(tmp_path), track)
    np.testing.assert_array_equal(made, np.stack([unit(text.encode()) for text in texts]))
    assert small.tried == [8, 4, 4]
    assert stored(tmp_path) == []


def test_tiles_of_one_clip_too() -> None:
    """The windows of one clip are the batch: 8 windows of 3 samples."""
    long = clip("long", np.arange(24) / 24)
    small, tiles = Small(2), replace(NAMED["full-clip"], seconds=3 / 48_000, audio_batch=8)
    with pytest.warns(UserWarning, match=SAID):
        made = embed_clips([long], lambda: small, WHO, tiles, Store(None), track)
    whole = embed_clips([long], lambda: Fake(), WHO, tiles, Store(None), track)
    np.testing.assert_array_equal(made, whole)
    assert small.tried == [8, 4, 2, 2, 4, 2, 2]


def test_a_pair_scorer_too(tmp_path: Path) -> None:
    items, small = clips(8), Small(4)
    pairs = [("x" * (number + 1), item) for number, item in enumerate(items)]
    with pytest.warns(UserWarning, match=SAID):
        scores = score_pairs(pairs, lambda: small, WHO, EIGHT, Store(tmp_path), track)
    samples = [item.read().samples[0, 0] for item in items]
    np.testing.assert_allclose(scores, [number + 1 + 100 * first for number, first in enumerate(samples)], rtol=1e-6)
    with pytest.warns(UserWarning, match=SAID):
        first, second = ask_preferences([("a", "bbb")] + [("aa", "b" * n) for n in (4, 5, 6)], lambda: small, WHO,
                                        EIGHT, Store(tmp_path), track)  # fmt: skip
    np.testing.assert_allclose(first, [1 / 4, 2 / 6, 2 / 7, 2 / 8], rtol=1e-6)
    np.testing.assert_allclose(second, first, rtol=1e-6)
    assert small.tried == [8, 4, 4] * 2
    assert stored(tmp_path) == []


def test_one_that_does_not_fit_alone_is_an_error_that_names_it() -> None:
    with (
        pytest.warns(UserWarning, match="embedded in halves"),
        pytest.raises(ModelError, match=r"^clips 'c0', 'c1': one item alone does not fit in the device's memory: CUDA"),
    ):
        embed_clips(clips(2), lambda: Small(0), WHO, EIGHT, Store(None), track)


def test_another_error_is_no_lack_of_memory() -> None:
    small = Small(4, RuntimeError("expected scalar type Half but found Float"))
    with pytest.raises(RuntimeError, match="expected scalar type Half"):
        embed_clips(clips(8), lambda: small, WHO, EIGHT, Store(None), track)
    assert small.tried == [8]


def test_the_device_is_emptied_behind_the_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the error is handled its traceback holds the tensors of the failed pass, and nothing would be freed."""
    handled: list[object] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: handled.append(sys.exception()))
    with pytest.warns(UserWarning, match="a batch of 2 does not fit"):
        BatchHalving()(lambda part: Small(1).embed_text(part, EIGHT), ["rain", "wind"])
    assert handled == [None]
