"""Figures others published, with their source: ``baselines/published/*.json``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_audioretrieval.errors import BaselineError

if TYPE_CHECKING:
    from pytest_audioretrieval.baselines import Shelf
    from pytest_audioretrieval.session import Target


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One published value."""

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


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: where the figures come from, under which protocol, and the figures."""

    source: str
    protocol: str
    figures: list[Figure]
    differences: list[Difference] = []


def tables(shelf: Shelf) -> Iterator[tuple[Path, Table]]:
    """All published tables, the user's own first."""
    for folder in (shelf.own, shelf.shipped):
        for path in sorted((folder / "published").glob("*.json")):
            try:
                yield path, msgspec.json.decode(path.read_bytes(), type=Table)
            except (OSError, msgspec.DecodeError) as error:
                raise BaselineError(f"{path}: no readable table of published figures: {error}") from None


def figure(shelf: Shelf, target: Target, metric: str, protocol: str) -> tuple[float, str]:
    """The published value of a target's metric and its source.

    Raises:
        BaselineError: there is none; names those there are for this model.
    """
    wanted = (target.model.id, target.source.name, target.direction, metric)
    there: list[str] = []
    for _, table in tables(shelf):
        for known in table.figures:
            if (known.model, known.dataset, known.direction, known.metric) == wanted:
                if table.protocol != protocol:
                    raise BaselineError(
                        f"the published {metric} of {target.id} was measured under {table.protocol}, this run under "
                        f"{protocol}: pass --retrieval-protocol {table.protocol}"
                    )
                return known.value, table.source
            if known.model == target.model.id:
                there.append(f"{known.metric} on {known.dataset} {known.direction}")
    raise BaselineError(
        f"no published figure for {metric} of {target.id}: "
        + (f"there are {', '.join(there)}" if there else "none is known for this model")
        + f"; add one to {shelf.own / 'published'}"
    )
