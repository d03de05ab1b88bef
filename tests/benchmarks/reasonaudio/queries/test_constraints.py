"""Each constraint on clips written by hand, with the truth worked out by hand (ReasonAudio, 3.3)."""

from __future__ import annotations

import msgspec
import pytest

from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import (
    Constraint,
    Constraints,
    Duration,
    Negation,
    Order,
    Overlap,
    Presence,
    presence_only,
)
from tests.benchmarks.reasonaudio.toy_corpus import clip, corpus, right

CLIP = clip("dog 500-1200, church-bell 900-2700, rain 2700-4500, siren 5000-6250")

CASES: list[tuple[Constraint, str | None]] = [
    (Presence("dog"), None),
    (Presence("cat"), "no cat is heard"),
    (Negation("cat"), None),
    (Negation("siren"), "siren sounds from 5.00 to 6.25 s"),
    (Order("dog", "rain"), None),
    # A sound that starts the moment another ends is after it, and not together with it.
    (Order("church-bell", "rain"), None),
    (Overlap("church-bell", "rain"), "church bell (0.90-2.70 s) and rain (2.70-4.50 s) do not sound together"),
    # What starts later but overlaps is in no order.
    (Order("dog", "church-bell"), "dog (0.50-1.20 s) does not end before church bell (0.90 s) starts"),
    (Order("church-bell", "dog"), "church bell (0.90-2.70 s) does not end before dog (0.50 s) starts"),
    (Order("rain", "dog"), "rain (2.70-4.50 s) does not end before dog (0.50 s) starts"),
    (Order("dog", "cat"), "no cat is heard"),
    (Order("goat", "cat"), "no goat and no cat is heard"),
    (Overlap("dog", "church-bell"), None),
    (Overlap("church-bell", "dog"), None),
    (Overlap("cat", "dog"), "no cat is heard"),
    (Duration("rain", 1500), None),
    (Duration("rain", 1800), None),
    (Duration("rain", 3000), "rain lasts 1.80 s, asked for at least 3 s"),
    (Duration("dog", 2500), "dog lasts 0.70 s, asked for at least 2.5 s"),
    (Duration("cat", 1000), "no cat is heard"),
]


@pytest.mark.parametrize(("constraint", "why"), CASES, ids=lambda value: str(value))
def test_holds_or_says_why_not(constraint: Constraint, why: str | None) -> None:
    assert constraint.violation(CLIP) == why
    assert constraint.holds(CLIP) == (why is None)
    assert right(constraint, CLIP) == (why is None)


def test_what_is_asked_is_said_in_words() -> None:
    asked = (
        Presence("church-bell"),
        Negation("dog"),
        Order("dog", "rain"),
        Overlap("dog", "rain"),
        Duration("dog", 2500),
    )
    assert [str(constraint) for constraint in asked] == [
        "church bell",
        "no dog",
        "dog before rain",
        "dog together with rain",
        "dog for at least 2.5 s",
    ]


@pytest.mark.parametrize(("constraint", "why"), CASES, ids=lambda value: str(value))
def test_a_constraint_implies_that_the_sounds_it_names_are_heard(constraint: Constraint, why: str | None) -> None:
    """So a query needs no presence beside it, and an index can skip all other clips."""
    for composite in (CLIP, *corpus(50, 12)):
        if constraint.holds(composite):
            assert all(composite.event(sound) for sound in constraint.sounds)
            assert all(present.holds(composite) for present in presence_only(constraint))


def test_json_and_back() -> None:
    """The JSON has the shape of the files, and gives equal values."""
    made: Constraints = tuple(dict.fromkeys(constraint for constraint, _ in CASES))
    assert msgspec.json.decode(msgspec.json.encode(made), type=Constraints) == made
    assert msgspec.json.encode((Order("dog", "rain"), Duration("dog", 2500))) == (
        b'[{"kind":"order","first":"dog","second":"rain"},{"kind":"duration","sound":"dog","at_least_ms":2500}]'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"kind":"loudness","sound":"dog"}]', "Invalid value 'loudness'"),
        ('[{"sound":"dog"}]', "missing required field `kind`"),
        ('[{"kind":"presence","sound":"dog","at_least_ms":3}]', "unknown field `at_least_ms`"),
        ('[{"kind":"order","first":"dog"}]', "missing required field `second`"),
        ('[{"kind":"duration","sound":"dog","at_least_ms":2.5}]', "Expected `int`"),
        ('[{"kind":"duration","sound":"dog","at_least_ms":0}]', "expected more than 0 milliseconds"),
        ('[{"kind":"overlap","one":"dog","other":"dog"}]', "'dog' is on both sides"),
        ('[{"kind":"negation","sound":"Church Bell"}]', "'Church Bell', expected lower-case words"),
    ],
)
def test_json_is_read_strictly(text: str, expected: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(text, type=Constraints)
    assert expected in str(caught.value)


def test_constraints_of_other_kinds_are_never_equal() -> None:
    assert len({Presence("dog"), Negation("dog"), Order("dog", "rain"), Overlap("dog", "rain")}) == 4
