"""Two-option items: clips with the same named sounds, of which one violates a constraint (ReasonAudio, 5.1)."""

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

#: Number of clips of each side, those used least, to search for a pair with equally many sounds.
CONSIDERED = 40


@dataclass(frozen=True)
class ReasonChoice:
    """A text with its constraints, and the ids of a clip that meets them and of one that does not."""

    id: str
    task: Task
    text: str
    constraints: Constraints
    right: str
    wrong: str


def make_choices(composites: Sequence[Composite], per_task: int, seed: int) -> list[ReasonChoice]:
    """Make ``per_task`` choices of each of the five tasks, each about its own query.

    The wrong clip holds the sounds that the query names as present and meets all constraints but one, which is no mere
    presence: in a negation the excluded sound is there too. The two clips hold equally many sounds where such a pair is
    found, else nearly, so that counting sounds does not help. Clips used least are preferred. The queries of
    ``make_queries`` with the same seed come first.

    Raises:
        DataError: the corpus gives fewer queries.
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
    """Return the positions of the right and the wrong clip, and count both as used."""
    misses = [clips for missed, clips in index.near_misses(constraints).items() if not isinstance(missed, Presence)]
    rights = shuffled(list(positions(index.satisfying(constraints))), f"{key}/right")
    wrongs = shuffled(list(positions(misses[draw(f"{key}/broken", len(misses))])), f"{key}/wrong")
    right, wrong = min(
        product(*(sorted(clips, key=lambda at: used[at])[:CONSIDERED] for clips in (rights, wrongs))),
        key=lambda pair: abs(len(index.composites[pair[0]].events) - len(index.composites[pair[1]].events)),
    )
    used.update((right, wrong))
    return right, wrong
