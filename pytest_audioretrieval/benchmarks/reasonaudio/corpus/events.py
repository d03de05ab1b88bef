"""Events of a clip, and the clip names that hold them (ReasonAudio, 3.2).

Times are whole milliseconds, so that a name holds them exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pytest_audioretrieval.errors import DataError

Pattern = Literal["sequential", "single-overlap", "double-overlap"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
#: Pattern -> its code in a clip's name.
CODES: dict[Pattern, str] = {"sequential": "seq", "single-overlap": "ov1", "double-overlap": "ov2"}

#: Smallest distance, in ms, of a sound's duration from one that a query asks for: 10 ms are inaudible.
CLEAR = 200

_LABEL = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NAME = re.compile(r"(?P<number>\d+)_(?P<code>[a-z0-9]+)_(?P<events>.+)")
_EVENT = re.compile(r"(?P<sound>[a-z0-9-]+)\.(?P<start>\d+)-(?P<end>\d+)")


class Event(NamedTuple):
    """One sound, heard from ``start`` to ``end``, in milliseconds of its clip."""

    sound: str
    start: int
    end: int

    @property
    def duration(self) -> int:
        """Duration in milliseconds."""
        return self.end - self.start

    def overlaps(self, other: Event) -> bool:
        """Return whether both sound at some moment."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Composite:
    """A clip of 2 to 8 sounds, each heard once.

    Attributes:
        number: position in the corpus, from 0.
        pattern: the number of overlapping pairs of events: none, one or two.
        events: by start, then end, then sound.
    """

    number: int
    pattern: Pattern
    events: tuple[Event, ...]

    @property
    def id(self) -> str:
        """The clip's name without its ending, ``NUMBER_CODE_SOUND.START-END_...``; ``parse`` reads it."""
        events = "_".join(f"{event.sound}.{event.start}-{event.end}" for event in self.events)
        return f"{self.number:05d}_{CODES[self.pattern]}_{events}"

    @property
    def end(self) -> int:
        """The end of the last event, in milliseconds."""
        return max(event.end for event in self.events)

    def event(self, sound: str) -> Event | None:
        """Return the event of ``sound``, or None where it is not heard."""
        return next((event for event in self.events if event.sound == sound), None)


def is_label(text: str) -> bool:
    """Return whether ``text`` can be a label: lower-case words joined by single hyphens."""
    return _LABEL.fullmatch(text) is not None


def phrase(sound: str) -> str:
    """Return a label as words of a query: ``plastic-bag`` is "plastic bag"."""
    return sound.replace("-", " ")


def overlapping(events: tuple[Event, ...]) -> int:
    """Return the number of pairs of events that sound together at some moment."""
    return sum(one.overlaps(other) for i, one in enumerate(events) for other in events[:i])


def parse(name: str, where: str) -> Composite:
    """Return the composite that a clip's name (without ending) states.

    Raises:
        DataError: it is no such name, or times, sounds and pattern contradict each other; names ``where``.
    """
    found = _NAME.fullmatch(name)
    patterns = {code: pattern for pattern, code in CODES.items()}
    parts = [_EVENT.fullmatch(part) for part in found["events"].split("_")] if found else []
    if not found or found["code"] not in patterns or not all(parts):
        raise DataError(
            f"{where}: name is {name!r}",
            expected=f"NUMBER_{'|'.join(patterns)}_SOUND.START-END_..., times in milliseconds",
            remedy="build the corpus again",
        )
    events = tuple(Event(part["sound"], int(part["start"]), int(part["end"])) for part in parts if part)
    composite = Composite(int(found["number"]), patterns[found["code"]], events)
    fault = contradiction(composite)
    if fault:
        raise DataError(f"{where}: name {name!r}: {fault}", remedy="build the corpus again")
    return composite


def contradiction(composite: Composite) -> str | None:
    """Return the contradiction in a composite, or None."""
    events = composite.events
    if len({event.sound for event in events}) != len(events):
        return "a sound occurs twice"
    for event in events:
        if not is_label(event.sound) or event.duration <= 0:
            return f"event {event.sound}.{event.start}-{event.end} is impossible"
    if events != tuple(sorted(events, key=lambda event: (event.start, event.end, event.sound))):
        return "events are not in the order of their starts"
    pairs, stated = overlapping(events), PATTERNS.index(composite.pattern)
    if pairs != stated:
        return f"{pairs} pairs of sounds overlap, {composite.pattern} has {stated}"
    return None
