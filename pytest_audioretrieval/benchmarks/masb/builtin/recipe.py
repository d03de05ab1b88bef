"""Seeded recipe for the clips of dataset ``binding``: two recordings and a property each (after MASB, Exp. 1 and 4).

A *scene* is two recordings one after the other, of which one comes first, is louder or lasts longer. Its mirror holds
the same two recordings with the property exchanged. A couple of recordings belongs to one scene and its mirror, and is
one that no built-in checkpoint was trained on together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pytest_audioretrieval.benchmarks.masb.caption_set import Style
from pytest_audioretrieval.data.sounds.recipe import sets_of, shuffled

REVISION = "2026-12-1"
Property = Literal["order", "loudness", "duration"]
PROPERTIES: tuple[Property, ...] = get_args(Property)

#: Mirror pairs of each property, and clips without a mirror.
PAIRS, LONE = 60, 40

#: Recordings that do not fade within 1.5 s: in each quarter second at least a seventh of the loudest one's RMS.
SUSTAINED = frozenset(
    (
        "amen-break",
        "bass-drop",
        "bass-thick",
        "bass-voice",
        "bass-wood",
        "breakbeat",
        "cinematic-boom",
        "dark-whoosh",
        "drone",
        "drum-roll",
        "duck",
        "frog",
        "glass-hum",
        "glass-rub",
        "groove",
        "guitar-chord",
        "guitar-fifths",
        "guitar-harmonics",
        "haunted-hum",
        "lunar",
        "piano",
        "printer",
        "rewind",
        "rooster",
        "sauna",
        "techno",
        "vinyl-hiss",
    )
)


@dataclass(frozen=True)
class Scene:
    """Two recordings, of which one has more of a property.

    Attributes:
        axis: the property, as MASB's annotations call it.
        recordings: the two, in the order they sound.
        more: the recording that comes first, is louder or lasts longer.
    """

    axis: Property
    recordings: tuple[str, str]
    more: str

    @property
    def less(self) -> str:
        """The recording that comes last, is quieter or lasts shorter."""
        return self.recordings[1] if self.more == self.recordings[0] else self.recordings[0]

    @property
    def couple(self) -> str:
        """A label that a scene shares with its mirror alone."""
        return "+".join(sorted(self.recordings))

    def mirrored(self) -> Scene:
        """Return the scene of the same recordings with the property exchanged."""
        return Scene(self.axis, self.recordings[::-1] if self.axis == "order" else self.recordings, self.less)


class Phrasing(NamedTuple):
    """The style of a caption, and which recording it names first."""

    style: Style
    more_first: bool


def mirror_pairs(axis: Property) -> list[tuple[Scene, Phrasing]]:
    """Return one scene of each mirror pair, with the phrasing of both captions of the pair."""
    key = f"binding/mirror/{axis}"
    scenes = _scenes(axis, _couples()[axis][:PAIRS], key)
    draws = zip(_halves(PAIRS, f"{key}/wording"), _halves(PAIRS, f"{key}/telling"), strict=True)
    phrasings = [Phrasing("strict" if strict else "natural", more_first) for strict, more_first in draws]
    return list(zip(scenes, phrasings, strict=True))


def lone_scenes(axis: Property) -> list[tuple[Scene, tuple[Phrasing, Phrasing]]]:
    """Return scenes without a mirror, each in both styles; the second names the recordings in the other order."""
    key = f"binding/lone/{axis}"
    scenes = _scenes(axis, _couples()[axis][PAIRS:], key)
    first = _halves(LONE, f"{key}/telling")
    return [(s, (Phrasing("strict", m), Phrasing("natural", not m))) for s, m in zip(scenes, first, strict=True)]


def _couples() -> dict[Property, list[tuple[str, ...]]]:
    """Return the couples of each property, none twice; duration chooses first, because fewer suit it."""
    free = shuffled(list(sets_of("test", 2)), "binding/couples")
    found: dict[Property, list[tuple[str, ...]]] = {}
    for axis in reversed(PROPERTIES):
        fit = [couple for couple in free if axis != "duration" or SUSTAINED.issuperset(couple)]
        found[axis] = fit[: PAIRS + LONE]
        free = [couple for couple in free if couple not in found[axis]]
    return found


def _scenes(axis: Property, couples: Sequence[tuple[str, ...]], key: str) -> list[Scene]:
    """Return scenes: half have more of a couple's first recording, and half let it sound first."""
    draws = zip(_halves(len(couples), f"{key}/more"), _halves(len(couples), f"{key}/place"), strict=True)
    scenes = []
    for (one, other), (more_is_one, more_sounds_first) in zip(couples, draws, strict=True):
        more, less = (one, other) if more_is_one else (other, one)
        scenes.append(Scene(axis, (more, less) if axis == "order" or more_sounds_first else (less, more), more))
    return scenes


def _halves(count: int, key: str) -> list[bool]:
    """Return as many true as false values, in an order that depends on ``key``."""
    return shuffled([number % 2 == 0 for number in range(count)], key)
