"""Relevance from the samples of clips and the English of queries, without metadata."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.api import load_dataset
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.atomic_sounds import read_sound
from pytest_audioretrieval.data.sounds.render import FOLDER
from pytest_audioretrieval.data.types import Clip, Dataset
from tests.benchmarks.reasonaudio.builtin.event_detector import RATE, Detected, EventDetector
from tests.benchmarks.reasonaudio.builtin.query_parser import Condition, QueryParser, Spans, is_met

pytestmark = pytest.mark.slow

#: The recordings that the dataset is said to be made of.
LABELS = (
    "amen-break", "cat", "chime", "choir", "computer", "cow", "cowbell", "dog", "door", "drone", "drum-roll",
    "duck", "frog", "groove", "guitar-chord", "guitar-slide", "horse", "owl", "phone", "piano", "pig",
    "printer", "rewind", "robot", "rooster", "sauna", "sheep", "snare", "swoosh", "tabla-loop", "twang",
    "woodblock",
)  # fmt: skip
PARSER = QueryParser(LABELS)
#: A fade, which no gain fits, touches two frames at most.
FADING = 2

Samples = npt.NDArray[np.int16]


@pytest.fixture(scope="module")
def sounds() -> dict[str, Samples]:
    return {label: read_sound(Path(str(FOLDER / f"{label}.flac")), label).samples for label in LABELS}


@pytest.fixture(scope="module")
def detector(sounds: dict[str, Samples]) -> EventDetector:
    return EventDetector(sounds)


@pytest.fixture(scope="module")
def reasoning() -> Dataset:
    return load_dataset("reasoning")


@pytest.fixture(scope="module")
def heard(reasoning: Dataset, detector: EventDetector) -> dict[str, Detected]:
    """The detected sounds of each clip that is relevant to a query or part of a choice, by clip id."""
    wanted = {clip for query in reasoning.queries for clip in query.clips}
    wanted |= {pair.clip for choice in reasoning.choices for pair in (choice.right, choice.wrong)}
    return {clip.id: detector.detect(samples(clip)) for clip in reasoning.clips if clip.id in wanted}


def samples(clip: Clip) -> Samples:
    return np.rint(clip.read().samples[:, 0] * 32_768).astype(np.int16)


def asks(text: str) -> list[Condition]:
    return PARSER.parse(text)


def meets(asked: list[Condition], spans: Spans) -> bool:
    return all(is_met(ask, spans) for ask in asked)


# The built-in dataset


def test_nothing_is_heard_but_the_sounds(heard: dict[str, Detected]) -> None:
    assert len(heard) > 300
    for clip, found in heard.items():
        assert 2 <= len(found.spans) <= 8, clip
        assert len(found.unexplained) <= FADING * len(found.spans), (clip, found)


def test_names_tell_what_is_heard(heard: dict[str, Detected]) -> None:
    """Starts agree to the sample, ends up to a pause and a frame."""
    for clip, found in heard.items():
        named = [re.split(r"[.-](?=\d)", part) for part in clip.split("_")[2:]]
        assert {label: int(start) for label, start, _ in named} == {k: start for k, (start, _) in found.spans.items()}
        assert all(-100 <= found.spans[label][1] - int(end) <= 20 for label, _, end in named), (clip, found)


def test_the_relevant_clips_are_those_that_meet_the_query(reasoning: Dataset, heard: dict[str, Detected]) -> None:
    assert len(reasoning.queries) == 100
    for query in reasoning.queries:
        asked = asks(query.text)
        right = {clip for clip, found in heard.items() if meets(asked, found.spans)}
        assert right == set(query.clips), query


def test_one_of_two_meets_the_query_and_both_hold_its_sounds(reasoning: Dataset, heard: dict[str, Detected]) -> None:
    assert len(reasoning.choices) == 200
    for choice in reasoning.choices:
        assert choice.right.text == choice.wrong.text
        right, wrong = (heard[pair.clip].spans for pair in (choice.right, choice.wrong))
        asked = asks(choice.right.text)
        broken = [ask.kind for ask in asked if not is_met(ask, wrong)]
        assert meets(asked, right), choice
        assert len(broken) == 1, (choice, broken)
        assert {sound for ask in asked if ask.kind != "not there" for sound in ask.sounds} <= wrong.keys(), choice


# The detector itself, on clips mixed here


def mixed(sounds: dict[str, Samples], *events: tuple[str, int, int, float], noise: int = 0) -> Samples:
    """Return ten seconds with each sound from and to a millisecond, at a gain."""
    clip = np.random.default_rng(0).integers(-noise, noise + 1, 10 * RATE).astype(np.float64)
    for label, start, end, gain in events:
        first, last = start * RATE // 1000, end * RATE // 1000
        clip[first:last] += gain * sounds[label][: last - first]
    return np.rint(clip).astype(np.int16)


SEQUENCE = (("dog", 300, 1500, 0.8), ("groove", 1610, 3200, 1.0), ("cow", 3300, 3800, 0.71))
OVERLAPS = (("amen-break", 120, 2500, 0.71), ("choir", 2200, 3740, 1.0), ("piano", 3430, 5000, 0.75))


@pytest.mark.parametrize("events", [SEQUENCE, OVERLAPS], ids=["one after another", "overlapping"])
def test_the_ear_hears_what_was_mixed(
    detector: EventDetector, sounds: dict[str, Samples], events: tuple[tuple[str, int, int, float], ...]
) -> None:
    found = detector.detect(mixed(sounds, *events, noise=1))
    assert list(found.spans) == [label for label, *_ in events]
    for label, start, end, _ in events:
        assert found.spans[label][0] == start
        assert -100 <= found.spans[label][1] - end <= 20
    assert len(found.unexplained) <= FADING * len(events)


def test_the_ear_notices_what_it_does_not_know(detector: EventDetector, sounds: dict[str, Samples]) -> None:
    clip = mixed(sounds, *SEQUENCE)
    clip[5 * RATE : 6 * RATE] += np.random.default_rng(1).integers(-999, 1000, RATE).astype(np.int16)
    found = detector.detect(clip)
    assert list(found.spans) == ["dog", "groove", "cow"]
    assert sum(5000 <= at < 6000 for at in found.unexplained) == 50


# The reader itself


def test_texts_by_hand() -> None:
    assert asks("guitar chord after dog, and dog after pig; cat must not occur") == [
        Condition("<", ("pig", "dog")),
        Condition("<", ("dog", "guitar-chord")),
        Condition("not there", ("cat",)),
    ]
    assert asks("a clip that has cow and cowbell in it, with no owl or drum roll at any point") == [
        *(Condition("there", (label,)) for label in ("cow", "cowbell")),
        *(Condition("not there", (label,)) for label in ("owl", "drum-roll")),
    ]
    assert asks("at least 1 second of duck without a break, with frog only after duck has ended") == [
        Condition(">=", ("duck",), 1000.0),
        Condition("<", ("duck", "frog")),
    ]
    with pytest.raises(AssertionError):
        asks("dog near cat")


def test_what_is_met_by_hand() -> None:
    spans = {"dog": (0.0, 1000.0), "cat": (1100.0, 2960.0), "cow": (2500.0, 3500.0)}
    assert meets(asks("dog finishes before cat begins, and cat and cow at the same time"), spans)
    assert not meets(asks("cow finishes before cat begins"), spans)
    assert not meets(asks("cat finishes before cow begins"), spans)
    assert not meets(asks("dog and cat at the same time"), spans)
    assert not meets(asks("dog lasting 2 seconds or more"), spans)
    with pytest.raises(AssertionError, match="who could tell"):
        meets(asks("cat lasting 1.9 seconds or more"), spans)
