"""Rendering of a scene in integer arithmetic: the same bytes on every machine."""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import TYPE_CHECKING

from pytest_audioretrieval.benchmarks.masb.builtin.recipe import Scene
from pytest_audioretrieval.data.rendered import RATE
from pytest_audioretrieval.data.sounds.render import recording
from pytest_audioretrieval.errors import PinError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: All clips have this length, so that it tells nothing; a front-end that repeats short clips then has a longer silence
#: before each repeat than between the two sounds.
LENGTH = 5 * RATE
GAP = RATE // 5
#: Longest part of a recording in a clip; for the property duration, the shorter one lasts ``SHORT``.
LONG, SHORT = RATE * 3 // 2, RATE // 2
FADE = RATE // 50
#: RMS of a recording while it sounds; twice that and half of it are 12 dB apart, and the peakiest stays in 16 bits.
LEVEL = 1_100
#: Energy is summed over 10 ms; a recording sounds where it is within 20 dB of its loudest 10 ms.
WINDOW = RATE // 100
ACTIVE = 100


def render(scene: Scene) -> npt.NDArray[np.int16]:
    """Return the clip of a scene, int16 [240,000], 48 kHz: a recording, 0.2 s of silence, the other recording.

    Raises:
        PinError: the clip would exceed full scale.
    """
    import numpy as np

    total = np.zeros(LENGTH, dtype=np.int32)
    start = 0
    for name in scene.recordings:
        more = name == scene.more
        level = (LEVEL * 2 if more else LEVEL // 2) if scene.axis == "loudness" else LEVEL
        samples = _cut(name, SHORT if scene.axis == "duration" and not more else LONG)
        end = start + samples.size
        total[start:end] = samples * ((level << 12) // _rms(name)) >> 12
        start = end + GAP
    if np.abs(total).max() > 32_767:
        raise PinError(f"scene {scene!r} clips", remedy="reinstall the package, its recipe is damaged")
    return total.astype(np.int16)


def _cut(name: str, length: int) -> npt.NDArray[np.int32]:
    """Return the first ``length`` samples of a recording from its onset, faded out."""
    import numpy as np

    samples = _from_onset(name)[:length].copy()
    samples[-FADE:] = samples[-FADE:] * np.arange(FADE, 0, -1, dtype=np.int32) // FADE
    return samples


@cache
def _from_onset(name: str) -> npt.NDArray[np.int32]:
    """Return a recording from 10 ms before its onset, for at most ``LONG``."""
    samples = recording(name)
    energy = _energy(samples)
    first = int((energy * ACTIVE >= energy.max()).argmax())
    start = max(first - 1, 0) * WINDOW
    return samples[start : start + LONG].astype("int32")


@cache
def _rms(name: str) -> int:
    """Return the RMS of a recording over the windows in which it sounds."""
    energy = _energy(_from_onset(name))
    sounding = energy[energy * ACTIVE >= energy.max()]
    return isqrt(int(sounding.sum()) // (sounding.size * WINDOW))


def _energy(samples: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.int64]:
    """Return the energy of each whole window, int64 [n

    WINDOW].
    """
    import numpy as np

    whole = samples[: samples.size // WINDOW * WINDOW].astype(np.int64).reshape(-1, WINDOW)
    return np.asarray((whole**2).sum(axis=1), dtype=np.int64)
