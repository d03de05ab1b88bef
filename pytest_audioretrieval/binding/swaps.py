"""Does the caption that holds score above its attribute swap? (MASB, Experiment 1)"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audioretrieval.binding.answers import Answers
from pytest_audioretrieval.binding.chance import CHANCE, NOTE, against_chance_rows
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.tables.table import Body, Column, Table, table


def swap_table(answers: Sequence[Answers]) -> Table:
    """Figure 2 over the choices that are no mirror pairs, one ``Answers`` a model."""
    return table("Experiment 1: swap accuracy (MASB, Figure 2)", _swaps, answers)


def _swaps(answers: Sequence[Answers]) -> Body:
    if not any(map(len, answers)):
        raise DataError("the dataset has no choices outside of mirror pairs")
    return Body((Column("model"), Column("slice"), *CHANCE), against_chance_rows(answers), NOTE)
