"""Two clips for one query: both hold the sounds it names, one of them breaks what it asks (ReasonAudio, 5.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import Constraints, Presence
from pytest_audioretrieval.benchmarks.reasonaudio.queries.index import Index, positions
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import drafts
from pytest_audioretrieval.benchmarks.reasonaudio.queries.templates import TASKS, Task
from pytest_audioretrieval.data.sounds.recipe import draw, shuffled

#: So many clips of each side, those used least, are looked at for a pair with equally many sounds.
CONSIDERED = 40


@dataclass(frozen=True)
class ReasonChoice:
    """A text, what it asks for, and the ids of a clip that meets it and of one that does not."""

    id: str
    task: Task
    text: str
    constraints: Constraints
    right: str
    wrong: str


def make_choices(composites: Sequence[Composite], per_task: int, seed: int) -> list[ReasonChoice]:
    """``per_task`` choices of each of the five tasks, each about a query of its own.

    The wrong clip holds the sounds that the query names as present, meets all constraints but one that is no mere
    presence, and breaks that one: in a negation the excluded sound is there too. The two hold equally many sounds
    where such a pair is found, else nearly: counting sounds is no way to choose. Clips used least are preferred. The
    queries of ``make_queries`` with the same seed are the first to be asked.

    Raises:
        DataError: the corpus does not give so many queries.
    """
    index = Index(composites)
    used: Counter[int] = Counter()
    return [
        ReasonChoice(
            f"{task}-choice-{number:03d}",
            task,
            draft.text,
            draft.constraints,
            *(index.composites[at].id for at in _pair(index, draft.constraints, f"{seed}/{draft.text}", used)),
        )
        for task in TASKS
        for number, draft in enumerate(drafts(index, task, per_task, seed), start=1)
    ]


def _pair(index: Index, constraints: Constraints, key: str, used: Counter[int]) -> tuple[int, int]:
    """The positions of the right and the wrong clip, which are counted as used."""
    misses = [clips for broken, clips in index.near_misses(constraints).items() if not isinstance(broken, Presence)]
    rights = shuffled(list(positions(index.satisfying(constraints))), f"{key}/right")
    wrongs = shuffled(list(positions(misses[draw(f"{key}/broken", len(misses))])), f"{key}/wrong")
    right, wrong = min(
        product(*(sorted(clips, key=lambda at: used[at])[:CONSIDERED] for clips in (rights, wrongs))),
        key=lambda pair: abs(len(index.composites[pair[0]].events) - len(index.composites[pair[1]].events)),
    )
    used.update((right, wrong))
    return right, wrong
