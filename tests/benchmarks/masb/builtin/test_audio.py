"""Agreement of captions with the sounds of ``binding``, from samples alone.

Recordings are found by normalised cross-correlation, levels and lengths read off the envelope; nothing here asks the
recipe.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from scipy import fft

from pytest_audioretrieval.benchmarks.masb.builtin import render
from pytest_audioretrieval.benchmarks.masb.builtin.dataset import load_binding
from pytest_audioretrieval.benchmarks.masb.builtin.recipe import SUSTAINED, Scene
from pytest_audioretrieval.data.sounds.render import recording
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import PinError
from pytest_audioretrieval.pinning.pins import load_pins

pytestmark = pytest.mark.slow

Signal = npt.NDArray[np.float32]
RATE = 48_000
#: More than the longest clip sounds, and an excerpt of a recording.
SPAN = fft.next_fast_len(170_000, real=True)
BY_PHRASE = {phrase: name for name, phrases in RECORDINGS.items() for phrase in phrases}
PHRASE = re.compile(
    r"(?<![\w-])(" + "|".join(map(re.escape, sorted(BY_PHRASE, key=len, reverse=True))) + r")(?![\w'-])"
)


@pytest.fixture(scope="module")
def binding() -> Dataset:
    return load_binding(load_pins().dataset_fingerprint("builtin/binding"))


@pytest.fixture(scope="module")
def samples(binding: Dataset) -> dict[str, Signal]:
    return {clip.id: clip.read().samples[:, 0] for clip in binding.clips}


# What a caption claims


class Claim(NamedTuple):
    """The claim of a caption: the recording with more of a property, the other one, and the property."""

    more: str
    less: str
    axis: str


#: What stands between, before and behind the two names -> whether the first named has more of it.
CUES = {
    "* before *": ("order", True),
    "* after *": ("order", False),
    "first *, then *": ("order", True),
    "*, preceded by *": ("order", False),
    "* louder than *": ("loudness", True),
    "* quieter than *": ("loudness", False),
    "* at a high volume and * at a low volume": ("loudness", True),
    "* at a low volume and * at a high volume": ("loudness", False),
    "* longer than *": ("duration", True),
    "* shorter than *": ("duration", False),
    "* for a long time and * only briefly": ("duration", True),
    "* only briefly and * for a long time": ("duration", False),
}


def claim(caption: str) -> Claim:
    one, other = (BY_PHRASE[phrase] for phrase in PHRASE.findall(caption))
    axis, first_named = CUES[PHRASE.sub("*", caption)]
    return Claim(one, other, axis) if first_named else Claim(other, one, axis)


# What is heard


class Measured(NamedTuple):
    """One recording in a clip: its place, its level in dB while it sounds, seconds from its first to its last sound."""

    place: int
    level: float
    lasts: float


@cache
def excerpt(name: str) -> tuple[npt.NDArray[np.complex64], int, float]:
    """Return a tenth of a second of a recording from its onset: spectrum, size, energy."""
    sound = recording(name).astype(np.float32) / 32_768
    rms = envelope(sound)
    start = int((rms > 0.15 * rms.max()).argmax()) * 240
    part = sound[start : start + RATE // 10]
    return np.conj(fft.rfft(part, SPAN)), part.size, float(part @ part)


def places(clip: Signal, names: tuple[str, str]) -> list[tuple[int, str]]:
    """Return the place of each recording's excerpt in order; it correlates with the clip there almost perfectly."""
    spectrum = fft.rfft(clip[:SPAN], SPAN)
    total = np.concatenate([[0.0], np.cumsum(clip[:SPAN] ** 2, dtype=np.float64)])
    found = []
    for name in names:
        conjugate, size, energy = excerpt(name)
        inner = fft.irfft(spectrum * conjugate, SPAN)[: SPAN - size + 1]
        alike = np.maximum(inner, 0) ** 2 / np.maximum(total[size:] - total[:-size], 1e-4 * energy)
        start = int(alike.argmax())
        assert alike[start] > 0.99**2 * energy, name
        found.append((start, name))
    return sorted(found)


def split(clip: Signal, second: int) -> int:
    """Return the start of the second sound: after the last silence of about 0.2 s before ``second``."""
    sounding = np.flatnonzero(clip[: second + 1])
    return int(sounding[1:][np.diff(sounding) > 0.19 * RATE][-1])


def envelope(part: Signal) -> npt.NDArray[np.float64]:
    """Return the RMS of each 5 ms."""
    whole = part[: part.size // 240 * 240].astype(np.float64).reshape(-1, 240)
    found: npt.NDArray[np.float64] = np.sqrt((whole**2).mean(axis=1))
    return found


def measured(place: int, part: Signal) -> Measured:
    rms = envelope(part)
    loud = rms[rms > 0.1 * rms.max()]
    audible = np.flatnonzero(rms > 0.03 * rms.max())
    return Measured(place, 20 * np.log10(np.sqrt((loud**2).mean())), (audible[-1] + 1 - audible[0]) * 240 / RATE)


def hear(clip: Signal, names: tuple[str, str]) -> dict[str, Measured]:
    found = places(clip, names)
    start = split(clip, found[1][0])
    parts = (clip[:start], clip[start:SPAN])
    return {name: measured(place, part) for (place, name), part in zip(found, parts, strict=True)}


@pytest.fixture(scope="module")
def heard(binding: Dataset, samples: dict[str, Signal]) -> dict[str, dict[str, Measured]]:
    """The measured recordings of each clip that its caption names, by clip."""
    claims = {choice.right.clip: claim(choice.right.text) for choice in binding.choices}
    return {name: hear(samples[name], (told.more, told.less)) for name, told in claims.items()}


def test_captions_claim_what_is_heard(binding: Dataset, heard: dict[str, dict[str, Measured]]) -> None:
    for choice in binding.choices:
        told, wrong = claim(choice.right.text), claim(choice.wrong.text)
        assert (wrong.more, wrong.less, wrong.axis) == (told.less, told.more, told.axis)
        assert choice.slice.removeprefix("mirror-") == told.axis
        assert choice.cluster == "+".join(sorted((told.more, told.less)))
        more, less = (heard[choice.right.clip][name] for name in (told.more, told.less))
        if told.axis == "order":
            assert more.place < less.place, choice
        if told.axis == "loudness":
            assert more.level - less.level == pytest.approx(12.04, abs=1.2), choice
        else:
            assert more.level - less.level == pytest.approx(0, abs=10 if told.axis == "duration" else 1.2), choice
        if told.axis == "duration":
            assert 1.2 < more.lasts <= 1.5, choice
            assert less.lasts <= 0.5, choice


def test_a_clips_name_says_what_is_heard(heard: dict[str, dict[str, Measured]]) -> None:
    for clip, sounds in heard.items():
        first, second = sorted(sounds, key=lambda name: sounds[name].place)
        one, other = sounds[first], sounds[second]
        told = re.fullmatch(r"b\d{4}-(order|loudness|duration)-(.+)-then-(.+)", clip)
        assert told
        loud = ("loud", "quiet") if one.level > other.level else ("quiet", "loud")
        long = ("long", "short") if one.lasts > other.lasts else ("short", "long")
        marks = {"order": ("", ""), "loudness": loud, "duration": long}[told[1]]
        assert (told[2], told[3]) == tuple(f"{m}-{n}".strip("-") for m, n in zip(marks, (first, second), strict=True))


def halves(clip: Signal, sounds: dict[str, Measured]) -> tuple[dict[str, Signal], int]:
    """Return each recording as it sounds in a clip, and the start of the second one."""
    first, second = sorted(sounds, key=lambda name: sounds[name].place)
    start = split(clip, sounds[second].place)
    return {first: np.trim_zeros(clip[:start]), second: np.trim_zeros(clip[start:])}, start


def test_mirrors_differ_in_the_property_alone(
    binding: Dataset, samples: dict[str, Signal], heard: dict[str, dict[str, Measured]]
) -> None:
    mirrors = [choice for choice in binding.choices if choice.slice.startswith("mirror-")]
    for choice, mirror in zip(mirrors[::2], mirrors[1::2], strict=True):
        one, other = choice.right.clip, mirror.right.clip
        a, start = halves(samples[one], heard[one])
        b, start_of_mirror = halves(samples[other], heard[other])
        assert a.keys() == b.keys()
        assert (list(a) == list(b)) == (choice.slice != "mirror-order")
        if choice.slice == "mirror-order":
            assert all(np.array_equal(a[name], b[name]) for name in a)
        if choice.slice == "mirror-loudness":
            assert start == start_of_mirror
            assert_scaled(samples[one], samples[other], start)
        if choice.slice == "mirror-duration":
            for name in a:
                shorter, longer = sorted((a[name], b[name]), key=len)
                assert np.array_equal(shorter[: 46 * 480], longer[: 46 * 480])


def assert_scaled(one: Signal, other: Signal, start: int) -> None:
    """Check that either half of one clip is four times that of the other, within rounding to 16 bits."""
    for part in (slice(0, start), slice(start, None)):
        louder, quieter = sorted((one[part], other[part]), key=lambda x: float(np.abs(x).max()), reverse=True)
        assert np.abs(louder - 4 * quieter).max() <= 16 / 32_768


def test_clips_are_five_seconds_and_none_clips(samples: dict[str, Signal]) -> None:
    for clip in samples.values():
        assert clip.size == 5 * RATE
        assert not clip[SPAN - RATE // 5 :].any()
        assert 0.05 < np.abs(clip).max() < 32_767 / 32_768


def test_sustained_recordings_are_those_that_sound_for_a_second_and_a_half() -> None:
    found = set()
    for name in RECORDINGS:
        sound = recording(name).astype(np.float64)
        power = (sound[: sound.size // 480 * 480].reshape(-1, 480) ** 2).mean(axis=1)
        start = max(int((power >= power.max() / 100).argmax()) - 1, 0) * 480
        quarters = sound[start : start + 72_000]
        if quarters.size == 72_000:
            rms = np.sqrt((quarters.reshape(6, 12_000) ** 2).mean(axis=1))
            found |= {name} if rms.min() >= rms.max() / 7 else set()
    assert found == SUSTAINED


def test_a_scene_that_clips_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "LEVEL", 20_000)
    with pytest.raises(PinError, match=r"scene Scene\(.*\) clips: reinstall the package"):
        render.render(Scene("order", ("dog", "vinyl-hiss"), "dog"))
