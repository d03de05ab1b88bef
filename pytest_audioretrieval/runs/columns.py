"""Outcomes of a run as arrays, as metrics read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_audioretrieval.runs.outcomes import FormOutcomes, Outcomes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.runs.directions import Direction


class FormColumns(NamedTuple):
    """Outcomes of one form as arrays of one entry per query; see ``FormOutcomes``."""

    rank: npt.NDArray[np.int64]
    move: npt.NDArray[np.float64]
    tal: npt.NDArray[np.float64]
    hnp: npt.NDArray[np.float64]


class Columns:
    """Arrays of one entry per query; columns that a direction lacks are empty, or None."""

    def __init__(self, outcomes: Outcomes, direction: Direction) -> None:
        import numpy as np

        self.first_hit_rank: npt.NDArray[np.int64] = np.asarray(outcomes.first_hit_rank, dtype=np.int64)
        self.margin: npt.NDArray[np.float64] = np.asarray(outcomes.margin, dtype=np.float64)
        # Among a whole pool, a tie is no half of an answer.
        self.tied: npt.NDArray[np.int64] | None = None
        if direction.chance is not None:
            self.tied = np.asarray(outcomes.tied, dtype=np.int64)
        rows = outcomes.relevant_ranks or [[rank] for rank in outcomes.first_hit_rank]
        self.relevant_ranks: list[npt.NDArray[np.int64]] = [np.asarray(row, dtype=np.int64) for row in rows]
        self.source_rank: npt.NDArray[np.int64] = np.asarray(outcomes.source_rank or [], dtype=np.int64)
        self.slices: list[str] = outcomes.slice or []
        self.swap_distance, self.paraphrase_distance = (
            None if column is None else np.asarray(column, dtype=np.float64)
            for column in (outcomes.swap_distance, outcomes.paraphrase_distance)
        )
        self.forms: dict[str, FormColumns] = {
            name: FormColumns(*(np.asarray(getattr(form, field)) for field in FormOutcomes.__struct_fields__))
            for name, form in (outcomes.forms or {}).items()
        }
