"""Diversity of a query set, by a sentence encoder (CORA, Appendix A.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.cora.analyses.pools import QueriedDataset
from pytest_audioretrieval.data.query_sets import QuerySet
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, table
from pytest_audioretrieval.stats.diversity import diversity_by_type, global_diversity, within_diversity

#: The types whose openings CORA diversified (A.4.2).
DIVERSIFIED = ("command", "question", "indirect")


@dataclass(frozen=True)
class Diversity:
    """Mean cosine distances between the queries of a set.

    Attributes:
        queries: number of queries of all types.
        overall: D_global, over all pairs of queries of any type.
        within: D_within, the mean of ``by_type``.
        by_type: over the pairs of one type.
    """

    queries: int
    overall: float
    within: float
    by_type: Mapping[str, float]


def diversity(
    asked: QuerySet, encode: Callable[[Sequence[str]], npt.NDArray[Any]], types: Sequence[str] = DIVERSIFIED
) -> Diversity:
    """Return D_global over all queries of ``asked`` and D_within over ``types`` (CORA, A.4.2).

    Args:
        encode: texts to unit vectors [len(texts), D]; the paper's is ``models.sentence.SentenceEncoder`` on MiniLM.
        types: forms of ``asked``; UIQ calls its commands "imperative".

    Raises:
        SpecError: a type is no form of ``asked``.
        DataError: there are fewer than two queries of a type.
    """
    unknown = next((name for name in types if name not in asked.forms), None)
    if unknown is not None or not types:
        raise SpecError(
            f"{asked.name}: type {unknown!r} is no form",
            expected=f"some of {', '.join(asked.forms)}",
            remedy="correct it",
        )
    pairs = asked.pairs
    vectors = encode([pair.text for pair in pairs])
    forms = np.array([pair.form for pair in pairs])
    rows = np.isin(forms, types)
    chosen = vectors[rows], forms[rows].tolist()
    return Diversity(len(pairs), global_diversity(vectors), within_diversity(*chosen), diversity_by_type(*chosen))


def diversity_table(given: Sequence[QueriedDataset]) -> Table:
    """Tabulate Figure 4 of each dataset's queries, by MiniLM; does not apply where that is not installed."""
    return table("Diversity of the queries (CORA, Appendix A.4)", _rows, given)


def _rows(given: Sequence[QueriedDataset]) -> Body:
    from pytest_audioretrieval.models.sentence import SentenceEncoder, find_minilm

    encode = SentenceEncoder(find_minilm(), device="cpu").encode
    columns = [Column("dataset"), Column("N", "d"), Column("D_global", ".4f"), Column("D_within", ".4f")]
    rows: list[tuple[Cell, ...]] = []
    for one in given:
        found = diversity(one.queries, encode)
        rows.append((one.dataset.name, found.queries, found.overall, found.within, *found.by_type.values()))
    return Body([*columns, *(Column(name, ".4f") for name in sorted(DIVERSIFIED))], rows)
