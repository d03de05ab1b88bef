"""Published figures, with their source: ``baselines/published/*.json``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from pytest_audioretrieval.errors import BaselineError

if TYPE_CHECKING:
    from pytest_audioretrieval.runs.baselines import Shelf

#: What a query was ranked against: the clips of its own dataset, or those of all datasets together.
Candidates = Literal["per-dataset", "pooled", "both", "not stated", "not applicable"]


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One published value that a run can be held against."""

    model: str
    dataset: str
    direction: str
    metric: str
    value: float


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published difference in percentage points with its 95 % interval."""

    dataset: str
    direction: str
    metric: str
    points: float
    low: float
    high: float


class Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of the running text: ``where`` it stands and how many ``decimals`` are printed."""

    name: str
    value: int | float
    unit: str
    decimals: int
    where: str
    candidates: Candidates


class PrintedColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of a printed table: numbers have a unit and decimals (the fewest, where rows differ), labels neither."""

    name: str
    unit: str = ""
    decimals: int = 0


class PrintedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A printed table; ``candidates`` is the pool that the text, or else the numbers, state, ``evidence`` the place."""

    number: int
    caption: str
    candidates: Candidates
    columns: list[PrintedColumn]
    rows: list[list[str | int | float]]
    evidence: str = ""

    def __post_init__(self) -> None:
        labels = [not column.unit for column in self.columns]
        for row in self.rows:
            if [isinstance(cell, str) for cell in row] != labels:
                raise ValueError(
                    f"table {self.number}: row {row} does not fit its columns: a cell each, text without unit"
                )


class Publication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: where the figures come from, under which protocol, and the figures."""

    source: str
    protocol: str
    figures: list[Figure]
    differences: list[Difference] = []
    stated: list[Stated] = []
    tables: list[PrintedTable] = []


def read(path: Path) -> Publication:
    """Read and check one file.

    Raises:
        BaselineError: it cannot be read or does not have this shape.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Publication)
    except (OSError, msgspec.DecodeError) as error:
        raise BaselineError(
            f"{path}: no readable table of published figures: {error}", remedy="mend the file, or remove it"
        ) from None


def publications(shelf: Shelf) -> Iterator[Publication]:
    """Yield all publications, the user's own first."""
    for folder in (shelf.own, shelf.shipped):
        yield from map(read, sorted((folder / "published").glob("*.json")))


def figure(shelf: Shelf, model: str, dataset: str, direction: str, metric: str, protocol: str) -> tuple[float, str]:
    """Return the published value of a model's metric on a dataset and direction, and its source.

    Raises:
        BaselineError: there is none; names those there are for this model.
    """
    wanted, what = (model, dataset, direction, metric), f"{metric} of {model}-{dataset}-{direction}"
    there: list[str] = []
    for published in publications(shelf):
        for known in published.figures:
            if (known.model, known.dataset, known.direction, known.metric) == wanted:
                if published.protocol != protocol:
                    raise BaselineError(
                        f"the published {what} was measured under {published.protocol}, this run under {protocol}",
                        remedy=f"pass --retrieval-protocol {published.protocol}",
                    )
                return known.value, published.source
            if known.model == model:
                there.append(f"{known.metric} on {known.dataset} {known.direction}")
    raise BaselineError(
        f"no published figure for {what}: "
        + (f"there are {', '.join(there)}" if there else "none is known for this model"),
        remedy=f"add one to {shelf.own / 'published'}",
    )
