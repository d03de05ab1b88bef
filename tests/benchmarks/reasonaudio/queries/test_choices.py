"""Two-option items: both clips hold the named sounds, one violates a constraint (ReasonAudio, 5.1)."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import ReasonChoice, make_choices
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import Negation, Presence
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import make_queries
from pytest_audioretrieval.benchmarks.reasonaudio.queries.templates import TASKS
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.reasonaudio.toy_corpus import corpus, right

CORPUS = corpus(500, 24)
CHOICES = make_choices(CORPUS, 40, seed=1)
BY_ID = {clip.id: clip for clip in CORPUS}


def of(task: str) -> list[ReasonChoice]:
    return [choice for choice in CHOICES if choice.task == task]


def test_forty_of_each_task() -> None:
    assert [choice.id for choice in CHOICES] == [f"{task}-choice-{n:03d}" for task in TASKS for n in range(1, 41)]


@pytest.mark.parametrize("task", TASKS)
def test_one_clip_meets_the_query_and_the_other_breaks_more_than_a_presence(task: str) -> None:
    for choice in of(task):
        good, bad = BY_ID[choice.right], BY_ID[choice.wrong]
        assert all(right(constraint, good) for constraint in choice.constraints), choice
        (broken,) = (constraint for constraint in choice.constraints if not right(constraint, bad))
        assert not isinstance(broken, Presence), choice
        named = {sound for constraint in choice.constraints for sound in constraint.sounds}
        if isinstance(broken, Negation):
            named.add(broken.sound)
        assert all(right(Presence(sound), bad) for sound in named), choice


def test_no_item_repeats_and_each_has_a_query_of_its_own() -> None:
    assert len({(choice.text, choice.right, choice.wrong) for choice in CHOICES}) == len(CHOICES)
    assert len({choice.text for choice in CHOICES}) == len(CHOICES)


def test_clips_are_spread() -> None:
    """Of 200 clips on each side at least 170 differ, and none occurs more than a few times."""
    for side in ([choice.right for choice in CHOICES], [choice.wrong for choice in CHOICES]):
        assert len(set(side)) >= 170
        assert max(Counter(side).values()) <= 4


def test_counting_sounds_is_no_way_to_choose() -> None:
    """The clip with fewer sounds is right about as often as wrong; ties count one half."""
    for task in TASKS:
        sizes = [(len(BY_ID[c.right].events), len(BY_ID[c.wrong].events)) for c in of(task)]
        fewer = sum((good < bad) + 0.5 * (good == bad) for good, bad in sizes) / len(sizes)
        assert 0.4 <= fewer <= 0.65, task
    assert sum(len(BY_ID[c.right].events) == len(BY_ID[c.wrong].events) for c in CHOICES) > 100


def test_the_queries_are_the_first_to_be_asked() -> None:
    queries = make_queries(CORPUS, 20, seed=1)
    first = [choice.text for choice in CHOICES if int(choice.id[-3:]) <= 20]
    assert [query.text for query in queries] == first


def test_the_same_arguments_give_the_same_choices() -> None:
    assert make_choices(corpus(500, 24), 40, seed=1) == CHOICES
    assert make_choices(CORPUS, 40, seed=2) != CHOICES


def test_each_constraint_of_a_mix_is_broken_at_times() -> None:
    broken = Counter(
        constraint.kind
        for choice in of("mix")
        for constraint in choice.constraints
        if not right(constraint, BY_ID[choice.wrong])
    )
    assert set(broken) == {"negation", "order", "overlap", "duration"}
    assert min(broken.values()) >= 3


def test_a_corpus_that_cannot_give_as_many_is_told_in_one_line() -> None:
    with pytest.raises(DataError, match=r"^12 clips give \d+ negation queries, expected 40"):
        make_choices(corpus(12, 8), 40, seed=1)
