"""Templates that word the constraints of a query, our own, for the five tasks (ReasonAudio, 3.2).

A text is one main clause for the first kind of constraint it holds, and a further clause for each other kind, so that
the tasks and every mix of them share their wordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import phrase
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import (
    Constraint,
    Constraints,
    Duration,
    Kind,
    Negation,
    Order,
    Overlap,
    Presence,
    seconds,
)
from pytest_audioretrieval.data.sounds.recipe import draw

Task = Literal["negation", "order", "overlap", "duration", "mix"]
TASKS: tuple[Task, ...] = get_args(Task)

#: Task -> the kinds of constraint of its queries, in the order in which they are asked.
SHAPES: dict[Task, tuple[tuple[Kind, ...], ...]] = {
    "negation": (("presence", "presence", "negation"), ("presence", "presence", "negation", "negation")),
    "order": (("order",), ("order", "order")),
    "overlap": (("overlap",), ("overlap", "presence")),
    "duration": (("duration",), ("duration", "presence")),
    "mix": (
        ("order", "negation"),
        ("overlap", "negation"),
        ("duration", "negation"),
        ("duration", "order"),
        ("overlap", "duration"),
        ("order", "overlap"),
    ),
}

MAIN: dict[str, tuple[str, ...]] = {
    "presence": (
        "the sounds of {all}",
        "a recording in which {all} can be heard",
        "a clip that has {all} in it",
        "{all} in the same clip",
    ),
    "order": (
        "{a}, and after it {b}",
        "{b} that starts only once {a} is over",
        "{a} finishes before {b} begins",
        "a clip where {b} comes after {a} has ended",
        "{a} is heard earlier and {b} later",
    ),
    "order of three": (
        "{a}, then {b}, then {c}",
        "{a} is over before {b} starts, and {b} before {c}",
        "{a}, {b} and {c} one after another, in this order",
        "{c} after {b}, and {b} after {a}",
        "{a}, later {b}, and later still {c}",
    ),
    "overlap": (
        "{a} and {b} at the same time",
        "{a} overlapping with {b}",
        "a moment at which {a} and {b} both sound",
        "{a} that can be heard while {b} goes on",
    ),
    "duration": (
        "{a} that goes on for at least {t}",
        "{a} lasting {t} or more",
        "at least {t} of {a} without a break",
        "{a}, kept up for no less than {t}",
    ),
}

FURTHER: dict[str, tuple[str, ...]] = {
    "presence": (", with {all} somewhere in the clip", "; the clip has {all} too", ", and {all} at any time"),
    "negation": (
        ", with no {none} at any point",
        "; {none} must not occur",
        "; the clip is free of {none}",
        ", and no {none} anywhere in the clip",
    ),
    "order": (
        ", and {a} is over before {b} starts",
        ", with {b} only after {a} has ended",
        "; {a} ends before {b} begins",
    ),
    "overlap": (
        ", and {a} and {b} at the same time",
        ", with a moment of {a} and {b} at once",
        "; {a} and {b} overlap",
    ),
    "duration": (
        ", and {a} lasts at least {t}",
        ", with {a} going on for {t} or more",
        "; {a} is heard for {t} at least",
    ),
}


def wording(constraints: Constraints, key: str) -> str:
    """Return a text that asks for all of ``constraints``; the choice of words depends on ``key`` alone."""
    parts = []
    for number, (kind, slots) in enumerate(_clauses(constraints)):
        choices = (FURTHER if number else MAIN)[kind]
        parts.append(choices[draw(f"{key}/wording/{number}", len(choices))].format(**slots))
    return "".join(parts)


def _clauses(constraints: Constraints) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the template and its slots for each clause; constraints of one kind share a clause."""
    kinds = dict.fromkeys(constraint.kind for constraint in constraints)
    for group in ([c for c in constraints if c.kind == kind] for kind in kinds):
        yield _clause(group)


def _clause(group: Sequence[Constraint]) -> tuple[str, dict[str, str]]:
    match group:
        case [Order(a, b), Order(again, c)] if again == b:
            return "order of three", {"a": phrase(a), "b": phrase(b), "c": phrase(c)}
        case [Order(a, b)]:
            return "order", {"a": phrase(a), "b": phrase(b)}
        case [Overlap(a, b)]:
            return "overlap", {"a": phrase(a), "b": phrase(b)}
        case [Duration(a, ms)]:
            return "duration", {"a": phrase(a), "t": f"{seconds(ms)} second{'s' * (ms != 1000)}"}
    present = [phrase(c.sound) for c in group if isinstance(c, Presence)]
    absent = [phrase(c.sound) for c in group if isinstance(c, Negation)]
    if len(present) + len(absent) != len(group):
        raise ValueError(f"no template asks for {'; '.join(map(str, group))}")
    return group[0].kind, {"all": " and ".join(present), "none": " or ".join(absent)}
