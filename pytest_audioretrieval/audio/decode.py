"""Decoding and checks: from a sound file or a user's array to a ``Waveform``."""

from __future__ import annotations

import io
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import soundfile

from pytest_audioretrieval.audio.truncation import shortfall
from pytest_audioretrieval.audio.types import Samples, Waveform
from pytest_audioretrieval.errors import AudioError

#: Lowest and highest rate in Hz; a header with any other is damaged, or holds something else than a rate.
RATES = (1_000, 768_000)
#: Most samples (frames times channels) of a clip: 2 GiB of float32, 1.7 hours of 44.1 kHz stereo.
MAX_SAMPLES = 2**29
#: Lossy codecs overshoot full scale by a few percent; unscaled integers by a factor of thousands.
MAX_AMPLITUDE = 4.0
#: Most channels of an array; one with more is taken for an array with swapped axes.
MAX_ARRAY_CHANNELS = 8
#: Peak of a silent clip, -120 dBFS: below it nothing is left of a 16-bit recording.
SILENCE_PEAK = 1e-6


@dataclass(frozen=True)
class Facts:
    """Peak, silence and duration of a clip.

    Attributes:
        peak: greatest absolute sample; an int16 round trip would clip a file with more than 1.0.
        silent: whether the peak is below -120 dBFS; all silent clips get the same embedding.
        seconds: duration.
    """

    peak: float
    silent: bool
    seconds: float


def decode(source: Path | bytes, *, name: str) -> Waveform:
    """Read a recording as it is stored: every channel, at its own rate, full scale +-1.

    Args:
        source: a file, or its bytes, in any format libsndfile reads (WAV, FLAC, OGG, MP3, AIFF, ...).
        name: how errors call the clip.

    Raises:
        AudioError: the file is unreadable, damaged, cut short or empty; its rate or length is impossible; a sample is
            not finite, or above 4 in absolute value.
    """
    content = source if isinstance(source, bytes) else _content(source, name)
    if not content:
        _refuse(name, "an empty file", "an audio file", "restore or remove it")
    try:
        with soundfile.SoundFile(_opened(source, content)) as file:
            _check_header(file, name)
            samples: Samples = file.read(dtype="float32", always_2d=True)
            missing = shortfall(content, file.format, file.extra_info, file.frames, len(samples))
            rate = int(file.samplerate)
    except soundfile.SoundFileError as error:
        reason = " ".join(str(getattr(error, "error_string", error)).split()).rstrip(".")
        _refuse(name, f"an unreadable file ({reason})", "a file libsndfile reads", "restore or re-encode it")
    if missing:
        _refuse(name, missing, "a whole file", "restore or re-encode it")
    _check_values(samples, name)
    return Waveform(samples, rate)


def check(samples: npt.NDArray[Any], rate: int, *, name: str) -> Waveform:
    """Return a copy of an array as a clip, or raise the reason why it cannot be one.

    Args:
        samples: floats in +-1, of shape ``(frames,)`` or ``(frames, channels)`` with at most 8 channels.
        rate: frames per second.
        name: how errors call the clip.

    Raises:
        AudioError: ``samples`` is no numpy array of floats, has no frames, another shape, or one whose axes cannot be
            told apart; ``rate`` is impossible; a sample is not finite, or above 4 in absolute value.
    """
    _check_rate(rate, name)
    _check_type(samples, name)
    _check_shape(samples.shape, name)
    _check_values(samples, name)
    columns = samples if samples.ndim == 2 else samples[:, np.newaxis]
    return Waveform(np.array(columns, dtype=np.float32, order="C"), int(rate))


def describe(waveform: Waveform) -> Facts:
    """Return peak, silence and duration of a clip."""
    peak = float(np.max(np.abs(waveform.samples)))
    return Facts(peak=peak, silent=peak < SILENCE_PEAK, seconds=len(waveform.samples) / waveform.rate)


def _content(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        found = f"that {path} cannot be read ({error.strerror})"
        _refuse(name, found, "a readable file", "restore it or correct its path")


def _opened(source: Path | bytes, content: bytes) -> str | io.BytesIO:
    """Return the file's bytes, or the path of an MP3: some start with bytes that only the name tells from noise."""
    if isinstance(source, Path) and source.suffix.lower() == ".mp3":
        return str(source)
    return _Content(content)


class _Content(io.BytesIO):
    """Bytes of a file, in which a damaged header may seek before the start; libsndfile's callback lets no error out."""

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        try:
            return super().seek(offset, whence)
        except ValueError:
            return self.tell()


def _check_header(file: soundfile.SoundFile, name: str) -> None:
    _check_rate(file.samplerate, name)
    if file.frames == 0:
        _refuse(name, "0 frames", "at least 1", "restore or remove it")
    if file.frames * file.channels > MAX_SAMPLES:
        found = f"a header that declares no length or {file.frames} frames of {file.channels} channels"
        _refuse(name, found, f"at most {MAX_SAMPLES} samples", "cut it into shorter clips or re-encode it")


def _check_rate(rate: object, name: str) -> None:
    low, high = RATES
    if isinstance(rate, bool) or not isinstance(rate, Integral) or not low <= int(rate) <= high:
        _refuse(name, f"sample rate {rate!r}", f"a whole number of Hz from {low} to {high}", "state the true rate")


def _check_type(samples: object, name: str) -> None:
    expected = "a numpy array of floats in +-1, shape (frames,) or (frames, channels)"
    kind = type(samples)
    if kind.__module__.partition(".")[0] == "torch":
        _refuse(name, f"a torch {kind.__name__}", expected, "pass tensor.cpu().numpy(), channels last")
    if not isinstance(samples, np.ndarray):
        _refuse(name, f"a {kind.__name__}", expected, "decode it to an array first")
    if samples.dtype.kind in "iu":
        scale = 2 ** (8 * samples.dtype.itemsize - 1)
        centre = f"subtract {scale} and " if samples.dtype.kind == "u" else ""
        _refuse(name, f"{samples.dtype} samples", expected, f"{centre}divide by {scale} (full scale) as float32")
    if samples.dtype.kind != "f":
        _refuse(name, f"{samples.dtype} samples", expected, "convert it to float32")


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    expected = f"(frames,) or (frames, channels) with at most {MAX_ARRAY_CHANNELS} channels"
    if 0 in shape or not shape:
        _refuse(name, f"an array of shape {shape}", "at least 1 frame", "remove the clip or decode it again")
    if len(shape) > 2:
        _refuse(name, f"an array of shape {shape}", expected, "pass one clip at a time")
    if len(shape) == 1 or shape[1] == 1:
        return
    frames, channels = shape
    if channels > MAX_ARRAY_CHANNELS >= frames:
        _refuse(name, f"shape {shape}, which reads as (channels, frames)", expected, "transpose it")
    if channels > MAX_ARRAY_CHANNELS:
        _refuse(name, f"shape {shape}, which reads as {channels} channels", expected, "pass one clip at a time")
    if frames <= MAX_ARRAY_CHANNELS:
        _refuse(name, f"shape {shape}, whose axes cannot be told apart", expected, "pass a longer or a mono clip")


def _check_values(samples: npt.NDArray[Any], name: str) -> None:
    peak = float(np.max(np.abs(samples)))
    if not np.isfinite(peak):
        bad = np.argwhere(~np.isfinite(samples))[0]
        value = samples[tuple(bad)]
        _refuse(name, f"{value} at frame {bad[0]}", "finite samples", "repair or remove it")
    if peak > MAX_AMPLITUDE:
        _refuse(name, f"an amplitude of {peak:g}", "floats in +-1", "divide integers by full scale (32768 for int16)")


def _refuse(name: str, found: str, expected: str, remedy: str) -> NoReturn:
    raise AudioError(f"clip {name!r}: found {found}", expected, remedy)
