"""Queries, each compared with a brute force over the clips' names that shares no code with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite
from pytest_audioretrieval.benchmarks.reasonaudio.queries import queries
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import (
    Duration,
    Negation,
    Order,
    Overlap,
    Presence,
)
from pytest_audioretrieval.benchmarks.reasonaudio.queries.index import Index, positions
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import ReasonQuery, make_queries
from pytest_audioretrieval.benchmarks.reasonaudio.queries.templates import SHAPES, TASKS
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.reasonaudio.toy_corpus import clip, corpus, right

CORPUS = corpus(500, 24)
QUERIES = make_queries(CORPUS, 20, seed=1)


def relevant(constraints: Iterable[Any], clips: Iterable[Composite] = CORPUS) -> set[str]:
    return {c.id for c in clips if all(right(constraint, c) for constraint in constraints)}


def of(task: str) -> list[ReasonQuery]:
    return [query for query in QUERIES if query.task == task]


def test_twenty_of_each_task_numbered_from_one() -> None:
    assert [query.id for query in QUERIES] == [f"{task}-{n:03d}" for task in TASKS for n in range(1, 21)]
    assert all(query.id.startswith(query.task) for query in QUERIES)


@pytest.mark.parametrize("task", TASKS)
def test_relevance_by_brute_force(task: str) -> None:
    for query in of(task):
        assert set(query.clips) == relevant(query.constraints), query
        assert list(query.clips) == sorted(query.clips)
        assert 1 <= len(query.clips) <= 25


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_constraint_is_needed(task: str) -> None:
    """Without it, or with only the presence of its sounds, other clips would be relevant."""
    for query in of(task):
        for constraint in query.constraints:
            others = [c for c in query.constraints if c != constraint]
            assert relevant(others) > set(query.clips), query
            if not isinstance(constraint, Presence | Negation):
                assert relevant([*others, *map(Presence, constraint.sounds)]) > set(query.clips), query


def test_negated_sounds_occur_where_the_query_would_else_be_met() -> None:
    negated = [(query, c) for query in QUERIES for c in query.constraints if isinstance(c, Negation)]
    assert len(negated) >= 30
    for query, constraint in negated:
        assert relevant([*(c for c in query.constraints if c != constraint), Presence(constraint.sound)])


def test_no_duration_is_borderline() -> None:
    asked = [c for query in QUERIES for c in query.constraints if isinstance(c, Duration)]
    assert len(asked) >= 20
    for constraint in asked:
        lasts = [e.end - e.start for c in CORPUS for e in c.events if e.sound == constraint.sound]
        assert min(abs(d - constraint.at_least_ms) for d in lasts) >= 200
        assert constraint.at_least_ms % 500 == 0


def test_neither_a_text_nor_a_set_of_constraints_comes_twice() -> None:
    assert len({query.text for query in QUERIES}) == len(QUERIES)
    assert len({frozenset(query.constraints) for query in QUERIES}) == len(QUERIES)


@pytest.mark.slow
def test_a_text_that_was_asked_before_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other sounds can read the same: "rain and dog" may be two sounds or one."""
    monkeypatch.setattr(queries, "wording", lambda constraints, key: "the same")
    with pytest.raises(DataError, match="500 clips give 1 negation queries, expected 2"):
        make_queries(CORPUS, 2, seed=1)


def test_all_shapes_of_a_task_are_asked_about_equally_often() -> None:
    for task in TASKS:
        counts = Counter(tuple(c.kind for c in query.constraints) for query in of(task))
        assert set(counts) == set(SHAPES[task])
        assert max(counts.values()) - min(counts.values()) <= 1


def test_orders_of_three_are_chains() -> None:
    chains = [q.constraints for q in of("order") if len(q.constraints) == 2]
    assert chains
    for one, other in chains:
        assert isinstance(one, Order)
        assert isinstance(other, Order)
        assert one.second == other.first


@pytest.mark.slow
def test_the_same_arguments_give_the_same_queries() -> None:
    assert make_queries(corpus(500, 24), 20, seed=1) == QUERIES
    other = {query.text for query in make_queries(CORPUS, 20, seed=2)}
    assert len(other & {query.text for query in QUERIES}) < 10


def test_fewer_queries_are_the_beginning_of_more() -> None:
    few = make_queries(CORPUS, 6, seed=1)
    assert [q for q in QUERIES if int(q.id[-3:]) <= 6] == few


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clips", "per_task", "expected"),
    [
        ([], 1, "0 clips give 0 negation queries, expected 1, each with 1 to 1 relevant clips"),
        (corpus(12, 8), 50, r"12 clips give \d+ negation queries, expected 50"),
        (
            [clip(f"dog {n}-900, rain 1000-{2000 + n}", n) for n in range(40)],
            1,
            "40 clips give 0 negation queries, expected 1",
        ),
    ],
)
def test_a_corpus_that_cannot_give_as_many_is_told_in_one_line(
    clips: list[Composite], per_task: int, expected: str
) -> None:
    with pytest.raises(DataError, match=expected.replace("(", r"\(")) as caught:
        make_queries(clips, per_task, seed=1)
    assert "\n" not in str(caught.value)


def test_durations_near_every_whole_and_half_second_are_not_asked_for() -> None:
    """This includes the longest: 10 ms decide nothing."""
    clips = [clip(f"dog 0-{950 + 100 * n}", n) for n in range(21)]
    assert Index(clips).thresholds("dog") == ()
    assert Index([*clips[:3], *clips[11:]]).thresholds("dog") == (1500,)


def test_index_by_hand() -> None:
    index = Index(
        [clip("dog 0-900, rain 1000-4300"), clip("rain 0-2300, dog 500-1300", 1), clip("cat 0-900, dog 1000-1800", 2)]
    )
    hand = {
        Presence("dog"): [0, 1, 2],
        Negation("rain"): [2],
        Order("dog", "rain"): [0],
        Overlap("dog", "rain"): [1],
        Duration("rain", 3000): [0],
        Presence("goat"): [],
    }
    for constraint, clips in hand.items():
        assert list(positions(index.satisfying([constraint]))) == clips
    assert list(positions(index.satisfying([Presence("rain"), Presence("dog")]))) == [0, 1]
    assert list(positions(index.satisfying([]))) == [0, 1, 2]
    misses = index.near_misses((Order("dog", "rain"), Negation("cat"), Presence("dog")))
    assert {c: list(positions(clips)) for c, clips in misses.items()} == {
        Order("dog", "rain"): [1],
        Negation("cat"): [],
        Presence("dog"): [],
    }
    assert index.thresholds("rain") == (1000, 1500, 2000, 2500, 3000)


@pytest.mark.slow
def test_queries_about_ten_thousand_clips() -> None:
    """Of 200 queries for each task, two are compared with brute force."""
    clips = corpus(10_000, 64)
    made = make_queries(clips, 200, seed=1)
    assert Counter(query.task for query in made) == dict.fromkeys(TASKS, 200)
    assert len({query.text for query in made}) == 1000
    assert max(len(query.clips) for query in made) <= 500
    for query in made[::100]:
        assert set(query.clips) == relevant(query.constraints, clips)
