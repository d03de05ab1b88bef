"""Answers of models to choices between two options, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.metrics.binding import correct
from pytest_audioretrieval.runs.directions.choice import option_scores

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Choice, Dataset
    from pytest_audioretrieval.embedding.single_model import SingleModel

Floats: TypeAlias = npt.NDArray[np.float64]
Labels: TypeAlias = npt.NDArray[np.str_]
Mask: TypeAlias = npt.NDArray[np.bool_]

#: Name in place of a slice in a row about all slices.
ALL = "all"


@dataclass(frozen=True, eq=False)
class Answers:
    """One model's answers to N choices, all columns [N].

    Attributes:
        model: its name.
        slice, cluster: as in ``data.types.Choice``.
        correct: 1 where the right option scores higher, 0 where the wrong one does, 0.5 in a tie.
    """

    model: str
    slice: Labels
    cluster: Labels
    correct: Floats

    def __len__(self) -> int:
        return len(self.correct)

    def where(self, kept: Mask) -> Answers:
        """Return the answers of a mask [N]."""
        return replace(self, slice=self.slice[kept], cluster=self.cluster[kept], correct=self.correct[kept])


def is_mirror(slice_name: str) -> bool:
    """Return whether a slice holds mirror pairs (Experiment 4), not single swaps (Experiments 1 and 2)."""
    return slice_name.startswith("mirror-")


def slices(names: Labels) -> Iterator[tuple[str, Mask]]:
    """Yield each slice of a column with the mask [N] of its rows, in order of appearance, and ``ALL`` last."""
    for name in dict.fromkeys(names.tolist()):
        yield name, names == name
    yield ALL, np.ones(len(names), dtype=np.bool_)


def answer_choices(model: SingleModel, dataset: Dataset) -> Answers:
    """Return a model's answers to all choices of a dataset, in their order (MASB, 2.3).

    Raises:
        RetrievalError: a clip or text cannot be scored.
    """
    if not dataset.choices:
        return label_answers(model.spec.id, (), np.empty(0))
    return label_answers(model.spec.id, dataset.choices, correct(*option_scores(model, dataset)))


def label_answers(model: str, choices: Sequence[Choice], correct: Floats) -> Answers:
    """Return ``correct`` [N] with the slices and clusters of its choices."""
    return Answers(
        model,
        np.array([choice.slice for choice in choices], dtype=np.str_),
        np.array([choice.cluster for choice in choices], dtype=np.str_),
        correct,
    )
