"""Directions in which a dataset can be asked, one class a file; a new one is its file and its line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.runs.directions.a2t import A2T
from pytest_audioretrieval.runs.directions.choice import Choice
from pytest_audioretrieval.runs.directions.direction import Direction
from pytest_audioretrieval.runs.directions.forms import Forms
from pytest_audioretrieval.runs.directions.t2a import T2A
from pytest_audioretrieval.runs.directions.texts import Texts

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset

__all__ = ["DIRECTIONS", "USUAL", "Direction", "named", "refuse_unasked"]

_ALL: tuple[Direction, ...] = (
    T2A(),
    A2T(),
    Forms(),
    Choice(),
    Texts(),
)
DIRECTIONS: dict[str, Direction] = {direction.name: direction for direction in _ALL}
#: Directions of a test that names none.
USUAL: tuple[str, ...] = tuple(direction.name for direction in _ALL if direction.usual)


def named(name: str) -> Direction:
    """Return the direction called ``name``; ``SpecError`` where there is none."""
    if name not in DIRECTIONS:
        raise SpecError(f"direction is {name!r}", expected=f"one of {', '.join(DIRECTIONS)}", remedy="correct the name")
    return DIRECTIONS[name]


def refuse_unasked(dataset: Dataset, direction: Direction) -> None:
    """Raise ``DataError`` where ``dataset`` asks nothing in ``direction``; it names the directions it is for."""
    if not direction.items(dataset):
        there = ", ".join(one.name for one in DIRECTIONS.values() if one.items(dataset))
        raise DataError(
            f"dataset {dataset.name!r} asks nothing in direction {direction.name}: it is for direction {there}",
            remedy="choose a suite that asks so (--retrieval-suite), or another dataset (--retrieval-dataset)",
        )
