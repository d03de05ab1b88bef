"""Fixture ``audio``: the sound of a test case as the model would get it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch

from pytest_audioretrieval.audio.decode import decode
from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.tensors import ClipTensors
from pytest_audioretrieval.errors import AudioError
from pytest_audioretrieval.pinning.protocol import named

MODEL = """
class Silent:
    device, text_limit = "cpu", 77
    def __init__(self, device): pass
    def embed_audio(self, windows, protocol): raise AssertionError("embedded")
    def embed_text(self, texts, protocol): raise AssertionError("embedded")
    def count_cut(self, texts, protocol): return 0
"""

INI = """
[pytest]
pythonpath = .
addopts = -p no:benchmark -p no:hypothesispytest -p no:cacheprovider
retrieval_model = silent:Silent
retrieval_dataset = clips
"""

#: Stereo at 44.1 kHz, 12 s at 48 kHz, and one second of mono at 48 kHz.
RATES = {"stereo": 44_100, "long": 48_000, "short": 48_000}


def sound(name: str) -> np.ndarray:
    rng = np.random.default_rng(len(name))
    shape = {"stereo": (44_100, 2), "long": (576_000, 1), "short": (48_000, 1)}[name]
    return (rng.integers(-20_000, 20_000, shape) / 32_768).astype(np.float32)


def write(folder: Path) -> Path:
    folder.mkdir()
    (folder / "dataset.toml").write_text('name = "noises"\nlicence = "CC0-1.0"\n')
    lines = []
    for name, rate in RATES.items():
        soundfile.write(folder / f"{name}.wav", sound(name), rate, subtype="PCM_16")
        lines.append(json.dumps({"id": name, "audio": f"{name}.wav", "captions": [f"a {name} noise"]}))
    (folder / "captions.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture
def clips(tmp_path: Path) -> tuple[Clip, ...]:
    folder = write(tmp_path / "noises")

    def reader(name: str) -> Clip:
        return Clip(name, "0" * 64, lambda: decode(folder / f"{name}.wav", name=name))

    return tuple(reader(name) for name in RATES)


def test_a_clip_is_mono_at_the_rate_of_the_protocol(clips: tuple[Clip, ...]) -> None:
    """The mean of the channels, resampled by soxr itself."""
    tensors = ClipTensors(clips, named("short-clip"), "cpu")
    stereo = tensors["stereo"]
    assert (stereo.dtype, stereo.shape, stereo.device.type) == (torch.float32, (48_000,), "cpu")
    expected = soxr.resample(sound("stereo").mean(axis=1, dtype=np.float64).astype(np.float32), 44_100, 48_000, "HQ")
    np.testing.assert_allclose(stereo.numpy(), expected, atol=1e-7)
    assert np.array_equal(tensors["short"].numpy(), sound("short")[:, 0])


@pytest.mark.parametrize(("protocol", "length"), [("short-clip", 480_000), ("full-clip", 576_000)])
def test_a_long_clip_is_what_the_protocol_keeps_of_it(protocol: str, length: int, clips: tuple[Clip, ...]) -> None:
    found = ClipTensors(clips, named(protocol), "cpu")["long"]
    assert np.array_equal(found.numpy(), sound("long")[:length, 0])


def test_clips_come_in_document_order_and_others_are_unknown(clips: tuple[Clip, ...]) -> None:
    tensors = ClipTensors(clips, named("short-clip"), "cpu")
    assert list(tensors) == ["stereo", "long", "short"]
    assert len(tensors) == 3
    with pytest.raises(KeyError, match="absent"):
        tensors["absent"]


def test_nothing_is_decoded_before_it_is_asked_for(tmp_path: Path) -> None:
    def damaged() -> None:
        raise AudioError("clip 'x' is damaged")

    tensors = ClipTensors([Clip("x", "0" * 64, damaged)], named("short-clip"), "cpu")  # type: ignore[arg-type]
    assert list(tensors) == ["x"]
    with pytest.raises(AudioError, match="'x' is damaged"):
        tensors["x"]


def test_a_test_gets_it_from_the_fixture(pytester: pytest.Pytester) -> None:
    write(pytester.path / "clips")
    pytester.makeini(INI)
    pytester.makepyfile(
        silent=MODEL,
        test_sound="""
        import pytest

        @pytest.mark.retrieval(directions=["t2a"])
        def test_sound(audio, dataset, retriever, protocol):
            assert list(audio) == [clip.id for clip in dataset.clips] == ["stereo", "long", "short"]
            assert {name: tuple(samples.shape) for name, samples in audio.items()} == {
                "stereo": (48_000,), "long": (480_000,), "short": (48_000,)
            }
            assert str(audio["short"].device) == retriever.device
            assert protocol.window == "first"
        """,
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)


def test_a_damaged_clip_fails_the_test_that_hears_it(pytester: pytest.Pytester) -> None:
    folder = write(pytester.path / "clips")
    (folder / "short.wav").write_bytes(b"no sound")
    pytester.makeini(INI)
    pytester.makepyfile(
        silent=MODEL,
        test_sound="""
        import pytest

        @pytest.mark.retrieval(directions=["t2a"])
        @pytest.mark.parametrize("name", ["long", "short"])
        def test_sound(audio, name):
            audio[name]
        """,
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*AudioError: clip 'short': found an unreadable file*"])
