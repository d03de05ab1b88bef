"""Built-in sounds: pinned bytes, disjoint splits, and captions that match the clips."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from scipy import fft

from pytest_audioretrieval.data.sounds import recipe, render, wording
from pytest_audioretrieval.data.sounds.recipe import Composition
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS
from pytest_audioretrieval.errors import PinError

Signal = npt.NDArray[np.float64]

TEST = recipe.compositions("test")
#: All sounds one after another.
SEQUENCES = [clip for clip in TEST if len(clip) > 1 and all(len(moment) == 1 for moment in clip)][:20]
#: All sounds at once.
TOGETHER = [clip for clip in TEST if len(clip) == 1 and len(clip[0]) > 1][:20]
FOLDER = Path(str(render.FOLDER))

BY_PHRASE = {phrase: name for name, phrases in RECORDINGS.items() for phrase in phrases}
LONGEST_FIRST = sorted(BY_PHRASE, key=len, reverse=True)
PHRASE = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, LONGEST_FIRST)) + r")(?![\w'-])")


def captioned() -> list[tuple[Composition, str]]:
    return [(clip, text) for clip in TEST for text in wording.captions(clip, "test")]


def recordings_of(clips: list[Composition]) -> set[frozenset[str]]:
    return {frozenset(name for moment in clip for name in moment) for clip in clips}


# What is shipped


def test_recordings_are_what_their_origins_say() -> None:
    rows = render.origins()
    assert list(rows) == list(RECORDINGS)
    assert {path.stem for path in FOLDER.glob("*.flac")} == set(RECORDINGS)
    assert len(rows) >= 64
    for row in rows.values():
        assert row["licence"] == "CC0-1.0"
        assert re.fullmatch(r"https?://\S+", row["source"])
        assert re.fullmatch(r"[0-9a-f]{64}", row["origin_sha256"])
        assert hashlib.sha256((FOLDER / row["file"]).read_bytes()).hexdigest() == row["sha256"]
    assert len({row["origin_sha256"] for row in rows.values()}) == len(rows)


def test_recordings_are_small_short_and_leave_room_for_three_at_once() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 6_000_000
    for name in RECORDINGS:
        info = soundfile.info(FOLDER / f"{name}.flac")
        assert (info.samplerate, info.channels, info.subtype) == (48_000, 1, "PCM_16")
        assert 0 < info.frames <= 3 * 48_000
        assert np.abs(render.recording(name).astype(int)).max() == 18_000


@pytest.mark.parametrize(
    ("clip", "size", "digest"),
    [
        ((("cow",),), 145_606, "c3926166374aa3d40b813414d0607b8b361eb6f8f728030f5f37961b92e937c4"),
        (
            (("door",), ("cow",), ("small-bell",)),
            415_708,
            "a4309125cca8f7d1ca8ca3264efead138498ee6fc6d8c0e67426ff704ece9a55",
        ),
        ((("dog", "piano"),), 144_967, "1bdab5651c7a90e7f8b65ac69b2aa419854142e8d938e60305fa2ad70244deee"),
    ],
)
def test_rendered_bytes_are_pinned(clip: Composition, size: int, digest: str) -> None:
    samples = render.mix(clip)
    assert samples.size == size
    assert hashlib.sha256(samples.astype("<i2").tobytes()).hexdigest() == digest


def test_a_clip_is_its_recordings_times_their_gains() -> None:
    """Each sample is that of the definition in floating point, within the rounding of its sounds."""
    clip = (("dog", "piano"), ("snap",))
    lengths = {name: render.recording(name).size for name in ("dog", "piano", "snap")}
    expected = np.zeros(10 * 48_000)
    for placed in recipe.layout(clip, lengths):
        sound = render.recording(placed.recording)
        expected[placed.start : placed.start + sound.size] += sound * (placed.gain / 256)
    samples = render.mix(clip)
    error = expected[: samples.size] - samples
    assert error.min() >= 0
    assert error.max() < 2
    assert not expected[samples.size :].any()


# Splits


@pytest.mark.slow
def test_splits_share_neither_compositions_nor_sets_of_recordings() -> None:
    near4, near8 = recipe.training_compositions(18_000, 4), recipe.training_compositions(18_000, 8)
    splits = [[*near4, *near8], recipe.compositions("validation"), TEST]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not set(splits[one]) & set(splits[other])
        assert not recordings_of(splits[one]) & recordings_of(splits[other])
    for clips in (near4, near8, *splits[1:]):
        assert len(set(clips)) == len(clips)
    assert recipe.training_compositions(500, 4) == near4[:500]


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_split_is_as_large_as_its_plan(split: recipe.Split) -> None:
    plan = recipe.PLANS[split]
    of_size = {size: list(recipe.sets_of(split, size)) for size in (1, 2)}
    sizes = Counter(Counter(frozenset(n for moment in clip for n in moment) for clip in recipe.compositions(split)))
    found = Counter((len(names), count) for names, count in sizes.items())
    assert found == {(1, 1): plan.singles, (2, 3): plan.pairs, (3, 13): plan.groups, (3, 1): plan.trios}
    assert all(len(of_size[size]) >= count for size, count in ((1, plan.singles), (2, plan.pairs)))


def test_three_sounds_have_thirteen_arrangements_in_time() -> None:
    """The number of weak orderings of three things is 13 (a Fubini number)."""
    assert [len(set(recipe.arrangements(tuple("abc")[:n]))) for n in (1, 2, 3)] == [1, 3, 13]
    for clip in recipe.arrangements(("a", "b", "c")):
        assert sorted(name for moment in clip for name in moment) == ["a", "b", "c"]


# Captions


def parse(caption: str) -> list[set[str]]:
    """Return the moments of a caption in their order in time, from cue words alone."""
    text = PHRASE.sub(lambda match: f"<{BY_PHRASE[match[1]]}>", caption)
    for _ in range(2):
        text = re.sub(r"> (?:together with|over|mixed with) <", "+", text)
    moments = [set(inside.split("+")) for inside in re.findall(r"<([^>]+)>", text)]
    cues = re.sub(r"<[^>]+>", "*", text)
    if not re.search(r"\b(?:then|followed|first|afterwards|after|before|next|starts|end|ends|preceded)\b", cues):
        return [set().union(*moments)]
    backwards = re.search(r"\* after \*|preceded by|^\* at the end", cues)
    return moments[::-1] if backwards else moments


@pytest.mark.parametrize(
    ("caption", "moments"),
    [
        ("a cow mooing before a door slamming, with a bell's ring at the end", ["cow", "door", "small-bell"]),
        ("a cow mooing, preceded by a door slamming", ["door", "cow"]),
        ("after the moo of a cow, one hears a wood block knocking", ["cow", "woodblock"]),
        ("a high tom-tom together with a cowbell's clank and a cork's pop", ["high-tom cowbell pop"]),
        ("the hum of a drone over a cow mooing after a sword swish", ["swish", "drone cow"]),
    ],
)
def test_the_parse_itself(caption: str, moments: list[str]) -> None:
    assert parse(caption) == [set(moment.split()) for moment in moments]


def test_captions_name_every_sound_in_the_order_of_hearing() -> None:
    for clip, text in captioned():
        assert parse(text) == [set(moment) for moment in clip], text


def test_captions_name_every_sound_by_one_of_its_phrases() -> None:
    for clip, text in captioned():
        for name in (name for moment in clip for name in moment):
            assert any(phrase in text for phrase in RECORDINGS[name]), (name, text)


def test_captions_are_unique_and_three_a_clip() -> None:
    texts = [text for _, text in captioned()]
    assert len(texts) == 3 * len(TEST)
    assert len(set(texts)) == len(texts)
    assert len(BY_PHRASE) == 4 * len(RECORDINGS)


def test_captions_read_as_english() -> None:
    for _, text in captioned():
        assert not re.search(r"\b(\w+) \1\b", text), text
        assert not re.search(r"\b(?:a|an|the) (?:a|an|the)\b|the sound of the sound", text), text
        assert not re.search(r"  |[{}]| ,|,,|^ | $", text), text
        assert not re.search(r"\ba [aeio]|\ban [^aeio]", text), text


def test_captions_come_from_the_phrases_asked_for_and_as_many_as_there_are_forms() -> None:
    clip = (("cow",), ("door",))
    few = wording.captions(clip, "train", 99, phrases=1)
    assert len(few) == len(wording.SEQUENCE) == len(set(few))
    assert all("a cow mooing" in text and "a door slamming" in text for text in few)
    assert wording.captions(clip, "train", 2, phrases=1) == few[:2]


# What is heard


def windows(clip: Signal, size: int) -> Signal:
    """Return the energy of every stretch of ``size`` samples."""
    total = np.concatenate([[0.0], np.cumsum(clip**2)])
    energy: Signal = total[size:] - total[:-size]
    return energy


def correlate(clip: Signal, sound: Signal) -> Signal:
    """Return the inner product of ``sound`` with the clip at every start."""
    size = fft.next_fast_len(clip.size + sound.size)
    product = fft.irfft(fft.rfft(clip, size) * np.conj(fft.rfft(sound, size)), size)
    inner: Signal = product[: clip.size - sound.size + 1]
    return inner


@pytest.mark.slow
def test_sounds_in_sequence_are_heard_in_that_order() -> None:
    """The normalised cross-correlation of each recording peaks at its place with 1, so nothing else sounds there."""
    assert len(SEQUENCES) == 20
    for clip in SEQUENCES:
        samples = render.mix(clip).astype(np.float64)
        heard = []
        for (name,) in clip:
            sound = render.recording(name).astype(np.float64)
            alike = correlate(samples, sound) / np.sqrt(np.maximum(windows(samples, sound.size), 1) * (sound @ sound))
            start = int(alike.argmax())
            assert alike[start] > 0.999, (clip, name)
            heard.append((start, start + sound.size, name))
        assert [(name,) for _, _, name in sorted(heard)] == list(clip)
        for (_, end, _), (start, _, _) in pairwise(heard):
            assert 4_800 <= start - end <= 14_400


def unmix(samples: Signal, sounds: dict[str, Signal]) -> tuple[dict[str, int], float]:
    """Return the start of each sound in a mix, and the unexplained share of energy (matching pursuit, refined)."""
    found: dict[str, tuple[int, float]] = {}

    def rest(without: str) -> Signal:
        left = samples.copy()
        for name, (start, gain) in found.items():
            if name != without:
                left[start : start + sounds[name].size] -= gain * sounds[name]
        return left

    def place(name: str) -> tuple[float, tuple[int, float]]:
        inner, energy = correlate(rest(name), sounds[name]), sounds[name] @ sounds[name]
        start = int(np.abs(inner).argmax())
        return inner[start] ** 2 / energy, (start, inner[start] / energy)

    while len(found) < len(sounds):
        loudest = max((name for name in sounds if name not in found), key=lambda name: place(name)[0])
        found[loudest] = place(loudest)[1]
    for _ in range(12):
        for name in sounds:
            found[name] = place(name)[1]
        left = rest("")
        unexplained = float(left @ left / (samples @ samples))
        if unexplained < 1e-5:
            break
    return {name: start for name, (start, _) in found.items()}, unexplained


@pytest.mark.slow
def test_sounds_together_overlap() -> None:
    assert len(TOGETHER) == 20
    for clip in TOGETHER:
        sounds = {name: render.recording(name).astype(np.float64) for name in clip[0]}
        starts, unexplained = unmix(render.mix(clip).astype(np.float64), sounds)
        assert unexplained < 1e-5, clip
        assert max(starts.values()) - min(starts.values()) <= 1_200
        assert max(starts.values()) < min(starts[name] + sounds[name].size for name in sounds)


@pytest.mark.slow
def test_no_clip_is_too_long_or_clips() -> None:
    for clip in TEST:
        samples = render.mix(clip)
        assert samples.size <= 480_000
        assert np.abs(samples.astype(int)).max() < 32_767


def test_a_layout_that_passes_ten_seconds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "layout", lambda clip, lengths: [recipe.Placement("cow", 400_000, 100)])
    with pytest.raises(PinError, match="longer than 10 s"):
        render.mix((("cow",),))


def test_a_mix_that_clips_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "layout", lambda clip, lengths: [recipe.Placement("cow", 0, 150)] * 4)
    with pytest.raises(PinError, match="clips"):
        render.mix((("cow",),))
