"""Tests of accuracies against chance as table cells, corrected over all tests of a command (MASB, 2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audioretrieval.benchmarks.masb.analyses.answers import ALL, Answers, slices
from pytest_audioretrieval.report.tables.table import Cell, Column, bounded
from pytest_audioretrieval.stats.chance import Chance, against_chance
from pytest_audioretrieval.stats.multiplicity import holm

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
#: Explanation of these columns, without the family of Holm's correction.
NOTE = (
    "accuracy: Wilson interval and exact binomial p, as if choices were independent; clustered: the same by cluster; "
    f"a tie counts one half; Holm over all rows but those of slice {ALL!r}, of "
)


class Family:
    """A family of tests against chance, Holm-corrected together: every slice of every model.

    A row of all slices together repeats the others and is outside of the family.

    Args:
        answers: one a model, of single choices and mirror pairs together, as the suite ``binding`` corrects them.
    """

    def __init__(self, answers: Sequence[Answers]) -> None:
        parts = {
            (one.model, name): one.where(kept) for one in answers for name, kept in slices(one.slice) if name != ALL
        }
        self._found = {key: against_chance(part.correct, part.cluster) for key, part in parts.items()}
        exact, clustered = (
            holm([getattr(chance, p) for chance in self._found.values()]) for p in ("p_exact", "p_clustered")
        )
        self._corrected = dict(zip(self._found, zip(exact, clustered, strict=True), strict=True))

    def rows(self, answers: Sequence[Answers]) -> list[tuple[Cell, ...]]:
        """Return model, slice and the cells of ``CHANCE`` for each slice of these models, then for all slices."""
        rows: list[tuple[Cell, ...]] = []
        for one in answers:
            for name, kept in slices(one.slice):
                part, key = one.where(kept), (one.model, name)
                found = against_chance(part.correct, part.cluster) if name == ALL else self._found[key]
                rows.append((*key, *_cells(found, *self._corrected.get(key, (None, None)))))
        return rows


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
