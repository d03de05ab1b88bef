"""Accuracies held against chance as cells of a table, corrected over the whole table (MASB, 2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audioretrieval.binding.answers import ALL, Answers, slices
from pytest_audioretrieval.stats.chance import Chance, against_chance
from pytest_audioretrieval.stats.multiplicity import holm
from pytest_audioretrieval.tables.table import Cell, Column, bounded

ALPHA = 0.05
P = ".3g"

CHANCE = (
    Column("n", "d"),
    Column("ties", "d"),
    *bounded("accuracy", ".3f"),
    Column("p", P),
    Column("Holm p", P),
    Column("clusters", "d"),
    *bounded("clustered", ".3f"),
    Column("clustered p", P),
    Column("clustered Holm p", P),
    Column("chance"),
)
#: How to read them.
NOTE = (
    "accuracy: Wilson interval and exact binomial p, as if choices were independent; clustered: the same by cluster; "
    f"Holm over all rows but those of slice {ALL!r}; a tie counts one half"
)


def against_chance_rows(answers: Sequence[Answers]) -> list[tuple[str, str, *tuple[Cell, ...]]]:
    """Model, slice and the cells of ``CHANCE``: a row a slice and one of all, model by model.

    Rows of all slices together are outside of the family that Holm's correction is over.
    """
    parts = [(one.model, name, one.where(kept)) for one in answers for name, kept in slices(one.slice)]
    found = [against_chance(part.correct, part.cluster) for _, _, part in parts]
    family = [row for row, (_, name, _) in enumerate(parts) if name != ALL]
    exact = dict(zip(family, holm([found[row].p_exact for row in family]), strict=True))
    clustered = dict(zip(family, holm([found[row].p_clustered for row in family]), strict=True))
    return [
        (model, name, *_cells(found[row], exact.get(row), clustered.get(row)))
        for row, (model, name, _) in enumerate(parts)
    ]


def _cells(found: Chance, exact: float | None, clustered: float | None) -> tuple[Cell, ...]:
    return (
        found.trials,
        found.ties,
        found.accuracy,
        found.wilson_low,
        found.wilson_high,
        found.p_exact,
        exact,
        found.clusters,
        found.accuracy,
        found.clustered_low,
        found.clustered_high,
        found.p_clustered,
        clustered,
        None if clustered is None else _verdict(found.accuracy, clustered),
    )


def _verdict(accuracy: float, p: float) -> str:
    if p > ALPHA:
        return "at"
    return "above" if accuracy > 0.5 else "below"
