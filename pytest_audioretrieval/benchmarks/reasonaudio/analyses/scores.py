"""ReasonAudio's Table 2 and its two-option setting (5.1) for given models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics import accuracy, hit_rate, ndcg
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, table

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.runs.columns import Columns
    from pytest_audioretrieval.runs.run import Run

#: Format of the paper's figures: percent, one decimal.
FORM = ".1f"


def score_tables(answerers: Sequence[Answerer], dataset: Dataset) -> list[Table]:
    """Tabulate Table 2 (queries against all clips), and the choices between two clips."""
    return [
        table("Queries against all clips, in percent (ReasonAudio, Table 2)", _queries, answerers, dataset),
        table("Choices between two clips, accuracy in percent (ReasonAudio, 5.1)", _choices, answerers, dataset),
    ]


def average(columns: Columns, tasks: Sequence[str]) -> float:
    """Return the paper's "Avg.": the mean of Acc@1 and nDCG@10 of all tasks, as the rows of its Table 2 show."""
    values = [metric.within(task).value(columns) for task in tasks for metric in (hit_rate(1), ndcg(10))]
    return sum(values) / len(values)


def _queries(answerers: Sequence[Answerer], dataset: Dataset) -> Body:
    tasks = _parts([query.slice for query in dataset.queries], "queries")
    metrics = [(f"{task} {name}", metric.within(task)) for task in tasks for name, metric in _METRICS]

    def rows() -> Iterator[list[Cell]]:
        for model, run in _runs(answerers, dataset, "t2a"):
            figures = [100 * metric.value(run.columns) for _, metric in metrics]
            yield [model, *figures, 100 * average(run.columns, tasks)]

    columns = [Column("model"), *(Column(name, FORM) for name, _ in metrics), Column("Avg.", FORM)]
    counts = f"{len(dataset.queries)} queries, {len(dataset.clips)} clips"
    return Body(columns, rows(), f"{counts}; Avg.: the mean of the figures before it, of both kinds, as in the paper")


def _choices(answerers: Sequence[Answerer], dataset: Dataset) -> Body:
    tasks = _parts([choice.slice for choice in dataset.choices], "two-option items")

    def rows() -> Iterator[list[Cell]]:
        for model, run in _runs(answerers, dataset, "choice"):
            yield [model, *(100 * accuracy().within(task).value(run.columns) for task in tasks)]

    columns = [Column("model"), *(Column(task, FORM) for task in tasks)]
    return Body(columns, rows(), f"{len(dataset.choices)} items; chance is 50, a tie counts one half")


_METRICS = (("Acc@1", hit_rate(1)), ("nDCG@10", ndcg(10)))


def _parts(slices: Sequence[str], what: str) -> list[str]:
    if not slices:
        raise DataError(f"the dataset has no {what}", remedy="name one that has")
    return list(dict.fromkeys(slices))


def _runs(answerers: Sequence[Answerer], dataset: Dataset, direction: str) -> Iterator[tuple[str, Run]]:
    from pytest_audioretrieval.runs.measure import measure

    for answerer in answerers:
        yield answerer.spec.id, measure(answerer, dataset, direction).run
