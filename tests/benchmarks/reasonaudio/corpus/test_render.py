"""Rendering: silence between events, each sound from its start, no click, no clipping, the same bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.atomic_sounds import PEAK, AtomicSound
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite, Event
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.plan import plan
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.render import FADE, GAIN, render
from pytest_audioretrieval.errors import DataError


def constant(label: str, milliseconds: int, value: int = PEAK) -> AtomicSound:
    return AtomicSound(label, np.full(48 * milliseconds, value, dtype=np.int16), "", Path(f"{label}.wav"))


def ramp(label: str, milliseconds: int) -> AtomicSound:
    values = (np.arange(48 * milliseconds) * 7919 % 30_001 - 15_000).astype(np.int16)
    return AtomicSound(label, values, "", Path(f"{label}.wav"))


SOUNDS = {
    f"s{number}": constant(f"s{number}", 700 + 150 * number, PEAK * (-1) ** (number // 5)) for number in range(10)
}
PLAN = plan({label: sound.duration for label, sound in SOUNDS.items()}, 60, 3)
PAIR = Composite(4, "sequential", (Event("s1", 100, 900), Event("s0", 2000, 2700)))


def test_a_clip_is_full_length_and_silent_outside_its_events() -> None:
    for clip in PLAN:
        found = render(clip, SOUNDS)
        assert (found.dtype, found.shape) == (np.int16, (480_000,))
        heard = np.zeros(480_000, dtype=bool)
        for event in clip.events:
            heard[48 * event.start : 48 * event.end - 1] = True
        assert not found[~heard].any()
    assert len(render(PLAN[0], SOUNDS, 12)) == 576_000


def test_no_sum_clips_even_where_all_samples_are_at_the_peak() -> None:
    greatest = [int(np.abs(render(clip, SOUNDS).astype(int)).max()) for clip in PLAN]
    assert max(greatest) <= 2 * PEAK <= 32_767
    assert max(greatest) > 1.5 * PEAK  # sounds do add up


def test_an_event_is_its_sound_from_the_start_at_one_gain() -> None:
    sounds = {"a": ramp("a", 3000), "b": ramp("b", 700)}
    found = render(Composite(0, "sequential", (Event("a", 0, 1234), Event("b", 2000, 2700))), sounds).astype(int)
    for sound, start, end in (("a", 0, 1234), ("b", 2000, 2700)):
        length = 48 * (end - start) - FADE
        heard, source = found[48 * start :][:length], sounds[sound].samples[:length].astype(int)
        gain = round(256 * heard.min() / source.min())
        assert GAIN[0] <= gain <= GAIN[1]
        np.testing.assert_array_equal(heard, source * gain // 256)


def test_events_fall_to_zero_in_5_ms() -> None:
    found = render(PAIR, SOUNDS).astype(int)
    end = 48 * 900
    tail = found[end - FADE - 1 : end]
    assert tail[-1] == 0
    assert np.diff(tail).max() < 0
    np.testing.assert_allclose(tail, tail[0] * np.arange(FADE, -1, -1) / FADE, atol=1)
    assert found[48 * 100] == found[end - FADE - 1] > 0


def test_gains_vary_between_events_and_clips() -> None:
    gains = {
        render(Composite(number, "sequential", PAIR.events), SOUNDS)[48 * start]
        for number in range(20)
        for start in (100, 2000)
    }
    assert len(gains) > 20
    assert {PEAK * gain >> 8 for gain in range(GAIN[0], GAIN[1] + 1)} >= gains


def test_bytes_are_pinned() -> None:
    sounds = {label: ramp(label, sound.duration) for label, sound in SOUNDS.items()}
    found = hashlib.sha256(b"".join(render(clip, sounds).astype("<i2").tobytes() for clip in PLAN))
    assert found.hexdigest() == "5f734396bac4b6b25ab9b2a2da968a8818f8eb84635b457bf0e69668f8dcd940"


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Event("s11", 0, 500), "sound 's11' is not among the 10: add its file"),
        (Event("s0", 0, 701), r"s0\.wav lasts 700 ms, its event 701 ms"),
        (Event("s0", 9500, 10_100), "'s0' ends after 10000 ms"),
    ],
)
def test_what_cannot_be_rendered(event: Event, message: str) -> None:
    with pytest.raises(DataError, match=message):
        render(Composite(0, "sequential", (event,)), SOUNDS)


def test_three_at_once_are_not_let_through() -> None:
    events = tuple(Event(f"s{number}", number, 700) for number in range(3))
    with pytest.raises(DataError, match="more than two sounds at once exceed full scale"):
        render(Composite(0, "sequential", events), SOUNDS)
