"""Digests of rendered clips: rendered once, stored, and believed only if they hash to the pin."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.rendered import load_rendered, verified, waveform
from pytest_audioretrieval.data.types import Clip, Dataset
from pytest_audioretrieval.errors import PinError

RECIPES = {"low": 100, "high": -32_768, "again": 100}


def dataset(clips: tuple[Clip, ...]) -> Dataset:
    return Dataset("tones", "1", clips, (), fingerprint(clips))


def digest(level: int) -> str:
    return hashlib.sha256(np.full(4, level, dtype="<i2").tobytes()).hexdigest()


PINNED = dataset(tuple(Clip(name, digest(level), waveform) for name, level in RECIPES.items())).fingerprint  # type: ignore[arg-type]


class Renderer:
    """A renderer that records its recipes."""

    def __init__(self) -> None:
        self.rendered: list[int] = []

    def __call__(self, level: int) -> npt.NDArray[np.int16]:
        self.rendered.append(level)
        return np.full(4, level, dtype=np.int16)


def test_clips_are_rendered_once_then_remembered(tmp_path: Path) -> None:
    index, first, second = tmp_path / "below" / "tones.json", Renderer(), Renderer()
    cold = load_rendered(RECIPES, first, dataset, PINNED, index=index)
    warm = load_rendered(RECIPES, second, dataset, PINNED, index=index)
    assert first.rendered == [100, -32_768, 100]
    assert second.rendered == []
    assert cold == warm
    assert [(clip.id, clip.digest) for clip in warm.clips] == [(n, digest(level)) for n, level in RECIPES.items()]
    assert json.loads(index.read_text()) == [digest(level) for level in RECIPES.values()]


def test_a_clip_is_rendered_anew_when_it_is_read(tmp_path: Path) -> None:
    renderer = Renderer()
    loaded = load_rendered(RECIPES, renderer, dataset, PINNED)
    wave = loaded.clips[1].read()
    assert renderer.rendered == [100, -32_768, 100, -32_768]
    assert (wave.rate, wave.samples.dtype, wave.samples.shape) == (48_000, np.float32, (4, 1))
    assert wave.samples.tolist() == [[-1.0]] * 4


def test_progress_wraps_all_that_is_rendered() -> None:
    seen: list[Sequence[int]] = []

    def progress(levels: Sequence[int]) -> Iterable[int]:
        seen.append(levels)
        return levels

    load_rendered(RECIPES, Renderer(), dataset, PINNED, progress=progress)
    assert seen == [[100, -32_768, 100]]


def test_an_index_that_does_not_hash_to_the_pin_is_rendered_over(tmp_path: Path) -> None:
    index, renderer = tmp_path / "tones.json", Renderer()
    index.write_text(json.dumps([digest(1)] * 3))
    assert load_rendered(RECIPES, renderer, dataset, PINNED, index=index).fingerprint == PINNED
    assert len(renderer.rendered) == 3
    assert json.loads(index.read_text())[0] == digest(100)


def test_another_dataset_than_the_pinned_is_refused_and_leaves_no_index(tmp_path: Path) -> None:
    with pytest.raises(
        PinError, match=rf"dataset 'tones': fingerprint is {PINNED}, expected 0 as PINS.json states: reinstall"
    ):
        load_rendered(RECIPES, Renderer(), dataset, "0", index=tmp_path / "tones.json")
    assert not list(tmp_path.iterdir())
    assert verified(dataset(()), dataset(()).fingerprint) == verified(dataset(()), None) == dataset(())
