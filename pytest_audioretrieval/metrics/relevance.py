"""Relevant candidates of each query, checked and put into flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.scores import Floats, Ints, Scores


@dataclass(frozen=True)
class Relevance:
    """All pairs of a query and a relevant candidate; pairs of one query stand together.

    Within a query the best score comes first, and equal scores stand in document order.

    Attributes:
        rows, columns: query and candidate of each pair, [P].
        scores: exact score of each pair, [P].
        offsets: where each query's pairs start, and P, [Q + 1].
    """

    rows: Ints
    columns: Ints
    scores: Floats
    offsets: Ints

    @property
    def best(self) -> Relevance:
        """Best pair of each query."""
        first = self.offsets[:-1]
        every = np.arange(len(self.offsets))
        return Relevance(self.rows[first], self.columns[first], self.scores[first], every)


def flatten(relevant: Sequence[Sequence[int]] | Sequence[Ints], scores: Scores) -> Relevance:
    """Check ``relevant``, the candidate indices of each query, against ``scores`` and put it into flat arrays.

    Raises:
        DataError: another number of queries than ``scores`` has; a query without a relevant candidate; an index that
            is no integer, is out of range or is given twice. The error names the query.
    """
    if len(relevant) != scores.queries:
        raise DataError(
            f"relevant has {len(relevant)} entries", expected=f"one per query, {scores.queries}", remedy="align them"
        )
    parts = [_indices(query, part) for query, part in enumerate(relevant)]
    counts = np.array([len(part) for part in parts], dtype=np.int64)
    rows = np.repeat(np.arange(len(parts)), counts)
    columns = np.concatenate(parts)
    _check_range(rows, columns, scores.candidates)
    columns = columns.astype(np.int64)
    _check_duplicates(rows, columns)
    exact = scores.pairs(rows, columns)
    order = np.lexsort((columns, -exact, rows))
    return Relevance(rows, columns[order], exact[order], np.concatenate(([0], np.cumsum(counts))))


def _indices(query: int, part: Any) -> npt.NDArray[np.integer[Any]]:
    """Return the relevant candidates of one query as an array of integers, [>= 1]."""
    array = as_array(part)
    if array.ndim == 1 and not array.size:
        raise DataError(
            f"query {query} has no relevant candidate", expected="at least one", remedy="leave it out and count it"
        )
    if array.ndim != 1 or array.dtype.kind not in "iu":
        found = " ".join(repr(part).split())[:80]
        raise DataError(
            f"relevant[{query}] is {found}", expected="a sequence of candidate indices", remedy="pass integers"
        )
    return array


def as_array(given: Any) -> npt.NDArray[Any]:
    """Return ``given`` as an array; where its parts have different lengths, as an array of objects."""
    try:
        return np.asarray(given)
    except ValueError:
        return np.asarray(given, dtype=object)


def _check_range(rows: Ints, columns: npt.NDArray[np.integer[Any]], candidates: int) -> None:
    bad = np.flatnonzero((columns < 0) | (columns >= candidates))
    if len(bad):
        raise DataError(
            f"query {rows[bad[0]]} has the relevant candidate {columns[bad[0]]}",
            expected=f"an index from 0 to {candidates - 1}",
            remedy="align relevant with the candidates",
        )


def _check_duplicates(rows: Ints, columns: Ints) -> None:
    order = np.lexsort((columns, rows))
    same = (np.diff(rows[order]) == 0) & (np.diff(columns[order]) == 0)
    if same.any():
        at = order[np.flatnonzero(same)[0]]
        raise DataError(
            f"query {rows[at]} has the relevant candidate {columns[at]} twice", expected="once", remedy="drop one"
        )
