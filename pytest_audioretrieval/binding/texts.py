"""Does a text's vector move farther where its meaning changes than where its words do? (MASB, Experiment 3)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.binding.answers import Labels, Mask, slices
from pytest_audioretrieval.binding.chance import P
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.binding import TextDistances, correct, text_distances
from pytest_audioretrieval.stats.chance import against_chance
from pytest_audioretrieval.tables.table import Body, Cell, Column, Table, bounded, joined, table

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Rewording
    from pytest_audioretrieval.embedding.embedder import Embedder

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
    Column("clusters", "d"),
    *bounded("clustered", ".3f"),
    Column("clustered p", P),
)
_NOTE = (
    "medians of the captions' cosine distances and their ratio; farther under swap is a share of captions, chance 0.5, "
    "a tie counts one half"
)


@dataclass(frozen=True, eq=False)
class Reworded:
    """One model's unit vectors of captions, their swaps and paraphrases, [N, D] each."""

    model: str
    text: Vectors
    swap: Vectors
    paraphrase: Vectors


def reworded(embedder: Embedder, rewordings: Sequence[Rewording]) -> Reworded:
    """Embed the captions of a dataset, at least one, by a model that has vectors.

    Raises:
        RetrievalError: a text that cannot be embedded.
    """
    kinds = [[getattr(one, kind) for one in rewordings] for kind in ("text", "swap", "paraphrase")]
    text, swap, paraphrase = np.split(embedder.texts([text for kind in kinds for text in kind]), 3)
    return Reworded(embedder.spec.id, text, swap, paraphrase)


def text_table(models: Sequence[Reworded], rewordings: Sequence[Rewording], *, notes: Sequence[str] = ()) -> Table:
    """Figure 4, one ``Reworded`` a model with vectors; ``notes`` say which have none."""
    return table("Experiment 3: text distances (MASB, Figure 4)", _texts, models, rewordings, notes)


def _texts(models: Sequence[Reworded], rewordings: Sequence[Rewording], notes: Sequence[str]) -> Body:
    if not rewordings:
        raise DataError("the dataset has no captions with an attribute swap and a paraphrase")
    if not models:
        raise DataError(joined(*notes))
    recordings = [one.recording for one in rewordings]
    cluster, names = (np.array([getattr(one, label) for one in rewordings]) for label in ("cluster", "slice"))
    rows = []
    for one in models:
        distances = text_distances(one.text, one.swap, one.paraphrase, recordings)
        rows += [(one.model, name, *_cells(distances, cluster, kept)) for name, kept in slices(names)]
    return Body(_COLUMNS, rows, joined(_NOTE, *notes))


def _cells(distances: TextDistances, cluster: Labels, kept: Mask) -> tuple[Cell, ...]:
    columns = (distances.swap, distances.paraphrase, distances.others)
    swap, paraphrase, others = (float(np.median(column[kept])) for column in columns)
    found = against_chance(correct(distances.swap[kept], distances.paraphrase[kept]), cluster[kept])
    return (
        found.trials,
        swap,
        paraphrase,
        others,
        swap / paraphrase if paraphrase else None,
        found.ties,
        found.accuracy,
        found.wilson_low,
        found.wilson_high,
        found.p_exact,
        found.clusters,
        found.accuracy,
        found.clustered_low,
        found.clustered_high,
        found.p_clustered,
    )
