"""Queries made from events: drawn from a clip, worded by a template, and kept where every constraint matters.

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

#: At most one in this many clips is relevant to a query, or one clip.
RARE = 20
#: Number of failed draws in a row after which a corpus has no more queries to give.
PATIENCE = 2_000


@dataclass(frozen=True)
class ReasonQuery:
    """A text with its constraints, and the ids of the clips that meet them."""

    id: str
    task: Task
    text: str
    constraints: Constraints
    clips: tuple[str, ...]


class Draft(NamedTuple):
    """The constraints and the text of a query."""

    constraints: Constraints
    text: str


def make_queries(composites: Sequence[Composite], per_task: int, seed: int) -> list[ReasonQuery]:
    """Make ``per_task`` queries of each of the five tasks.

    At most one clip in 20 is relevant to a query. Each of its constraints is needed: some clip meets all others, holds
    the sounds that the constraint names, and yet violates it; for a presence or an absence, some clip meets all others
    and violates it. No text and no set of constraints occurs twice, and no sound lasts nearly as long as a query asks.

    Raises:
        DataError: the corpus gives fewer; names the first such task and its number.
    """
    index = Index(composites)
    return [
        ReasonQuery(f"{task}-{number:03d}", task, draft.text, draft.constraints, _ids(index, draft))
        for task in TASKS
        for number, draft in enumerate(drafts(index, task, per_task, seed), start=1)
    ]


def drafts(index: Index, task: Task, wanted: int, seed: int) -> list[Draft]:
    """Return the first ``wanted`` queries of a task.

    Raises:
        DataError: there are fewer.
    """
    found = list(islice(_worth_asking(index, task, f"reasonaudio/{seed}/{task}"), wanted))
    if len(found) < wanted:
        raise DataError(
            f"{len(index.composites)} clips give {len(found)} {task} queries",
            expected=f"{wanted}, each with 1 to {_most(index)} relevant clips and every constraint needed",
            remedy="build more clips, add sounds or ask for fewer queries",
        )
    return found


def _worth_asking(index: Index, task: Task, key: str) -> Iterator[Draft]:
    """Yield all queries of a task, its shapes in turn.

    A shape drops out when the corpus gives no more queries of it.
    """
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
    """Return a query of the kinds of ``shape`` that ``clip`` satisfies, or None."""
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
    """Return sounds of clips that are relevant so far: excluding any other sound would ask for nothing."""
    tempting = {e.sound for at in positions(index.satisfying(made)) for e in index.composites[at].events}
    return [Negation(sound) for sound in sorted(tempting - {event.sound for event in clip.events})]


def _order(index: Index, clip: Composite, made: Constraints) -> Sequence[Constraint]:
    """Return pairs in order; after one such pair, those that continue from its end."""
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
