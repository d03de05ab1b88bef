"""Seeded recipe for the clips of dataset ``sounds``: the recordings of each clip, and their times.

A *composition* is a sequence of moments, each a set of recordings that sound together:
``(("cow",), ("bell",))`` is a cow, then a bell; ``(("bell", "cow"),)`` is both at once. Compositions of the same set of
recordings are near misses of one another: three recordings allow 13. A set belongs to one split, so neither a test
composition nor a near miss of it is trained on. The recordings themselves are heard in every split.

Every choice is drawn from sha256, so that recipes do not depend on the version of a random generator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Literal, TypeVar

from pytest_audioretrieval.data.rendered import RATE
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS

REVISION = "2026-11-2"
Split = Literal["train", "validation", "test"]
Composition = tuple[tuple[str, ...], ...]
T = TypeVar("T")

#: Silence between two moments, and the largest offset between the sounds of one moment, in samples.
GAP = (RATE // 10, RATE * 3 // 10)
JITTER = (0, RATE // 40)
#: Gains in 1/256; three recordings of peak 18000 at 150/256 stay inside 16 bits.
GAIN = (100, 150)


@dataclass(frozen=True)
class Placement:
    """One recording in a clip: start in samples, gain in 1/256."""

    recording: str
    start: int
    gain: int


@dataclass(frozen=True)
class Plan:
    """Numbers of sets of recordings in a split.

    Attributes:
        groups: trios in all 13 compositions.
        pairs: pairs in all 3.
        trios: trios in one of their 13.
        singles: recordings alone.
    """

    groups: int
    pairs: int
    trios: int
    singles: int


PLANS: dict[Split, Plan] = {
    "validation": Plan(groups=6, pairs=60, trios=150, singles=7),
    "test": Plan(groups=10, pairs=80, trios=180, singles=16),
}


def draw(key: str, below: int) -> int:
    """Return a number in ``range(below)`` that depends on ``key`` alone."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % below


def shuffled(items: Sequence[T], key: str) -> list[T]:
    """Return ``items`` in an order that depends on ``key`` and their position alone."""
    return [items[i] for i in sorted(range(len(items)), key=lambda i: hashlib.sha256(f"{key}/{i}".encode()).digest())]


def between(key: str, limits: tuple[int, int]) -> int:
    """Return a number in ``limits``, both ends included, that depends on ``key`` alone."""
    return limits[0] + draw(key, limits[1] - limits[0] + 1)


def split_of(recordings: Sequence[str]) -> Split:
    """Return the split that a set of recordings belongs to: 6 in 10 train, 1 validation, 3 test."""
    number = draw("split/" + "+".join(sorted(recordings)), 10)
    return "train" if number < 6 else "validation" if number < 7 else "test"


def arrangements(recordings: Sequence[str]) -> list[Composition]:
    """Return every composition of one, two or three recordings: 1, 3 or 13."""
    found: list[Composition] = [tuple((r,) for r in order) for order in permutations(recordings)]
    if len(recordings) == 3:
        for alone in recordings:
            rest = tuple(r for r in recordings if r != alone)
            found += [((alone,), rest), (rest, (alone,))]
    if len(recordings) > 1:
        found.append((tuple(recordings),))
    return found


def sets_of(split: Split, size: int) -> Iterator[tuple[str, ...]]:
    """Yield all sets of ``size`` recordings that belong to ``split``."""
    return (s for s in combinations(RECORDINGS, size) if split_of(s) == split)


def compositions(split: Split) -> list[Composition]:
    """Return the compositions of the validation or test split, shuffled into document order."""
    plan = PLANS[split]
    singles = shuffled(list(sets_of(split, 1)), f"{split}/singles")[: plan.singles]
    pairs = shuffled(list(sets_of(split, 2)), f"{split}/pairs")[: plan.pairs]
    trios = shuffled(list(sets_of(split, 3)), f"{split}/trios")
    found = [c for s in (*singles, *pairs, *trios[: plan.groups]) for c in arrangements(s)]
    for lone in trios[plan.groups : plan.groups + plan.trios]:
        choices = arrangements(lone)
        found.append(choices[draw(f"{split}/lone/{lone}", len(choices))])
    return shuffled(found, f"{split}/order")


def training_compositions(count: int, near: int) -> list[Composition]:
    """Return ``count`` compositions to train on.

    Each single recording comes first, then all 3 compositions of a pair and ``near`` of the 13 of a trio, drawn. A
    smaller ``count`` is a prefix of a larger one; another ``near`` makes another list.
    """
    pools = {size: shuffled(list(sets_of("train", size)), f"train/{size}") for size in (1, 2, 3)}
    found = [c for s in pools[1] for c in arrangements(s)]
    pairs, trios = iter(pools[2]), iter(pools[3])
    while len(found) < count:
        number = draw(f"train/kind/{len(found)}", 10)
        pair = next(pairs, None) if number < 3 else None
        chosen = pair or next(trios)
        choices = shuffled(arrangements(chosen), f"train/arrange/{chosen}")
        found += choices if pair else choices[:near]
    return found[:count]


def layout(composition: Composition, lengths: dict[str, int]) -> list[Placement]:
    """Return the start and gain of each recording; ``lengths`` are in samples.

    Recordings of at most 3 s make a clip of at most 9.65 s.
    """
    key = repr(composition)
    placed: list[Placement] = []
    clock = between(f"{key}/lead", (0, RATE // 20))
    for position, moment in enumerate(composition):
        end = clock
        for name in moment:
            start = clock + (between(f"{key}/{position}/{name}/jitter", JITTER) if len(moment) > 1 else 0)
            placed.append(Placement(name, start, between(f"{key}/{position}/{name}/gain", GAIN)))
            end = max(end, start + lengths[name])
        clock = end + between(f"{key}/{position}/gap", GAP)
    return placed
