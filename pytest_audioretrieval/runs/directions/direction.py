"""The protocol that every direction follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_audioretrieval.runs.outcomes import Outcomes, Shown

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.retrieval import Metric

#: Two cosines differ by at most this.
COSINES_APART = 2.0


class Fault(NamedTuple):
    """Something in a stored run that cannot be, and what should be there where that can be said."""

    found: str
    expected: str = ""


@dataclass(frozen=True)
class Answered:
    """Outcomes of one model on one dataset, before anything is said of where they came from.

    Attributes:
        dataset: as it was asked; a direction may add forms or leave them out.
        outcomes: per query.
        pool: (id, content) of what was ranked, in order.
        shown: of the queries, for a person to read.
        forms: the same of each form, in direction ``forms``.
        notes: what the direction counted, a line each.
    """

    dataset: Dataset
    outcomes: Outcomes
    pool: Iterable[tuple[str, str]]
    shown: Shown
    forms: Mapping[str, Shown] = field(default_factory=dict)
    notes: Sequence[str] = ()


class Direction(Protocol):
    """One way of asking a dataset: what is asked, what is ranked, and what a run of it holds.

    Attributes:
        name: as in markers, ids and stored runs.
        usual: asked where nobody says which direction.
        chance: mean accuracy that guessing has; None where all of a pool are ranked.
        columns: the columns of ``outcomes.OPTIONAL`` that every run of this direction has.
        optional: the columns of it that a run may have; it has no others.
        apart: the greatest absolute value of a margin.
        same_pool: words for an error: what two runs with one pool share, and what of their datasets may differ.
    """

    @property
    def name(self) -> str: ...
    @property
    def usual(self) -> bool: ...
    @property
    def chance(self) -> float | None: ...
    @property
    def columns(self) -> frozenset[str]: ...
    @property
    def optional(self) -> frozenset[str]: ...
    @property
    def apart(self) -> float: ...
    @property
    def same_pool(self) -> str: ...

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return everything that ``dataset`` asks in this direction; nothing where it is not for it."""
        ...

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Ask a model everything.

        Raises:
            RetrievalError: the model cannot answer so, or something cannot be embedded.
        """
        ...

    def means(self) -> Sequence[Metric]:
        """Return the metrics whose means a run states, for reading."""
        ...

    def slice_means(self) -> Sequence[Metric]:
        """Return the metrics whose means a run states of each of its slices."""
        ...

    def last_rank(self, clips: int) -> int:
        """Return the greatest rank there can be in a dataset of so many clips."""
        ...

    def limits(self, metric: Metric, clips: int) -> tuple[float, float] | None:
        """Return the least and greatest value of a query where the pool decides them, else None."""
        ...

    def fault(self, outcomes: Outcomes, clips: int) -> Fault | None:
        """Return the first thing in stored outcomes that cannot be in this direction, or None."""
        ...
