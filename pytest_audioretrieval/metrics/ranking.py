"""Exact ranks, in blocks: equal scores are ranked in document order, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.relevance import Relevance, read
from pytest_audioretrieval.metrics.scores import (
    CANDIDATE_BLOCK,
    QUERY_BLOCK,
    Block,
    Floats,
    Ints,
    MatrixScores,
    Products,
    Scores,
    VectorScores,
    blocks,
)

Relevant = Sequence[Sequence[int]] | Sequence[Ints]


@dataclass(frozen=True)
class Ranking:
    """Where the relevant candidates of each of Q queries stand; ranks are exact and 1-based.

    Attributes:
        relevant_ranks: ranks of all relevant candidates of a query, ascending, [Q][>= 1]; equal scores are
            ranked in document order.
        first_hit_rank: the first of them, [Q].
        optimistic_rank, pessimistic_rank: the first hit's rank, had it come before, or after, all irrelevant
            candidates of its score, [Q].
        expected_rank: the mean of the first hit's rank over all orders of equal scores, [Q]. A model that scores
            everything alike gets (N + 1) / 2 for one relevant candidate among N.
        tied: irrelevant candidates with exactly the best relevant candidate's score, [Q].
        margin: best relevant minus best irrelevant score, [Q].
        top: indices of the k best candidates, best first, [Q, k]; None unless asked for.
    """

    relevant_ranks: list[Ints]
    first_hit_rank: Ints
    optimistic_rank: Ints
    pessimistic_rank: Ints
    expected_rank: Floats
    tied: Ints
    margin: Floats
    top: Ints | None = None


def first_hit_rank(
    queries: npt.NDArray[Any],
    candidates: npt.NDArray[Any],
    relevant: Relevant,
    *,
    query_block: int = QUERY_BLOCK,
    candidate_block: int = CANDIDATE_BLOCK,
) -> Ints:
    """Rank of the best relevant candidate by cosine, 1-based, equal scores in document order.

    Pinned protocol, "Fixtures and protocol", Ranking.

    Args:
        queries: unit vectors ``(Q, dims)``, float32 or float64.
        candidates: unit vectors ``(N, dims)``, float32 or float64, in document order.
        relevant: candidate indices per query, one or more.
        query_block, candidate_block: scores held at once; they change no rank.

    Returns:
        int64 ``(Q,)``.

    Raises:
        DataError: vectors that are not unit, finite, float32 or float64 and of equal dimension; relevance that
            does not fit them.
    """
    scores = VectorScores(queries, candidates)
    counts = Counts(scores, read(relevant, scores).best)
    for block in blocks(scores, query_block, candidate_block):
        counts.add(block)
    return counts.ranks()


def rank(
    queries: npt.NDArray[Any],
    candidates: npt.NDArray[Any],
    relevant: Relevant,
    *,
    top: int = 0,
    query_block: int = QUERY_BLOCK,
    candidate_block: int = CANDIDATE_BLOCK,
) -> Ranking:
    """Ranks of all relevant candidates by cosine, with ties and margins; arguments as ``first_hit_rank``.

    Args:
        top: how many of the best candidates to name per query (at most N).

    Raises:
        DataError: as ``first_hit_rank``; also a query to which every candidate is relevant, so that nothing is
            ranked and no margin exists.
    """
    return _rank(VectorScores(queries, candidates), relevant, top, query_block, candidate_block)


def rank_scores(scores: npt.NDArray[Any], relevant: Relevant, *, top: int = 0) -> Ranking:
    """As ``rank``, from a matrix of scores ``(Q, N)``, float32 or float64, where greater is better.

    Raises:
        DataError: a score that is not finite, another dtype or shape, or relevance as in ``rank``.
    """
    return _rank(MatrixScores(scores), relevant, top, QUERY_BLOCK, CANDIDATE_BLOCK)


def _rank(scores: Scores, relevant: Relevant, top: int, query_block: int, candidate_block: int) -> Ranking:
    if top < 0:
        raise SpecError(f"top is {top}; expected 0 or more; 0 names no candidates")
    targets = read(relevant, scores)
    _check_irrelevant(targets, scores.candidates)
    counts = Counts(scores, targets)
    best, rival = Best(scores, min(top, scores.candidates)), Best(scores, 1)
    for block in blocks(scores, query_block, candidate_block):
        counts.add(block)
        best.add(block)
        mask(targets, block)
        rival.add(block)
    return _assemble(targets, counts, rival.scores[:, 0], best.columns if top else None)


def _assemble(targets: Relevance, counts: Counts, rival: Floats, top: Ints | None) -> Ranking:
    first, ranks = targets.offsets[:-1], counts.ranks()
    lead = targets.scores[first]
    alike = np.add.reduceat((targets.scores == lead[targets.rows]).astype(np.int64), first)
    optimistic = 1 + counts.greater[first]
    tied = counts.equal[first] - alike
    return Ranking(
        relevant_ranks=[ranks[start:end] for start, end in pairwise(targets.offsets.tolist())],
        first_hit_rank=ranks[first],
        optimistic_rank=optimistic,
        pessimistic_rank=optimistic + tied,
        # The first of `alike` among `tied` others in random order has tied / (alike + 1) of them before it.
        expected_rank=optimistic + tied / (alike + 1),
        tied=tied,
        margin=lead - rival,
        top=top,
    )


class Counts:
    """For each target: candidates that score more, as much, and as much but stand before it in the document."""

    def __init__(self, scores: Scores, targets: Relevance) -> None:
        self._scores, self._targets = scores, targets
        self.greater, self.before = np.zeros((2, len(targets.rows)), dtype=np.int64)
        #: A target is as much as itself.
        self.equal = np.ones(len(targets.rows), dtype=np.int64)

    def ranks(self) -> Ints:
        return 1 + self.greater + self.before

    def add(self, block: Block) -> None:
        starts = self._targets.offsets[block.rows]
        counts = self._targets.offsets[block.rows.start + 1 : block.rows.stop + 1] - starts
        for position in range(counts.max()):
            rows = np.flatnonzero(counts > position)
            values = block.values if len(rows) == len(counts) else block.values[rows]
            self._add(values, starts[rows] + position, block.columns.start)

    def _add(self, values: Products, targets: Ints, column: int) -> None:
        """Count in ``values``, a row of scores for each of ``targets``, the first of them of candidate ``column``."""
        wanted = self._targets.scores[targets][:, np.newaxis]
        above = values > _floor(wanted + self._scores.error, values.dtype)
        self.greater[targets] += _row_counts(above)
        near = (values >= -_floor(self._scores.error - wanted, values.dtype)) ^ above
        row, columns = _where(near)
        columns += column
        other = columns != self._targets.columns[targets[row]]
        row, columns = row[other], columns[other]
        close = targets[row]
        exact = self._scores.pairs(self._targets.rows[close], columns)
        equal = exact == self._targets.scores[close]
        np.add.at(self.greater, close[exact > self._targets.scores[close]], 1)
        np.add.at(self.equal, close[equal], 1)
        np.add.at(self.before, close[equal & (columns < self._targets.columns[close])], 1)


class Best:
    """The k best candidates of each query, by exact score, then document order."""

    def __init__(self, scores: Scores, k: int) -> None:
        self._scores, self._k = scores, k
        self.scores = np.full((scores.queries, k), -np.inf)
        self.columns = np.full((scores.queries, k), scores.candidates, dtype=np.int64)

    def add(self, block: Block) -> None:
        if not self._k:
            return
        row, columns = _where(block.values >= self._threshold(block)[:, np.newaxis])
        columns += block.columns.start
        exact = self._scores.pairs(row + block.rows.start, columns)
        held = np.repeat(np.arange(len(block.values)), self._k)
        row = np.concatenate((held, row))
        columns = np.concatenate((self.columns[block.rows].ravel(), columns))
        exact = np.concatenate((self.scores[block.rows].ravel(), exact))
        order = np.lexsort((columns, -exact, row))
        starts = np.searchsorted(row[order], np.arange(len(block.values)))
        kept = order[starts[:, np.newaxis] + np.arange(self._k)]
        self.scores[block.rows], self.columns[block.rows] = exact[kept], columns[kept]

    def _threshold(self, block: Block) -> Products:
        """What a candidate must reach to be among the k best of its row, whatever the rounding."""
        values, width = block.values, block.values.shape[1]
        if self._k == 1:
            least = values.max(axis=1)
        elif self._k < width:
            least = np.partition(values, width - self._k, axis=1)[:, width - self._k]
        else:
            least = np.full(len(values), -np.inf)
        # Two rounded scores may be two errors apart where the exact ones are not; a held score is exact.
        least = np.maximum(least - 2 * self._scores.error, self.scores[block.rows, -1] - self._scores.error)
        threshold: Products = np.maximum(_floor(least, values.dtype), np.finfo(values.dtype).min)
        return threshold


def _floor(bounds: Floats, dtype: np.dtype[Any]) -> Products:
    """The greatest values of ``dtype`` that do not exceed ``bounds``: exactly the same scores exceed either.

    A comparison in one precision takes half as long as one that has to cast every score.
    """
    rounded = bounds.astype(dtype)
    lower: Products = np.where(rounded > bounds, np.nextafter(rounded, dtype.type(-np.inf)), rounded)
    return lower


def _row_counts(mask: npt.NDArray[Any]) -> Ints:
    """How many are true in each row. Added eight bytes at a time: ``count_nonzero`` of rows takes six times as long."""
    width = mask.shape[1]
    if width % 8 == 0 and width // 8 <= 255 and mask.flags.c_contiguous:
        mask = mask.view(np.uint64).sum(axis=1, dtype=np.uint64).view(np.uint8).reshape(-1, 8)
    counts: Ints = mask.sum(axis=1, dtype=np.int64)
    return counts


def _where(mask: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    row, column = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return row, column


def mask(targets: Relevance, block: Block) -> None:
    """Take the relevant candidates out of a block."""
    pairs = slice(targets.offsets[block.rows.start], targets.offsets[block.rows.stop])
    rows, columns = targets.rows[pairs], targets.columns[pairs]
    inside = (columns >= block.columns.start) & (columns < block.columns.stop)
    block.values[rows[inside] - block.rows.start, columns[inside] - block.columns.start] = -np.inf


def _check_irrelevant(targets: Relevance, candidates: int) -> None:
    full = np.flatnonzero(np.diff(targets.offsets) == candidates)
    if len(full):
        found = f"query {full[0]} finds all {candidates} candidates relevant"
        raise DataError(f"{found}; expected an irrelevant one to rank against; add candidates or leave the query out")
