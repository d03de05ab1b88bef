"""What a query asks of a clip; relevance is a program over what sounds when (ReasonAudio, 3.3).

A query is a tuple of constraints, and a clip is relevant where all of them hold. As JSON a constraint is an object
whose ``kind`` says which it is: ``{"kind":"order","first":"dog","second":"rain"}``.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from pytest_audioretrieval.benchmarks.reasonaudio.events import Composite, Event, is_label, phrase
from pytest_audioretrieval.data.types import Violation

Kind = Literal["presence", "negation", "order", "overlap", "duration"]


class _Constraint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """``str()`` says in words what is asked."""

    kind: ClassVar[Kind]

    @property
    def heard(self) -> tuple[str, ...]:
        """The sounds that have to be there at all."""
        raise NotImplementedError

    def broken(self, composite: Composite) -> str | None:
        """Why the constraint does not hold in a clip, in words with times; None where it holds."""
        raise NotImplementedError

    def holds(self, composite: Composite) -> bool:
        return self.broken(composite) is None


class Present(_Constraint, frozen=True, tag="presence"):
    """``sound`` is heard."""

    kind: ClassVar[Kind] = "presence"
    sound: str

    def __post_init__(self) -> None:
        _check(self.sound)

    def __str__(self) -> str:
        return phrase(self.sound)

    @property
    def heard(self) -> tuple[str, ...]:
        return (self.sound,)

    def broken(self, composite: Composite) -> str | None:
        return None if composite.event(self.sound) else _missing(self.sound)


class Absent(_Constraint, frozen=True, tag="negation"):
    """``sound`` is not heard."""

    kind: ClassVar[Kind] = "negation"
    sound: str

    def __post_init__(self) -> None:
        _check(self.sound)

    def __str__(self) -> str:
        return f"no {phrase(self.sound)}"

    @property
    def heard(self) -> tuple[str, ...]:
        return ()

    def broken(self, composite: Composite) -> str | None:
        event = composite.event(self.sound)
        return event and f"{phrase(self.sound)} sounds from {_time(event.start)} to {_time(event.end)} s"


class Before(_Constraint, frozen=True, tag="order"):
    """``first`` ends before, or at the moment that, ``second`` starts: sounds that overlap are in no order."""

    kind: ClassVar[Kind] = "order"
    first: str
    second: str

    def __post_init__(self) -> None:
        _check(self.first, self.second)

    def __str__(self) -> str:
        return f"{phrase(self.first)} before {phrase(self.second)}"

    @property
    def heard(self) -> tuple[str, ...]:
        return (self.first, self.second)

    def broken(self, composite: Composite) -> str | None:
        first, second = composite.event(self.first), composite.event(self.second)
        if first is None or second is None:
            return _missing(*(sound for sound in self.heard if not composite.event(sound)))
        if first.end <= second.start:
            return None
        return f"{_span(first)} does not end before {phrase(self.second)} ({_time(second.start)} s) starts"


class Together(_Constraint, frozen=True, tag="overlap"):
    """There is a moment at which both sound."""

    kind: ClassVar[Kind] = "overlap"
    one: str
    other: str

    def __post_init__(self) -> None:
        _check(self.one, self.other)

    def __str__(self) -> str:
        return f"{phrase(self.one)} together with {phrase(self.other)}"

    @property
    def heard(self) -> tuple[str, ...]:
        return (self.one, self.other)

    def broken(self, composite: Composite) -> str | None:
        one, other = composite.event(self.one), composite.event(self.other)
        if one is None or other is None:
            return _missing(*(sound for sound in self.heard if not composite.event(sound)))
        return None if one.overlaps(other) else f"{_span(one)} and {_span(other)} do not sound together"


class Lasting(_Constraint, frozen=True, tag="duration"):
    """``sound`` is heard for ``at_least_ms`` milliseconds on end."""

    kind: ClassVar[Kind] = "duration"
    sound: str
    at_least_ms: int

    def __post_init__(self) -> None:
        _check(self.sound)
        if self.at_least_ms <= 0:
            raise ValueError(f"at_least_ms {self.at_least_ms}: expected more than 0 milliseconds")

    def __str__(self) -> str:
        return f"{phrase(self.sound)} for at least {seconds(self.at_least_ms)} s"

    @property
    def heard(self) -> tuple[str, ...]:
        return (self.sound,)

    def broken(self, composite: Composite) -> str | None:
        event = composite.event(self.sound)
        if event is None:
            return _missing(self.sound)
        if event.lasts >= self.at_least_ms:
            return None
        return f"{phrase(self.sound)} lasts {_time(event.lasts)} s, asked for at least {seconds(self.at_least_ms)} s"


Constraint: TypeAlias = Present | Absent | Before | Together | Lasting
Constraints: TypeAlias = tuple[Constraint, ...]


def broken(constraints: Constraints, composite: Composite) -> list[Violation]:
    """The constraints that a clip breaks, and why; none where it is relevant."""
    told = ((constraint.kind, constraint.broken(composite)) for constraint in constraints)
    return [Violation(kind, why) for kind, why in told if why]


def weaker(constraint: Constraint) -> tuple[Present, ...]:
    """What is left of a constraint for a listener who hears which sounds are there and nothing else."""
    return () if isinstance(constraint, Present) else tuple(map(Present, constraint.heard))


def seconds(ms: int) -> str:
    """``2500`` is "2.5", ``3000`` is "3"."""
    return f"{ms / 1000:g}"


def _check(*sounds: str) -> None:
    for sound in sounds:
        if not is_label(sound):
            raise ValueError(f"sound {sound!r}: expected lower-case words joined by hyphens")
    if len(set(sounds)) != len(sounds):
        raise ValueError(f"sound {sounds[0]!r} stands on both sides: expected two sounds")


def _missing(*sounds: str) -> str:
    return " and ".join(f"no {phrase(sound)}" for sound in sounds) + " is heard"


def _span(event: Event) -> str:
    return f"{phrase(event.sound)} ({_time(event.start)}-{_time(event.end)} s)"


def _time(ms: int) -> str:
    return f"{ms / 1000:.2f}"
