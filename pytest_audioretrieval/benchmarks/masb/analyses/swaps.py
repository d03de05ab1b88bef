"""Accuracy of captions against their attribute swaps (MASB, Experiment 1)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audioretrieval.benchmarks.masb.analyses.answers import Answers
from pytest_audioretrieval.benchmarks.masb.analyses.chance import CHANCE, NOTE, Family
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.table import Body, Column, Table, table


def swap_table(answers: Sequence[Answers], family: Family) -> Table:
    """Tabulate Figure 2 over the choices outside of mirror pairs, one ``Answers`` a model."""
    return table("Experiment 1: swap accuracy (MASB, Figure 2)", _swaps, answers, family)


def _swaps(answers: Sequence[Answers], family: Family) -> Body:
    if not any(map(len, answers)):
        raise DataError("the dataset has no choices outside of mirror pairs", remedy="name one that has")
    return Body((Column("model"), Column("slice"), *CHANCE), family.rows(answers), NOTE + "Experiments 1 and 4")
