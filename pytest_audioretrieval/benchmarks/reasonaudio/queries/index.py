"""Index from constraints to the clips that satisfy them, for a corpus of any size.

Sets of clips are whole numbers whose bit ``i`` stands for the clip at position ``i``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import CLEAR, Composite
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import (
    Constraint,
    Constraints,
    Negation,
    Presence,
    presence_only,
)

#: Durations that queries ask for: whole and half seconds from one second on, in ms.
FIRST, STEP = 1000, 500


class Index:
    """The clips of a corpus, indexed by their events.

    Attributes:
        composites: the clips, [C].
    """

    def __init__(self, composites: Sequence[Composite]) -> None:
        self.composites = tuple(composites)
        self._all = (1 << len(self.composites)) - 1
        self._known: dict[Constraint, int] = {}
        self._durations: dict[str, set[int]] = defaultdict(set)
        self._thresholds: dict[str, tuple[int, ...]] = {}
        self._with: dict[str, int] = defaultdict(int)
        for position, composite in enumerate(self.composites):
            for event in composite.events:
                self._with[event.sound] |= 1 << position
                self._durations[event.sound].add(event.duration)

    def satisfying(self, constraints: Iterable[Constraint]) -> int:
        """Return the clips that satisfy all of ``constraints``."""
        return reduce(and_, map(self._satisfying_one, constraints), self._all)

    def near_misses(self, constraints: Constraints) -> dict[Constraint, int]:
        """Return, for each constraint, the clips that violate it alone although they hold the sounds it names."""
        found = {}
        for constraint in constraints:
            others = (other for other in constraints if other != constraint)
            found[constraint] = self.satisfying((*others, *presence_only(constraint))) & ~self._satisfying_one(
                constraint
            )
        return found

    def thresholds(self, sound: str) -> tuple[int, ...]:
        """Return durations in ms that are at least ``CLEAR`` away from each duration of ``sound`` in the corpus."""
        if sound not in self._thresholds:
            durations = self._durations[sound]
            asked = range(FIRST, max(durations), STEP)
            clear = (ms for ms in asked if all(abs(lasts - ms) >= CLEAR for lasts in durations))
            self._thresholds[sound] = tuple(clear)
        return self._thresholds[sound]

    def _satisfying_one(self, constraint: Constraint) -> int:
        if isinstance(constraint, Negation):
            return ~self._satisfying_one(Presence(constraint.sound))
        if constraint not in self._known:
            could = reduce(and_, (self._with.get(sound, 0) for sound in constraint.sounds), self._all)
            holds = (1 << at for at in positions(could) if constraint.holds(self.composites[at]))
            self._known[constraint] = sum(holds)
        return self._known[constraint]


def positions(clips: int) -> Iterator[int]:
    """Yield the positions of a set of clips, ascending."""
    while clips:
        lowest = clips & -clips
        yield lowest.bit_length() - 1
        clips ^= lowest
