"""Parity of laion_clap and transformers on the same random weights, each in its own environment.

Skipped without the environment of ``make laion``; RETRIEVAL_LAION_PYTHON may name its Python.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.api import load_retriever
from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.audio.window import prepare
from pytest_audioretrieval.base.registered import MODELS
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models import laion
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.laion import LAION_PYTHON, LaionClap
from pytest_audioretrieval.pinning import spec as specs
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol
from tests.models.laion_cache import build_cache
from tests.models.laion_checkpoint import read, save_hub

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get(LAION_PYTHON) or ROOT / laion.DEFAULT).absolute()
pytestmark = pytest.mark.skipif(not PYTHON.is_file(), reason=f"no environment of laion_clap at {PYTHON}: make laion")

#: What the two libraries agree on.
SAME = replace(NAMED["short-clip"], quantize_int16=True, max_text_tokens=77)
RATE = 48_000
#: Of rounding alone: measured 1e-7 at most.
ROUNDING = 1e-6


class Pair(NamedTuple):
    package: LaionClap
    hub: Clap
    checkpoint: Path


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A hub cache with small tokenizers, for both this process and the worker."""
    with pytest.MonkeyPatch.context() as patch:
        cache = build_cache(tmp_path_factory.mktemp("hub"))
        patch.setenv("HF_HUB_CACHE", str(cache))
        patch.setenv(LAION_PYTHON, str(PYTHON))
        point = metadata.EntryPoint("laion_clap", "pytest_audioretrieval.models.laion:LaionClap", MODELS)
        patch.setattr(specs, "backends", lambda: {"laion_clap": point})
        yield cache


@pytest.fixture(scope="module")
def checkpoints(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``fused.pt`` and ``unfused.pt``."""
    folder, script = tmp_path_factory.mktemp("random"), Path(__file__).with_name("laion_random.py")
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    subprocess.run([PYTHON, "-E", script, laion.SCRIPT.parent, folder], check=True, capture_output=True, env=offline)
    return folder


@pytest.fixture(scope="module", params=["fused", "unfused"])
def pair(request: pytest.FixtureRequest, checkpoints: Path) -> Iterator[Pair]:
    kind: str = request.param
    checkpoint = checkpoints / f"{kind}.pt"
    package = load_retriever(f"laion_clap:{checkpoint}", device="cpu", offline=True, allow_unpinned=True)
    assert isinstance(package, LaionClap)
    hub = Clap(save_hub(read(checkpoint), checkpoints / f"hub-{kind}", fused=kind == "fused"), device="cpu")
    yield Pair(package, hub, checkpoint)
    package.close()


def clip(seconds: float, pitch: float) -> Waveform:
    """A decaying glide twice a second over noise; one channel."""
    count = int(seconds * RATE)
    time = np.arange(count) / RATE
    glide = np.sin(2 * np.pi * pitch * time * (1 + 0.2 * time / seconds)) * np.exp(-3 * (2 * time % 1))
    noise = np.random.default_rng(round(pitch)).standard_normal(count)
    return Waveform((0.4 * glide + 0.02 * noise).astype(np.float32)[:, None], RATE)


def windows(protocol: Protocol, *clips: Waveform) -> list[npt.NDArray[np.float32]]:
    return [window for one in clips for window in prepare(one, protocol)]


def loss(one: npt.NDArray[np.float32], other: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """1 - cosine of each row with its like."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    return 1 - (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


CLIPS = (clip(1, 300), clip(7, 700), clip(10, 1100))
TEXTS = ("rain", "a dog barks twice", "z" * 75)
LONG = "a dog barks and then " * 10  # a token is a character


def test_it_is_what_it_says(pair: Pair) -> None:
    assert pair.package.fused == ("unfused" not in pair.checkpoint.name)
    assert pair.package.versions["laion_clap"] == metadata_of("laion_clap")
    assert pair.package.device == "cpu"


def metadata_of(name: str) -> str:
    script = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run([PYTHON, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def test_clips_of_1_7_and_10_seconds(pair: Pair) -> None:
    heard = windows(SAME, *CLIPS)
    ours = np.concatenate([pair.hub.embed_audio([window], SAME) for window in heard])
    theirs = np.concatenate([pair.package.embed_audio([window], SAME) for window in heard])
    lost = loss(theirs, ours)
    assert (lost < 1 - 0.9999).all()  # what was asked for
    assert np.abs(lost).max() < ROUNDING
    # And that says something: the clips themselves are further apart.
    assert loss(ours[[0, 0, 1]], ours[[1, 2, 2]]).min() > 100 * ROUNDING
    np.testing.assert_allclose(pair.package.embed_audio(heard, SAME), theirs, atol=1e-6)


def test_texts(pair: Pair) -> None:
    ours, theirs = pair.hub.embed_text(TEXTS, SAME), pair.package.embed_text(TEXTS, SAME)
    assert np.abs(loss(theirs, ours)).max() < ROUNDING
    assert loss(ours[[0, 0, 1]], ours[[1, 2, 2]]).min() > 0.01


def test_max_text_tokens_is_the_difference_of_long_texts(pair: Pair) -> None:
    """Fault 45: the package reads 77 tokens, the hub 512."""
    whole = replace(SAME, max_text_tokens=512)
    theirs = pair.package.embed_text([LONG], whole)
    assert np.abs(loss(theirs, pair.hub.embed_text([LONG], SAME))).max() < ROUNDING
    assert loss(theirs, pair.hub.embed_text([LONG], whole)).min() > 0.001
    ten = replace(SAME, max_text_tokens=10)
    assert np.abs(loss(pair.package.embed_text([LONG], ten), pair.hub.embed_text([LONG], ten))).max() < ROUNDING
    texts = [*TEXTS, "z" * 76, LONG]
    for protocol, cut in ((whole, 2), (SAME, 2), (ten, 4)):
        assert pair.package.count_cut(texts, protocol) == cut
    assert pair.hub.count_cut(texts, SAME) == 2
    assert pair.hub.count_cut(texts, whole) == 0


def test_quantize_int16_is_the_difference_of_quiet_clips(pair: Pair) -> None:
    """Fault 31: the package rounds by itself; here the protocol does, once, for both."""
    quiet = Waveform(CLIPS[0].samples / 10_000, RATE)
    plain = replace(SAME, quantize_int16=False)
    rounded, exact = windows(SAME, quiet), windows(plain, quiet)
    for heard, protocol in ((rounded, SAME), (exact, plain)):
        both = pair.package.embed_audio(heard, protocol), pair.hub.embed_audio(heard, protocol)
        assert np.abs(loss(*both)).max() < ROUNDING
    assert loss(pair.package.embed_audio(rounded, SAME), pair.package.embed_audio(exact, plain)).min() > 10 * ROUNDING


def test_the_window_is_the_difference_of_long_clips(pair: Pair) -> None:
    """Windows of the protocol agree; left to each library, a long fused clip is shrunk in different ways."""
    long = clip(25, 500)
    tiles = replace(NAMED["full-clip"], quantize_int16=True)
    heard = windows(tiles, long)
    assert [len(window) for window in heard] == [480_000, 480_000, 240_000]
    assert np.abs(loss(pair.package.embed_audio(heard, tiles), pair.hub.embed_audio(heard, tiles))).max() < ROUNDING
    native = replace(NAMED["processor-native"], quantize_int16=True)
    (whole,) = windows(native, long)
    theirs = pair.package.embed_audio([whole], native)
    np.testing.assert_array_equal(theirs, pair.package.embed_audio([whole], native))  # seeded anew
    np.random.seed(native.seed)
    lost = loss(theirs, pair.hub.embed_audio([whole], native)).item()
    # With the same draws an unfused clip is cut at the same place.
    assert lost > 2 * ROUNDING if pair.package.fused else abs(lost) < ROUNDING


def test_missing_tokenizers_are_one_line(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault 80."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        LaionClap(str(pair.checkpoint), device="cpu")
    assert "the hub's cache lacks roberta-base, bert-base-uncased, facebook/bart-base: fetch" in str(caught.value)
    assert "\n" not in str(caught.value)
