"""Windows of a recording as a model gets them: mono, at one rate (pinned protocol, "Fixtures")."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

from pytest_audioretrieval.audio.types import Samples, Waveform, Windowing
from pytest_audioretrieval.errors import AudioError

#: Samples by which soxr's length may differ: it rounds a half up where ``round`` rounds to even.
RESAMPLER_SLACK = 2


def prepare(waveform: Waveform, protocol: Windowing, *, name: str = "clip") -> list[Samples]:
    """Return the windows of a clip that a model embeds.

    Channels are averaged before resampling, so a resampler can never run along the channel axis (fault 38).

    Args:
        waveform: a decoded clip.
        protocol: ``sample_rate``, ``quantize_int16``, ``window`` and ``seconds`` are applied.
        name: how errors call the clip.

    Returns:
        float32 arrays of shape ``(n,)`` at ``protocol.sample_rate``: one for the windows ``"first"``, ``"crops"`` and
        ``"processor"`` (both the whole clip), one or more of at most ``protocol.window_samples`` for ``"tiles"``.

    Raises:
        AudioError: no sample is left at the new rate, or a sample is not finite.
    """
    samples = resample(to_mono(waveform), waveform.rate, protocol.sample_rate)
    if not len(samples):
        found = f"{len(waveform.samples)} frames at {waveform.rate} Hz, which is no sample at {protocol.sample_rate} Hz"
        raise AudioError(f"clip {name!r}: found {found}", expected="at least 1", remedy="remove the clip")
    if not np.isfinite(samples).all():
        raise AudioError(
            f"clip {name!r}: found samples that are not finite", expected="finite samples", remedy="decode it again"
        )
    if protocol.quantize_int16:
        samples = quantize_int16(samples)
    match protocol.window:
        case "first":
            return [first(samples, protocol.window_samples)]
        case "tiles":
            return tiles(samples, protocol.window_samples)
        case "crops" | "processor":
            return [samples]


def to_mono(waveform: Waveform) -> Samples:
    """Return the mean of the channels, summed in float64: float32 ``(n,)``."""
    mono: npt.NDArray[np.float64] = waveform.samples.mean(axis=1, dtype=np.float64)
    return mono.astype(np.float32)


def resample(mono: Samples, rate: int, target: int) -> Samples:
    """Resample from ``rate`` to ``target`` Hz by soxr HQ: float32 ``(round(n * target / rate),)``.

    Raises:
        AudioError: the resampler returned another duration.
    """
    if rate == target:
        return mono
    length = round(len(mono) * target / rate)
    found: Samples = soxr.resample(mono, rate, target, quality="HQ")
    if abs(len(found) - length) > RESAMPLER_SLACK:
        what = f"found {len(found)} samples after soxr {rate} -> {target}"
        raise AudioError(what, expected=f"{length}", remedy="reinstall soxr")
    return np.pad(found, (0, max(0, length - len(found))))[:length]


def first(samples: Samples, length: int) -> Samples:
    """Return the first ``length`` samples, or all if there are fewer; cut as a copy, which frees the rest."""
    return samples[:length].copy() if len(samples) > length else samples


def tiles(samples: Samples, length: int) -> list[Samples]:
    """Cut the whole clip into windows of ``length`` samples, one after another; the last one may be shorter."""
    return [samples[start : start + length] for start in range(0, len(samples), length)]


def quantize_int16(samples: Samples) -> Samples:
    """Round through int16 as laion_clap does: clip to +-1, multiply by 32767, truncate toward zero (fault 31)."""
    integers = (np.clip(samples, -1.0, 1.0) * np.float32(32767.0)).astype(np.int16)
    return (integers / 32767.0).astype(np.float32)
