"""A small corpus planned without sounds, and a judge of relevance that shares no code with the package."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite, Event, contradiction
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import (
    Duration,
    Negation,
    Order,
    Overlap,
    Presence,
)
from pytest_audioretrieval.data.sounds.recipe import between, shuffled

_NAMES = (
    "bell bird bus-horn cat clock cow cricket dog door-knock drill fan-hum fire-crackle goat hail harp kettle "
    "lawn-mower owl piano pump rain rooster saw-blade sea siren snore stapler thunder toad train violin wind"
)
SOUNDS = tuple(f"{name}{more}" for more in ("", "-two") for name in _NAMES.split())


def clip(text: str, number: int = 0) -> Composite:
    """Return the clip of ``"dog 500-1200, rain 1100-2000"``, with the pattern found from the times."""
    events = []
    for part in text.split(", "):
        sound, times = part.split()
        start, end = times.split("-")
        events.append(Event(sound, int(start), int(end)))
    pairs = sum(a.start < b.end and b.start < a.end for i, a in enumerate(events) for b in events[:i])
    made = Composite(number, ("sequential", "single-overlap", "double-overlap")[pairs], tuple(events))
    assert contradiction(made) is None, contradiction(made)
    return made


def corpus(count: int, sounds: int, key: str = "corpus") -> list[Composite]:
    """Return clips, 6 sequential to 4 overlapping.

    Gaps are 100 ms or more, overlaps 300, and no duration is within 200 ms of a whole second.
    """
    return [_composite(number, SOUNDS[:sounds], f"{key}/{number}") for number in range(count)]


def _composite(number: int, sounds: Sequence[str], key: str) -> Composite:
    overlaps = (0, 1, 0, 2, 0, 0, 1, 0, 2, 0)[number % 10]
    size = between(f"{key}/size", (2 + (overlaps == 2), 8))
    together = set(shuffled(range(1, size), f"{key}/together")[:overlaps])
    events: list[Event] = []
    clock = between(f"{key}/lead", (0, 200))
    for position, sound in enumerate(shuffled(sounds, f"{key}/sounds")[:size]):
        own = f"{key}/{position}"
        if position:
            clock += -between(own, (300, 350)) if position in together else between(own, (100, 300))
        lasts = between(f"{own}/lasts", (700, max(800, min(4500, 18_000 // size - 700))))
        lasts -= max(0, (lasts - 200) % 1000 - 600)
        events.append(Event(sound, clock, clock + lasts))
        clock += lasts
    return clip(", ".join(f"{e.sound} {e.start}-{e.end}" for e in events), number)


@cache
def _heard(name: str) -> dict[str, tuple[int, int]]:
    found = {}
    for part in name.split("_")[2:]:
        sound, times = part.split(".")
        start, end = map(int, times.split("-"))
        found[sound] = start, end
    return found


def right(constraint: Any, composite: Composite) -> bool:
    """Return whether a constraint holds, computed from the times in the clip's name."""
    heard = _heard(composite.id)
    match constraint:
        case Presence(sound):
            return sound in heard
        case Negation(sound):
            return sound not in heard
        case Duration(sound, ms):
            return sound in heard and heard[sound][1] - heard[sound][0] >= ms
        case Order(first, second):
            return first in heard and second in heard and heard[first][1] <= heard[second][0]
        case Overlap(one, other):
            if one not in heard or other not in heard:
                return False
            return max(heard[one][0], heard[other][0]) < min(heard[one][1], heard[other][1])
    raise AssertionError(constraint)
