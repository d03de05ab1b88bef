"""Templates: every wording states all constraints and nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import (
    Constraints,
    Duration,
    Negation,
    Order,
    Overlap,
    Presence,
)
from pytest_audioretrieval.benchmarks.reasonaudio.queries.templates import FURTHER, MAIN, SHAPES, TASKS, wording

A, B, C, X, Y = "church-bell", "dog", "rain", "siren", "drill"
NEGATION: Constraints = (Presence(A), Presence(B), Negation(X), Negation(Y))
ORDER: Constraints = (Order(A, B), Order(B, C))
MIX: Constraints = (Duration(A, 2500), Negation(X))


def wordings(constraints: Constraints) -> set[str]:
    return {wording(constraints, str(key)) for key in range(400)}


def test_wordings_of_each_task_by_hand() -> None:
    assert "the sounds of church bell and dog, with no siren or drill at any point" in wordings(NEGATION)
    assert "church bell, then dog, then rain" in wordings(ORDER)
    assert "rain after dog, and dog after church bell" in wordings(ORDER)
    assert "dog that starts only once church bell is over" in wordings((Order(A, B),))
    assert "church bell overlapping with dog; the clip has rain too" in wordings((Overlap(A, B), Presence(C)))
    assert "at least 1 second of dog without a break" in wordings((Duration(B, 1000),))
    assert "church bell lasting 2.5 seconds or more; siren must not occur" in wordings(MIX)


def test_every_wording_is_used() -> None:
    assert len(wordings(NEGATION)) == len(MAIN["presence"]) * len(FURTHER["negation"])
    assert len(wordings(ORDER)) == len(MAIN["order of three"])
    assert len(wordings(MIX)) == len(MAIN["duration"]) * len(FURTHER["negation"])
    assert all(len(texts) == len(set(texts)) >= 3 for texts in (*MAIN.values(), *FURTHER.values()))


@pytest.mark.parametrize(
    "asked", [NEGATION, ORDER, MIX, (Overlap(A, B), Duration(A, 3000)), (Duration(A, 3000), ORDER[0])]
)
def test_each_sound_is_named_and_no_slot_is_left(asked: Constraints) -> None:
    for text in wordings(asked):
        named = {sound for c in asked for sound in (*c.sounds, *([c.sound] if isinstance(c, Negation) else []))}
        assert all(sound.replace("-", " ") in text for sound in named)
        assert not set(text) & set("{}_-")
        assert text == text.strip()


def test_order_is_told_in_the_right_direction() -> None:
    """If the sounds are swapped, every wording swaps them: no wording is symmetric."""
    for constraints, swapped in (((Order(A, B),), (Order(B, A),)), ((*MIX, Order(A, B)), (*MIX, Order(B, A)))):
        assert not wordings(constraints) & wordings(swapped)


def test_a_key_has_the_same_wording_in_every_process() -> None:
    assert wording(NEGATION, "7") == "a clip that has church bell and dog in it, with no siren or drill at any point"


def test_what_no_template_asks_for_is_refused() -> None:
    with pytest.raises(ValueError, match="no template asks for dog before rain; siren before drill"):
        wording((Order(B, C), Order(X, Y)), "key")


def test_shapes_are_those_of_the_tasks() -> None:
    """Section 2: each task has its own kind; Mix combines at least two kinds that ask for more than presence."""
    assert TASKS == ("negation", "order", "overlap", "duration", "mix")
    for task in TASKS[:-1]:
        assert all(set(shape) - {"presence"} == {task} for shape in SHAPES[task])
    assert all(len(set(shape) - {"presence"}) >= 2 for shape in SHAPES["mix"])
    assert {kind for shape in SHAPES["mix"] for kind in shape} == set(TASKS[:-1])
    assert all(a != b for task in TASKS for a, b in pairwise(SHAPES[task]))
