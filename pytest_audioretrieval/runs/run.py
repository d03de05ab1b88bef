"""Runs: the per-query outcomes of one model on one dataset, direction and protocol, with their provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_audioretrieval.runs import directions
from pytest_audioretrieval.runs.columns import Columns
from pytest_audioretrieval.runs.outcomes import Outcomes, Shown

if TYPE_CHECKING:
    from pytest_audioretrieval.runs.form_rows import FormRow

SCHEMA = "pytest-audioretrieval/run/1"


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights that answered."""

    id: str
    revision: str | None
    weights_sha256: str


class DatasetRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Data that was asked: ``candidates`` is a digest of the pool that is ranked, the rest as in ``Dataset``."""

    name: str
    revision: str | None
    fingerprint: str
    candidates: str
    clips: int
    queries: int


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Outcomes and provenance, as they are stored; ``metrics`` are means for reading, never for judging."""

    schema: str
    model: Model
    dataset: DatasetRef
    direction: str
    protocol: dict[str, Any]
    environment: dict[str, str]
    metrics: dict[str, float]
    queries: Outcomes

    @property
    def asks(self) -> directions.Direction:
        """The direction as an object."""
        return directions.named(self.direction)

    @cached_property
    def columns(self) -> Columns:
        """The outcomes as arrays, as a ``Metric`` reads them."""
        return Columns(self.queries, self.asks)

    @cached_property
    def form_rows(self) -> list[FormRow]:
        """Costs of each reformulation; none but in direction ``forms``."""
        from pytest_audioretrieval.runs.form_rows import form_rows

        return form_rows(self.columns, self.queries.cluster)


class MeasuredRun(msgspec.Struct, frozen=True):
    """A run of this process, with the words that no file keeps.

    Attributes:
        shown: of the run's queries.
        forms: the same of each form, in a run of direction ``forms``.
        notes: what the dataset's loader and the direction counted, such as repeated captions that were removed.
    """

    run: Run
    shown: Shown
    notes: Sequence[str] = ()
    forms: Mapping[str, Shown] = {}


def same_outcomes(one: Run, other: Run) -> bool:
    """Return whether every per-query outcome is equal."""
    return one.queries == other.queries
