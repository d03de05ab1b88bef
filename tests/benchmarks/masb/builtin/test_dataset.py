"""Dataset ``binding``: its choices, the uselessness of any prior on mirror pairs, and its loading."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.masb.builtin import dataset, recipe, timbre, wording
from pytest_audioretrieval.benchmarks.masb.builtin.recipe import PROPERTIES, Phrasing, Scene
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.registry import source
from pytest_audioretrieval.data.sounds.recipe import split_of
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS
from pytest_audioretrieval.data.types import Choice, Dataset, Option
from pytest_audioretrieval.errors import PinError
from pytest_audioretrieval.pinning.pins import load_pins

PINNED = load_pins().dataset_fingerprint("builtin/binding")
MIRRORS = [f"mirror-{axis}" for axis in PROPERTIES]
Scorer = Callable[[Option], float]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def binding(cache: Path) -> Dataset:
    return dataset.load_binding(PINNED, cache=cache)


def accuracy(choices: list[Choice], score: Scorer) -> float:
    """Return the share of right choices; a tie counts one half."""
    return float(np.mean([(np.sign(score(c.right) - score(c.wrong)) + 1) / 2 for c in choices]))


def chance(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def words(text: str) -> list[str]:
    return sorted(re.findall(r"[\w'-]+", text))


def in_slice(binding: Dataset, part: str) -> list[Choice]:
    return [choice for choice in binding.choices if choice.slice == part]


# What is asked


def test_counts(binding: Dataset) -> None:
    assert Counter(c.slice for c in binding.choices) == {**dict.fromkeys(MIRRORS, 120), **dict.fromkeys(PROPERTIES, 80)}
    assert Counter(r.slice for r in binding.rewordings) == dict.fromkeys((*PROPERTIES, "timbre"), 80)
    assert len(binding.clips) == len({clip.id for clip in binding.clips}) == 480
    assert len({clip.digest for clip in binding.clips}) == 480
    assert {c.right.clip for c in binding.choices} == {clip.id for clip in binding.clips}
    for asked in (binding.choices, binding.rewordings):
        assert len({one.id for one in asked}) == len(asked)
        assert set(Counter(one.cluster for one in asked).values()) == {2}


def test_a_couple_belongs_to_one_scene_and_none_was_trained_on(binding: Dataset) -> None:
    owners = defaultdict(set)
    for choice in binding.choices:
        owners[choice.cluster].add(choice.slice)
    assert len(owners) == 300
    assert all(len(slices) == 1 for slices in owners.values())
    assert {split_of(couple.split("+")) for couple in owners} == {"test"}


def test_both_captions_are_about_one_clip_and_hold_the_same_words(binding: Dataset) -> None:
    for choice in binding.choices:
        assert choice.right.clip == choice.wrong.clip
        assert choice.right.text != choice.wrong.text
        assert words(choice.right.text) == words(choice.wrong.text)


def test_a_mirror_pair_exchanges_right_and_wrong(binding: Dataset) -> None:
    for part in MIRRORS:
        choices = in_slice(binding, part)
        for one, other in zip(choices[::2], choices[1::2], strict=True):
            assert one.cluster == other.cluster
            assert one.right.clip != other.right.clip
            assert (one.right.text, one.wrong.text) == (other.wrong.text, other.right.text)


def test_half_the_clips_are_told_either_way() -> None:
    for axis in PROPERTIES:
        pairs, lone = recipe.mirror_pairs(axis), recipe.lone_scenes(axis)
        assert Counter(phrasing.style for _, phrasing in pairs) == {"strict": 30, "natural": 30}
        assert Counter(phrasing.more_first for _, phrasing in pairs) == {True: 30, False: 30}
        assert Counter(strict.more_first for _, (strict, _) in lone) == {True: 20, False: 20}
        assert all([t.style for t in ts] == ["strict", "natural"] for _, ts in lone)
        names = list(RECORDINGS)
        for scenes in ([scene for scene, _ in pairs], [scene for scene, _ in lone]):
            assert sum(names.index(s.more) < names.index(s.less) for s in scenes) == len(scenes) / 2
            assert sum(s.recordings[0] == s.more for s in scenes) == len(scenes) / (1 if axis == "order" else 2)


# No prior helps


@pytest.mark.parametrize("seed", range(5))
def test_a_text_only_scorer_is_right_in_one_of_each_mirror_pair(binding: Dataset, seed: int) -> None:
    by_cluster = defaultdict(list)
    for part in MIRRORS:
        assert accuracy(in_slice(binding, part), lambda pair: chance(f"{seed}/{pair.text}")) == 0.5
        for choice in in_slice(binding, part):
            by_cluster[choice.cluster].append(choice)
    for choices in by_cluster.values():
        assert accuracy(choices, lambda pair: chance(f"{seed}/{pair.text}")) == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_an_audio_only_scorer_is_at_one_half_everywhere(binding: Dataset, seed: int) -> None:
    for part in (*MIRRORS, *PROPERTIES):
        assert accuracy(in_slice(binding, part), lambda pair: chance(f"{seed}/{pair.clip}")) == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_a_favourite_named_first_is_no_help(binding: Dataset, seed: int) -> None:
    """Over both phrasings of a clip the sounds are named in both orders, so a favourite is right once."""

    def score(pair: Option) -> float:
        named = [(pair.text.find(phrase), name) for name, phrases in RECORDINGS.items() for phrase in phrases]
        return chance(f"{seed}/{min(found for found in named if found[0] >= 0)[1]}")

    for part in (*MIRRORS, *PROPERTIES):
        assert accuracy(in_slice(binding, part), score) == 0.5


# Captions


DOG_THEN_BELL = Scene("order", ("dog", "small-bell"), "dog")


@pytest.fixture
def plainest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "draw", lambda key, below: 0)


@pytest.mark.usefixtures("plainest")
@pytest.mark.parametrize(
    ("scene", "phrasing", "caption", "swap", "paraphrase"),
    [
        (
            DOG_THEN_BELL,
            Phrasing("strict", True),
            "dogs barking before a bell ringing",
            "a bell ringing before dogs barking",
            "the barking of dogs earlier than the ringing of a bell",
        ),
        (
            DOG_THEN_BELL.mirrored(),
            Phrasing("strict", True),
            "a bell ringing before dogs barking",
            "dogs barking before a bell ringing",
            "the ringing of a bell earlier than the barking of dogs",
        ),
        (
            DOG_THEN_BELL,
            Phrasing("natural", False),
            "a bell ringing, preceded by dogs barking",
            "dogs barking, preceded by a bell ringing",
            "the ringing of a bell, following the barking of dogs",
        ),
        (
            Scene("loudness", ("dog", "small-bell"), "small-bell"),
            Phrasing("strict", False),
            "dogs barking quieter than a bell ringing",
            "a bell ringing quieter than dogs barking",
            "the barking of dogs weaker in level than the ringing of a bell",
        ),
        (
            Scene("duration", ("dog", "small-bell"), "small-bell"),
            Phrasing("natural", True),
            "a bell ringing for a long time and dogs barking only briefly",
            "dogs barking for a long time and a bell ringing only briefly",
            "the ringing of a bell for a good while and the barking of dogs just for a moment",
        ),
    ],
)
def test_captions_by_hand(scene: Scene, phrasing: Phrasing, caption: str, swap: str, paraphrase: str) -> None:
    assert wording.caption_set(scene, phrasing) == (caption, swap, paraphrase)


def test_texts_read_as_english_and_are_unique(binding: Dataset) -> None:
    rewordings = [text for r in binding.rewordings for text in (r.text, r.swap, r.paraphrase)]
    lone = [text for c in binding.choices if c.slice in PROPERTIES for text in (c.right.text, c.wrong.text)]
    mirrored = [c.right.text for c in binding.choices if c.slice in MIRRORS]
    for texts in (rewordings, lone + mirrored):
        assert len(set(texts)) == len(texts)
    for text in rewordings + lone + mirrored:
        assert not re.search(r"\b(\w+) \1\b|\b(?:a|an|the) (?:a|an|the)\b", text), text
        assert not re.search(r"\ba [aeio]|\ban [^aeio]|[{}]|  | ,|,,|^ | $", text), text


def test_rewordings_are_those_of_the_swap_choices_and_timbre(binding: Dataset) -> None:
    told = {r.id: r for r in binding.rewordings if r.slice != "timbre"}
    choices = {c.id: c for c in binding.choices if c.slice in PROPERTIES}
    assert told.keys() == choices.keys()
    for name, reworded in told.items():
        choice = choices[name]
        assert (reworded.text, reworded.swap) == (choice.right.text, choice.wrong.text)
        assert (reworded.recording, reworded.cluster, reworded.slice) == (
            choice.right.clip,
            choice.cluster,
            choice.slice,
        )


def test_a_paraphrase_has_another_form_and_other_names(binding: Dataset) -> None:
    for reworded in binding.rewordings:
        assert words(reworded.text) == words(reworded.swap)
        assert words(reworded.text) != words(reworded.paraphrase)
        if reworded.slice != "timbre":
            for name in reworded.cluster.split("+"):
                (caption,) = _longest(name, reworded.text)
                (paraphrase,) = _longest(name, reworded.paraphrase)
                assert RECORDINGS[name].index(paraphrase) == (RECORDINGS[name].index(caption) + 1) % 4


def _longest(name: str, text: str) -> list[str]:
    """Return the longest phrase of a recording that a text holds."""
    return sorted((phrase for phrase in RECORDINGS[name] if phrase in text), key=len)[-1:]


def test_timbre_swaps_adjectives_and_rewords_them_by_the_synonym_map(binding: Dataset) -> None:
    items = [r for r in binding.rewordings if r.slice == "timbre"]
    for reworded in items:
        i, j = reworded.cluster.split("+")
        strict = re.fullmatch(rf"a (\w+) {i} and a (\w+) {j}", reworded.text)
        natural = re.fullmatch(rf"the {i} sounds (\w+) and the {j} sounds (\w+)", reworded.text)
        x, y = (strict or natural).groups()  # type: ignore[union-attr]
        assert x != y
        assert reworded.swap == (f"a {y} {i} and a {x} {j}" if strict else f"the {i} sounds {y} and the {j} sounds {x}")
        a, b = timbre.TIMBRES[x], timbre.TIMBRES[y]
        expected = f"a {a} {i} together with a {b} {j}" if strict else f"the {i} has a {a} tone and the {j} a {b} one"
        assert reworded.paraphrase == expected
        assert reworded.recording == reworded.cluster
    assert not set(timbre.TIMBRES) & set(timbre.TIMBRES.values())
    assert len(set(timbre.TIMBRES.values())) == len(timbre.TIMBRES)


# Loading


def test_it_is_named_pinned_and_rendered_once(binding: Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (binding.name, binding.revision, binding.fingerprint) == ("binding", recipe.REVISION, PINNED)
    assert load_pins().datasets["builtin/binding"].revision == recipe.REVISION
    monkeypatch.setattr(dataset, "render", lambda scene: pytest.fail(f"{scene} was rendered"))
    assert source("binding", Path()).load(Loading(cache, lambda items, what: items)) == binding
    assert [path.name for path in cache.iterdir()] == [f"binding-{recipe.REVISION}.json"]


def test_a_clip_reads_as_its_digest_says(binding: Dataset) -> None:
    for clip in binding.clips[::37]:
        wave = clip.read()
        assert (wave.rate, wave.samples.dtype, wave.samples.shape) == (48_000, np.float32, (240_000, 1))
        integers = np.round(wave.samples[:, 0] * 32_768).astype("<i2")
        assert hashlib.sha256(integers.tobytes()).hexdigest() == clip.digest


@pytest.mark.slow
def test_another_pin_is_refused(cache: Path) -> None:
    with pytest.raises(PinError, match=f"dataset 'binding': fingerprint is {PINNED}, expected 0 as PINS.json states"):
        dataset.load_binding("0", cache=cache)
