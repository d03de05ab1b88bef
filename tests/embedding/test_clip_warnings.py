"""Warnings of silent and of loud clips."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pytest_audioretrieval.audio.decode import describe
from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.audio.window import prepare
from pytest_audioretrieval.embedding.clip_warnings import ClipWarnings
from pytest_audioretrieval.pinning.protocol import Protocol


def heard(*waves: Waveform) -> ClipWarnings:
    clip_warnings = ClipWarnings()
    for position, wave in enumerate(waves):
        clip_warnings.note(f"c{position}", describe(wave), prepare(wave, Protocol()))
    return clip_warnings


def wave(*channels: float) -> Waveform:
    return Waveform(np.tile(np.float32(channels), (480, 1)), 48_000)


def test_a_clip_that_is_decoded_again_is_named_once() -> None:
    clip_warnings, silence = ClipWarnings(), wave(0.0)
    for name in ("a", "b", "a"):
        clip_warnings.note(name, describe(silence), prepare(silence, Protocol()))
    with pytest.warns(UserWarning, match=r"^2 clips \(a, b\) are silent"):
        clip_warnings.warn()


def test_silence_and_channels_that_cancel_out_are_said() -> None:
    """Fault 21: silent clips tie; opposite channels average to silence."""
    with pytest.warns(UserWarning, match=r"2 clips \(c0, c2\) are silent"):
        heard(wave(0.0), wave(0.5), wave(0.5, -0.5)).warn()


def test_samples_past_full_scale_are_said() -> None:
    """Fault 32: an MP3 may decode above 1.0."""
    with pytest.warns(UserWarning, match=r"1 clip \(c1\) is above full scale"):
        heard(wave(0.5), wave(1.0026)).warn()


def test_nothing_is_said_of_ordinary_clips() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heard(wave(0.5), wave(1.0)).warn()
