"""Queries from what sounds when: drawn from a clip, worded by a template, kept where they are worth asking.

ReasonAudio, 3.2 and 3.3. Every choice is drawn from sha256; a smaller number of queries is the beginning of a larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, cycle, islice, permutations
from typing import NamedTuple

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import (
    Constraint,
    Constraints,
    Duration,
    Kind,
    Negation,
    Order,
    Overlap,
    Presence,
)
from pytest_audioretrieval.benchmarks.reasonaudio.queries.index import Index, positions
from pytest_audioretrieval.benchmarks.reasonaudio.queries.templates import SHAPES, TASKS, Task, wording
from pytest_audioretrieval.data.sounds.recipe import draw, shuffled
from pytest_audioretrieval.errors import DataError

#: One in so many clips may be relevant to a query, and one clip in any case.
RARE = 20
#: After so many draws in a row that are not worth asking, a corpus has no more to give.
PATIENCE = 2_000


@dataclass(frozen=True)
class ReasonQuery:
    """A text, what it asks for, and the ids of the clips that meet it."""

    id: str
    task: Task
    text: str
    constraints: Constraints
    clips: tuple[str, ...]


class Draft(NamedTuple):
    """What a query asks for, and how."""

    constraints: Constraints
    text: str


def make_queries(composites: Sequence[Composite], per_task: int, seed: int) -> list[ReasonQuery]:
    """``per_task`` queries of each of the five tasks.

    One clip in 20 at most is relevant to a query. Each of its constraints is needed: some clip meets all others, holds
    the sounds the constraint names, and yet breaks it; for a presence or an absence, some clip meets all others and
    breaks it. No text and no set of constraints comes twice, and no sound lasts nearly as long as a query asks for.

    Raises:
        DataError: the corpus does not give so many; tells of the first such task how many it gives.
    """
    index = Index(composites)
    return [
        ReasonQuery(f"{task}-{number:03d}", task, draft.text, draft.constraints, _ids(index, draft))
        for task in TASKS
        for number, draft in enumerate(drafts(index, task, per_task, seed), start=1)
    ]


def drafts(index: Index, task: Task, wanted: int, seed: int) -> list[Draft]:
    """The first ``wanted`` queries of a task.

    Raises:
        DataError: there are fewer.
    """
    found = list(islice(_worth_asking(index, task, f"reasonaudio/{seed}/{task}"), wanted))
    if len(found) < wanted:
        raise DataError(
            f"{len(index.composites)} clips give {len(found)} of {wanted} {task} queries (each with 1 to "
            f"{_most(index)} relevant clips and every constraint needed): build more clips, add sounds or "
            "ask for fewer queries"
        )
    return found


def _worth_asking(index: Index, task: Task, key: str) -> Iterator[Draft]:
    """All queries of a task, its shapes in turn; a shape of which the corpus gives no more drops out."""
    clips = cycle(shuffled(index.composites, key))
    tries = ((clip, f"{key}/{number}") for number, clip in enumerate(clips))
    seen: set[object] = set()
    shapes = list(SHAPES[task]) if index.composites else []
    while shapes:
        for shape in tuple(shapes):
            drawn = (_draft(index, clip, shape, own) for clip, own in islice(tries, PATIENCE))
            found = next((draft for draft in drawn if draft and _is_worth_asking(index, draft, seen)), None)
            if found is None:
                shapes.remove(shape)
                continue
            seen.update((frozenset(found.constraints), found.text))
            yield found


def _is_worth_asking(index: Index, draft: Draft, seen: set[object]) -> bool:
    if {frozenset(draft.constraints), draft.text} & seen:
        return False
    relevant = index.satisfying(draft.constraints).bit_count()
    return relevant <= _most(index) and all(index.near_misses(draft.constraints).values())


def _most(index: Index) -> int:
    return max(1, len(index.composites) // RARE)


def _draft(index: Index, clip: Composite, shape: Sequence[Kind], key: str) -> Draft | None:
    """A query of the kinds of ``shape`` that ``clip`` meets, if there is one."""
    made: Constraints = ()
    for number, kind in enumerate(shape):
        options = _OPTIONS[kind](index, clip, made)
        if not options:
            return None
        made = (*made, options[draw(f"{key}/{number}", len(options))])
    return Draft(made, wording(made, key))


def _presence(index: Index, clip: Composite, made: Constraints) -> Sequence[Constraint]:
    named = {sound for constraint in made for sound in constraint.sounds}
    return [Presence(event.sound) for event in clip.events if event.sound not in named]


def _negation(index: Index, clip: Composite, made: Constraints) -> Sequence[Constraint]:
    """Sounds of the clips that are right so far: leaving out any other would ask for nothing."""
    tempting = {e.sound for at in positions(index.satisfying(made)) for e in index.composites[at].events}
    return [Negation(sound) for sound in sorted(tempting - {event.sound for event in clip.events})]


def _order(index: Index, clip: Composite, made: Constraints) -> Sequence[Constraint]:
    """Pairs in order; after one such pair, those that go on from its end."""
    ends = {constraint.second for constraint in made if isinstance(constraint, Order)}
    pairs = [Order(one.sound, other.sound) for one, other in permutations(clip.events, 2)]
    return [pair for pair in pairs if pair.holds(clip) and (not ends or pair.first in ends)]


def _overlap(index: Index, clip: Composite, made: Constraints) -> Sequence[Constraint]:
    pairs = combinations(sorted(event.sound for event in clip.events), 2)
    return [pair for pair in (Overlap(one, other) for one, other in pairs) if pair.holds(clip)]


def _duration(index: Index, clip: Composite, made: Constraints) -> Sequence[Constraint]:
    return [
        Duration(event.sound, asked)
        for event in clip.events
        for asked in index.thresholds(event.sound)
        if asked <= event.duration
    ]


_OPTIONS: dict[Kind, Callable[[Index, Composite, Constraints], Sequence[Constraint]]] = {
    "presence": _presence,
    "negation": _negation,
    "order": _order,
    "overlap": _overlap,
    "duration": _duration,
}


def _ids(index: Index, draft: Draft) -> tuple[str, ...]:
    return tuple(index.composites[at].id for at in positions(index.satisfying(draft.constraints)))
