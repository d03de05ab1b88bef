"""Triangular mel filters on the two scales that CLAP checkpoints were trained with."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Scale = Literal["htk", "slaney"]
Floats = npt.NDArray[np.float64]

#: HTK: ``2595 log10(1 + f / 700)`` mels at f Hz (Young et al., The HTK Book, 5.4.6).
HTK_FACTOR, HTK_CORNER = 2595.0, 700.0
#: Slaney: 200 / 3 Hz a mel up to 1 kHz, which is mel 15; above, 27 mels are a factor of 6.4 (Auditory Toolbox, 1998).
SLANEY_SLOPE, SLANEY_CORNER, SLANEY_STEP = 200.0 / 3.0, 1000.0, np.log(6.4) / 27.0


def mel_bank(*, mels: int, window: int, rate: int, low: float, high: float, scale: Scale) -> Floats:
    """Weight of every frequency bin in every mel band, float64 [window // 2 + 1, mels].

    Band edges are evenly spaced in mels from ``low`` to ``high`` Hz; a band rises from its left neighbour's centre to 1
    at its own and falls to its right neighbour's, linearly in Hz. On the slaney scale a band is divided by half its
    width in Hz, so that all bands have the same area.

    Args:
        mels: how many bands.
        window: samples of the Fourier transform.
        rate: Hz.
    """
    lowest, highest = _mels(np.array([low, high], dtype=np.float64), scale)
    edges = _hertz(np.linspace(lowest, highest, mels + 2), scale)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    bins = np.linspace(0, rate // 2, window // 2 + 1)[:, None]
    bank: Floats = np.maximum(0.0, np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)))
    return bank * (2.0 / (right - left)) if scale == "slaney" else bank


def _mels(hertz: Floats, scale: Scale) -> Floats:
    if scale == "htk":
        return np.asarray(HTK_FACTOR * np.log10(1.0 + hertz / HTK_CORNER))
    above = np.log(np.maximum(hertz, SLANEY_CORNER) / SLANEY_CORNER) / SLANEY_STEP
    return np.asarray(np.minimum(hertz, SLANEY_CORNER) / SLANEY_SLOPE + above)


def _hertz(mels: Floats, scale: Scale) -> Floats:
    if scale == "htk":
        return np.asarray(HTK_CORNER * (10.0 ** (mels / HTK_FACTOR) - 1.0))
    corner = SLANEY_CORNER / SLANEY_SLOPE
    return np.asarray(np.minimum(mels, corner) * SLANEY_SLOPE * np.exp(np.maximum(mels - corner, 0.0) * SLANEY_STEP))
