"""Tests of the pair scorer for tests: its rules by hand, and the facts that other tests rely on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse
from pytest_audioretrieval.testing.rule_scorer import RuleScorer, alphabetical, fade
from tests.embedding.fake import clip

SPEC = "pytest_audioretrieval.testing.rule_scorer:RuleScorer"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a dog barks", 1 / 3),
        ("A DOG, barks!", 1 / 3),
        ("rain", 0.0),
        ("...", 0.0),
        ("bell bell", 0.0),
        ("a bell and drum", 4 / 6),
        ("drum bell", -1.0),
    ],
)
def test_the_order_of_the_alphabet_by_hand(text: str, expected: float) -> None:
    assert alphabetical(text) == pytest.approx(expected, abs=1e-15)


@given(st.lists(st.sampled_from(["a", "bell", "drum", "loud", "quiet"]), min_size=2, max_size=9), st.data())
def test_two_words_that_change_places_always_change_it(words: list[str], data: st.DataObject) -> None:
    one, two = (data.draw(st.integers(0, len(words) - 1)) for _ in range(2))
    swapped = list(words)
    swapped[one], swapped[two] = words[two], words[one]
    assert (alphabetical(" ".join(words)) == alphabetical(" ".join(swapped))) is (words[one] == words[two])


@pytest.mark.parametrize(
    ("window", "expected"), [([2, 1], 0.6), ([1, 2], -0.6), ([1, 1], 0), ([0, 0, 0], 0), ([3], 1), ([1, 1, 1], 1 / 3)]
)
def test_fading_by_hand(window: list[float], expected: float) -> None:
    assert fade(np.array(window, dtype=np.float32)) == pytest.approx(expected, abs=1e-15)


def test_scores_by_hand_depend_on_sound_and_text() -> None:
    """A fading sound scores (1 + 0.6 / 3) / 2 = 0.6; the other order of words, or a swelling sound, turns the sign."""
    falls, swells = np.array([2, 1], dtype=np.float32), np.array([1, 2], dtype=np.float32)
    windows = [falls, falls, swells, swells]
    texts = ["a dog barks", "drum bell"] * 2
    scores = RuleScorer(device="auto").score(windows, texts, Protocol())
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, [0.6, 0.2, 0.4, 0.8], rtol=1e-6)


@pytest.mark.slow
def test_its_liking_for_a_position_goes_in_the_mean() -> None:
    embedder = SingleModel(parse(SPEC), Resources(Protocol(), None, Tracker()))
    shown_first, shown_second = embedder.text_preference([("bell drum", "drum bell"), ("bell", "drum")])
    np.testing.assert_allclose(shown_first, [1.0, 0.6], rtol=1e-6)
    np.testing.assert_allclose(shown_second, [0.8, 0.4], rtol=1e-6)
    assert (shown_first[1] + shown_second[1]) / 2 == 0.5


@pytest.mark.slow
def test_a_mirror_pair_turns_its_choice(tmp_path: Path) -> None:
    """Exchanged halves turn the sign, so one of the two comparisons is right whatever the texts say."""
    loud, soft = np.full(480, 0.5), np.full(480, 0.1)
    there, back = clip("there", np.r_[loud, soft]), clip("back", np.r_[soft, loud])
    texts = ("a dog barks, then a bell rings", "a bell rings, then a dog barks")
    pairs = [(text, item) for item in (there, back) for text in texts]
    embedder = SingleModel(parse(SPEC), Resources(Protocol(), tmp_path, Tracker()))
    scores = embedder.pair_scores(pairs)
    assert (scores[0] > scores[1]) is not (scores[2] > scores[3])
    np.testing.assert_allclose(scores[:2] + scores[2:], 1, rtol=1e-6)
    tiles = replace(Protocol(), window="tiles", seconds=0.01)
    halves = SingleModel(parse(SPEC), Resources(tiles, None, Tracker())).pair_scores(pairs)
    assert halves.tolist() == [0.5] * 4


@pytest.mark.slow
def test_its_file_is_its_weights(tmp_path: Path) -> None:
    means = Resources(Protocol(), tmp_path, Tracker())
    first, second = SingleModel(parse(SPEC), means), SingleModel(parse(SPEC), means)
    assert len(first.identity.weights_sha256) == 64
    pairs = [("a dog barks", clip("c", np.array([1, 0.5])))]
    assert first.pair_scores(pairs).tolist() == second.pair_scores(pairs).tolist()
    assert "model" in vars(first)
    assert "model" not in vars(second)
