"""Constraints of queries on clips; relevance is a program over the events of a clip (ReasonAudio, 3.3).

A query is a tuple of constraints, and a clip is relevant where all of them hold. As JSON a constraint is an object
whose ``kind`` says which it is: ``{"kind":"order","first":"dog","second":"rain"}``.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite, Event, is_label, phrase
from pytest_audioretrieval.data.types import Violation

Kind = Literal["presence", "negation", "order", "overlap", "duration"]


class _Constraint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A condition on the events of a clip; ``str()`` words it."""

    kind: ClassVar[Kind]

    @property
    def sounds(self) -> tuple[str, ...]:
        """The sounds that a clip must hold."""
        raise NotImplementedError

    def violation(self, composite: Composite) -> str | None:
        """Return the reason, with times, why a clip violates the constraint; None where it holds."""
        raise NotImplementedError

    def holds(self, composite: Composite) -> bool:
        return self.violation(composite) is None


class Presence(_Constraint, frozen=True, tag="presence"):
    """The constraint that ``sound`` is heard."""

    kind: ClassVar[Kind] = "presence"
    sound: str

    def __post_init__(self) -> None:
        _check(self.sound)

    def __str__(self) -> str:
        return phrase(self.sound)

    @property
    def sounds(self) -> tuple[str, ...]:
        return (self.sound,)

    def violation(self, composite: Composite) -> str | None:
        return None if composite.event(self.sound) else _missing(self.sound)


class Negation(_Constraint, frozen=True, tag="negation"):
    """The constraint that ``sound`` is not heard."""

    kind: ClassVar[Kind] = "negation"
    sound: str

    def __post_init__(self) -> None:
        _check(self.sound)

    def __str__(self) -> str:
        return f"no {phrase(self.sound)}"

    @property
    def sounds(self) -> tuple[str, ...]:
        return ()

    def violation(self, composite: Composite) -> str | None:
        event = composite.event(self.sound)
        return event and f"{phrase(self.sound)} sounds from {_time(event.start)} to {_time(event.end)} s"


class Order(_Constraint, frozen=True, tag="order"):
    """The constraint that ``first`` ends before or when ``second`` starts: sounds that overlap have no order."""

    kind: ClassVar[Kind] = "order"
    first: str
    second: str

    def __post_init__(self) -> None:
        _check(self.first, self.second)

    def __str__(self) -> str:
        return f"{phrase(self.first)} before {phrase(self.second)}"

    @property
    def sounds(self) -> tuple[str, ...]:
        return (self.first, self.second)

    def violation(self, composite: Composite) -> str | None:
        first, second = composite.event(self.first), composite.event(self.second)
        if first is None or second is None:
            return _missing(*(sound for sound in self.sounds if not composite.event(sound)))
        if first.end <= second.start:
            return None
        return f"{_span(first)} does not end before {phrase(self.second)} ({_time(second.start)} s) starts"


class Overlap(_Constraint, frozen=True, tag="overlap"):
    """The constraint that both sound at some moment."""

    kind: ClassVar[Kind] = "overlap"
    one: str
    other: str

    def __post_init__(self) -> None:
        _check(self.one, self.other)

    def __str__(self) -> str:
        return f"{phrase(self.one)} together with {phrase(self.other)}"

    @property
    def sounds(self) -> tuple[str, ...]:
        return (self.one, self.other)

    def violation(self, composite: Composite) -> str | None:
        one, other = composite.event(self.one), composite.event(self.other)
        if one is None or other is None:
            return _missing(*(sound for sound in self.sounds if not composite.event(sound)))
        return None if one.overlaps(other) else f"{_span(one)} and {_span(other)} do not sound together"


class Duration(_Constraint, frozen=True, tag="duration"):
    """The constraint that ``sound`` lasts at least ``at_least_ms`` milliseconds without a break."""

    kind: ClassVar[Kind] = "duration"
    sound: str
    at_least_ms: int

    def __post_init__(self) -> None:
        _check(self.sound)
        if self.at_least_ms <= 0:
            raise ValueError(f"at_least_ms is {self.at_least_ms}, expected more than 0 milliseconds")

    def __str__(self) -> str:
        return f"{phrase(self.sound)} for at least {seconds(self.at_least_ms)} s"

    @property
    def sounds(self) -> tuple[str, ...]:
        return (self.sound,)

    def violation(self, composite: Composite) -> str | None:
        event = composite.event(self.sound)
        if event is None:
            return _missing(self.sound)
        if event.duration >= self.at_least_ms:
            return None
        return f"{phrase(self.sound)} lasts {_time(event.duration)} s, asked for at least {seconds(self.at_least_ms)} s"


Constraint: TypeAlias = Presence | Negation | Order | Overlap | Duration
Constraints: TypeAlias = tuple[Constraint, ...]


def violations(constraints: Constraints, composite: Composite) -> list[Violation]:
    """Return the constraints that a clip violates, with the reasons; none where it is relevant."""
    found = ((constraint.kind, constraint.violation(composite)) for constraint in constraints)
    return [Violation(kind, reason) for kind, reason in found if reason]


def presence_only(constraint: Constraint) -> tuple[Presence, ...]:
    """Return the part of a constraint that only asks for the presence of sounds."""
    return () if isinstance(constraint, Presence) else tuple(map(Presence, constraint.sounds))


def seconds(ms: int) -> str:
    """Return milliseconds as seconds: ``2500`` is "2.5", ``3000`` is "3"."""
    return f"{ms / 1000:g}"


def _check(*sounds: str) -> None:
    for sound in sounds:
        if not is_label(sound):
            raise ValueError(f"sound is {sound!r}, expected lower-case words joined by hyphens")
    if len(set(sounds)) != len(sounds):
        raise ValueError(f"sound {sounds[0]!r} is on both sides, expected two sounds")


def _missing(*sounds: str) -> str:
    return " and ".join(f"no {phrase(sound)}" for sound in sounds) + " is heard"


def _span(event: Event) -> str:
    return f"{phrase(event.sound)} ({_time(event.start)}-{_time(event.end)} s)"


def _time(ms: int) -> str:
    return f"{ms / 1000:.2f}"
