"""Outcomes of queries with two candidates: what directions ``choice`` and ``texts`` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.runs.directions.direction import Fault
from pytest_audioretrieval.runs.outcomes import Outcomes, rounded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.data.types import Choice, Rewording
    from pytest_audioretrieval.metrics.retrieval import Metric

    Floats = npt.NDArray[np.float64]

#: Accuracy of guessing between two options.
CHANCE = 0.5
LAST_RANK = 2


class TwoOptions:
    """Base of the directions whose queries have two candidates."""

    usual = False
    chance = CHANCE
    optional = frozenset[str]()
    same_pool = "same options: another part of the dataset differs"

    def last_rank(self, clips: int) -> int:
        """Return 2."""
        return LAST_RANK

    def limits(self, metric: Metric, clips: int) -> tuple[float, float] | None:
        """Return the values that a pool of two allows."""
        return metric.limits(LAST_RANK)


def outcomes_of(items: Sequence[Choice | Rewording], right: Floats, wrong: Floats) -> Outcomes:
    """Return outcomes of items with two candidates each: the right one has rank 1, or rank 2, on a tie too."""
    ranks = [1 if above else 2 for above in (right > wrong).tolist()]
    return Outcomes(
        id=[item.id for item in items],
        cluster=[item.cluster for item in items],
        first_hit_rank=ranks,
        pessimistic_rank=ranks,
        tied=[int(tie) for tie in right == wrong],
        ap=[1 / rank for rank in ranks],
        margin=rounded(right - wrong),
        slice=[item.slice for item in items],
    )


def fault(outcomes: Outcomes) -> Fault | None:
    """Return the first query whose rank, tie and margin do not say one thing, or None."""
    columns = (outcomes.first_hit_rank, outcomes.pessimistic_rank, outcomes.tied, outcomes.margin)
    for query, rank, worst, tied, margin in zip(outcomes.id, *columns, strict=True):
        right = margin >= 0 if rank == 1 else margin <= 0
        if not right or worst != rank or tied not in (0, 1) or (tied and (rank == 1 or margin)):
            found = f"rank {rank} (pessimistic {worst}), tied {tied} and margin {margin} cannot be"
            return Fault(f"query {query!r}: {found}")
    return None
