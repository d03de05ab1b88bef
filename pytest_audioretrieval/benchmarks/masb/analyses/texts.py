"""Distances of a text's vector to its swap and to its paraphrase (MASB, Experiment 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.masb.analyses.answers import ALL, Answers, Mask, slices
from pytest_audioretrieval.benchmarks.masb.analyses.chance import Family, P
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.binding import TextDistances, correct, text_distances
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, bounded, joined, table
from pytest_audioretrieval.runs.directions.texts import reworded as vectors

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Rewording
    from pytest_audioretrieval.embedding.single_model import SingleModel

Vectors: TypeAlias = npt.NDArray[np.float32]

_COLUMNS = (
    Column("model"),
    Column("slice"),
    Column("n", "d"),
    Column("to swap", ".4f"),
    Column("to paraphrase", ".4f"),
    Column("to others", ".4f"),
    Column("swap / paraphrase", ".3f"),
    Column("ties", "d"),
    *bounded("farther under swap", ".3f"),
    Column("p", P),
    Column("Holm p", P),
    Column("clusters", "d"),
    *bounded("clustered", ".3f"),
    Column("clustered p", P),
    Column("clustered Holm p", P),
)
_NOTE = (
    "medians of the captions' cosine distances and their ratio; farther under swap is a share of captions, chance 0.5, "
    f"Holm over all rows but {ALL!r}; a tie counts one half"
)


@dataclass(frozen=True, eq=False)
class RewordingVectors:
    """One model's unit vectors of captions, their swaps and paraphrases, [N, D] each."""

    model: str
    text: Vectors
    swap: Vectors
    paraphrase: Vectors


def reworded(model: SingleModel, rewordings: Sequence[Rewording]) -> RewordingVectors:
    """Embed the captions of a dataset, at least one, with a model that has text vectors.

    Raises:
        RetrievalError: a text cannot be embedded.
    """
    return RewordingVectors(model.spec.id, *vectors(model, rewordings))


def text_table(
    models: Sequence[RewordingVectors], rewordings: Sequence[Rewording], *, notes: Sequence[str] = ()
) -> Table:
    """Tabulate Figure 4, one ``RewordingVectors`` a model; ``notes`` say which models have none."""
    return table("Experiment 3: text distances (MASB, Figure 4)", _texts, models, rewordings, notes)


def _texts(models: Sequence[RewordingVectors], rewordings: Sequence[Rewording], notes: Sequence[str]) -> Body:
    if not rewordings:
        raise DataError(
            "the dataset has no captions with an attribute swap and a paraphrase", remedy="name one that has"
        )
    if not models:
        raise DataError(joined(*notes))
    recordings = [one.recording for one in rewordings]
    cluster, names = (np.array([getattr(one, label) for one in rewordings]) for label in ("cluster", "slice"))
    distances = [text_distances(one.text, one.swap, one.paraphrase, recordings) for one in models]
    farther = [
        Answers(one.model, names, cluster, correct(found.swap, found.paraphrase))
        for one, found in zip(models, distances, strict=True)
    ]
    tested = Family(farther).rows(farther)
    medians = [_medians(found, kept) for found in distances for _, kept in slices(names)]
    rows = [(*row[:2], *_cells(moved, row[2:])) for row, moved in zip(tested, medians, strict=True)]
    return Body(_COLUMNS, rows, joined(_NOTE, *notes))


def _medians(distances: TextDistances, kept: Mask) -> tuple[float, float, float]:
    swap, paraphrase, others = (
        float(np.median(column[kept])) for column in (distances.swap, distances.paraphrase, distances.others)
    )
    return swap, paraphrase, others


def _cells(moved: tuple[float, float, float], test: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the medians and their ratio among the cells of ``CHANCE``, without its verdict.

    Chance is no standard here.
    """
    swap, paraphrase, _ = moved
    trials, *rest, _ = test
    return (trials, *moved, swap / paraphrase if paraphrase else None, *rest)
