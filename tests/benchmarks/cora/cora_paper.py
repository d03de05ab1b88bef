"""CORA's printed tables for tests: rows by name, rounding, and means of cells by item counts."""

from __future__ import annotations

from typing import Any

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.runs.published import read
from pytest_audioretrieval.stats import marginals

PATH = shipped("baselines") / "published/cora.json"
PAPER = read(PATH)
TABLES = {table.number: table for table in PAPER.tables}
STATED = {stated.name: stated for stated in PAPER.stated}
FULL_TABLES = (14, 15, 16, 17)
FORMS, MODELS = 5, 4


def records(*numbers: int) -> list[dict[str, Any]]:
    """Return rows of tables, one after another, by column name."""
    names = {number: [column.name for column in TABLES[number].columns] for number in numbers}
    return [dict(zip(names[number], row, strict=True)) for number in numbers for row in TABLES[number].rows]


def row(number: int, label: str) -> dict[str, Any]:
    """Return the row that begins with a label."""
    (found,) = (record for record in records(number) if next(iter(record.values())) == label)
    return found


def half(number: int, column: str) -> float:
    """Return half a unit of the last printed place: the largest distance of a printed cell from its measurement."""
    (decimals,) = (known.decimals for known in TABLES[number].columns if known.name == column)
    return float(0.5 * 10.0**-decimals)


def value(name: str) -> float:
    return STATED[name].value


def near(found: float, printed: float, slack: float) -> bool:
    """Return whether two values agree within the rounding of both; the last term is float rounding."""
    return abs(found - printed) <= slack + 1e-9


CELLS = records(*FULL_TABLES)
COUNTS = records(1)[:-1]
ITEMS = {record["dataset"]: record["retained"] for record in COUNTS}
#: The cells' rounding survives a mean of any number of them.
RANKS, RECALL = half(14, "MeanRD"), half(14, "CORA R@5")


def marginal(column: str, *levels: str, weighted: bool = True) -> dict[Any, float]:
    """Return a column of Tables 14 to 17 by dataset, model or form, each cell weighted by its items."""
    counts = [ITEMS[cell["dataset"]] if weighted else 1 for cell in CELLS]
    by = [[cell[level] for cell in CELLS] for level in levels]
    found = marginals.marginal([cell[column] for cell in CELLS], *by, counts=counts)
    return {key: mean.mean for key, mean in found.items()}


def hits(percent: float, total: int, decimals: int) -> list[int]:
    """Return the numbers of hits among ``total`` that print as this percentage."""
    near_it = range(max(0, int(percent * total / 100) - 2), int(percent * total / 100) + 3)
    return [count for count in near_it if near(100 * count / total, percent, 0.5 * 10.0**-decimals)]


def hit_count(cell: dict[str, Any], column: str) -> int:
    """Return the number of hits; one decimal separates all counts among at most 994 items."""
    (count,) = hits(cell[column], ITEMS[cell["dataset"]], 1)
    return count
