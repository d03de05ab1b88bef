"""Rendering of a composite in integer arithmetic: the same bytes on every machine (ReasonAudio, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.atomic_sounds import PER_MS, RATE, AtomicSound
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite, Event
from pytest_audioretrieval.data.sounds.recipe import between
from pytest_audioretrieval.errors import DataError

#: Range of the gain of an event in 1/256: -3 to 0 dB. Two sounds of peak 16,000 at once stay inside 16 bits.
GAIN = (181, 256)
#: Fade at the end of an event, 5 ms, so that a cut does not click.
FADE = 5 * PER_MS


def render(composite: Composite, sounds: Mapping[str, AtomicSound], seconds: int = 10) -> npt.NDArray[np.int16]:
    """Return the clip, int16 [seconds * 48000], 48 kHz: each event plays its sound from the start, the rest is silent.

    Args:
        composite: its ``id`` decides the gain of each event.
        sounds: by label, as ``read_sounds`` gives them.

    Raises:
        DataError: a sound is missing or shorter than its event, an event ends past the clip, or the sum passes 16 bits.
    """
    total = np.zeros(seconds * RATE, dtype=np.int32)
    for event in composite.events:
        _check(event, composite, sounds, 1000 * seconds)
        gain = between(f"{composite.id}/{event.sound}/gain", GAIN)
        total[event.start * PER_MS : event.end * PER_MS] += _played(event, sounds[event.sound], gain)
    if np.abs(total).max() > np.iinfo(np.int16).max:
        raise DataError(f"clip {composite.id}: more than two sounds at once exceed full scale", remedy="plan it again")
    return total.astype(np.int16)


def _played(event: Event, sound: AtomicSound, gain: int) -> npt.NDArray[np.int32]:
    samples = sound.samples[: event.duration * PER_MS].astype(np.int32) * gain >> 8
    ramp = np.arange(FADE, dtype=np.int32)[::-1]
    samples[-FADE:] = samples[-FADE:] * ramp[-len(samples) :] // FADE
    return samples


def _check(event: Event, composite: Composite, sounds: Mapping[str, AtomicSound], room: int) -> None:
    sound = sounds.get(event.sound)
    if sound is None:
        raise DataError(
            f"clip {composite.id}: sound {event.sound!r} is not among the {len(sounds)}", remedy="add its file"
        )
    if event.duration > sound.duration:
        raise DataError(
            f"clip {composite.id}: {sound.path} lasts {sound.duration} ms, its event {event.duration} ms",
            remedy="plan it again",
        )
    if event.end > room:
        raise DataError(f"clip {composite.id}: {event.sound!r} ends after {room} ms", remedy="render more seconds")
