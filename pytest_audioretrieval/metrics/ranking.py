"""Exact ranks, counted in blocks; equal scores are ranked in document order, and ties are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.relevance import Relevance, flatten
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
    """Exact, 1-based ranks of the relevant candidates of Q queries, with ties and margins.

    Source: pinned protocol, "Fixtures and protocol", Ranking; ``margin`` is CORA, eq. 5, with several relevant
    candidates instead of one target.

    Attributes:
        relevant_ranks: int64 [Q][>= 1], ranks of all relevant candidates of each query, ascending; equal scores are
            ranked in document order.
        first_hit_rank: int64 [Q], rank of the best relevant candidate: the first of ``relevant_ranks``.
        optimistic_rank, pessimistic_rank: int64 [Q], the rank of the best relevant candidate if it stood before, or
            after, all irrelevant candidates with its score.
        expected_rank: float64 [Q], the mean of the best relevant candidate's rank over all orders of equal scores. A
            model that scores everything alike gets (N + 1) / 2 for one relevant candidate among N.
        tied: int64 [Q], number of irrelevant candidates that have exactly the best relevant candidate's score.
        margin: float64 [Q], best relevant minus best irrelevant score, in the unit of the scores.
        top: int64 [Q, k], indices of the k best candidates, best first; None unless ``top`` was asked for.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import rank_scores
    >>> ranking = rank_scores(np.array([[0.5, 0.75, 0.5, 0.25]]), relevant=[[2]])
    >>> ranking.first_hit_rank.tolist(), ranking.tied.tolist(), ranking.expected_rank.tolist()
    ([3], [1], [2.5])
    >>> ranking.optimistic_rank.tolist(), ranking.pessimistic_rank.tolist(), ranking.margin.tolist()
    ([2], [3], [-0.25])
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
    """Return the exact rank by cosine of each query's best relevant candidate.

    Ranks are 1-based, and equal scores are ranked in document order. The query x candidate matrix is never held whole.

    Source: pinned protocol, "Fixtures and protocol", Ranking.

    Args:
        queries: unit vectors [Q, dims], float32 or float64.
        candidates: unit vectors [N, dims], float32 or float64, in document order.
        relevant: the candidate indices of each query, [Q][>= 1].
        query_block, candidate_block: rows and columns of the block of scores that is held at once. They change no rank.

    Returns:
        int64 [Q].

    Raises:
        DataError: vectors that are no finite unit vectors of float32 or float64 with equal dimensions; relevance that
            does not fit them.
        SpecError: a block size below 1.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import first_hit_rank
    >>> queries = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> candidates = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    >>> first_hit_rank(queries, candidates, relevant=[[0], [0, 2]]).tolist()
    [1, 2]
    """
    scores = VectorScores(queries, candidates)
    counts = RankCounts(scores, flatten(relevant, scores).best)
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
    """Rank all relevant candidates of each query by cosine, and return ties and margins with the ranks.

    Source: pinned protocol, "Fixtures and protocol", Ranking.

    Args:
        queries: unit vectors [Q, dims], float32 or float64.
        candidates: unit vectors [N, dims], float32 or float64, in document order.
        relevant: the candidate indices of each query, [Q][>= 1].
        top: number of best candidates to list for each query; 0 lists none, and N is the most.
        query_block, candidate_block: rows and columns of the block of scores that is held at once. They change no rank.

    Raises:
        DataError: as ``first_hit_rank``; also a query to which every candidate is relevant, because no candidate is
            left to rank against and no margin exists.
        SpecError: a block size below 1, or ``top`` below 0.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import rank
    >>> queries = np.array([[1, 0]], dtype=np.float32)
    >>> candidates = np.array([[0, 1], [1, 0], [0.6, 0.8]], dtype=np.float32)
    >>> ranking = rank(queries, candidates, relevant=[[0, 2]], top=2)
    >>> [ranks.tolist() for ranks in ranking.relevant_ranks], ranking.top.tolist()
    ([[2, 3]], [[1, 2]])
    """
    return _rank(VectorScores(queries, candidates), relevant, top, query_block, candidate_block)


def rank_scores(scores: npt.NDArray[Any], relevant: Relevant, *, top: int = 0) -> Ranking:
    """Rank all relevant candidates of each query by scores that are already computed.

    Source: pinned protocol, "Fixtures and protocol", Ranking.

    Args:
        scores: [Q, N], float32 or float64, in any unit; a greater score is better.
        relevant: the candidate indices of each query, [Q][>= 1].
        top: number of best candidates to list for each query; 0 lists none, and N is the most.

    Raises:
        DataError: a score that is not finite, another dtype or shape, or relevance that ``rank`` refuses.
        SpecError: ``top`` below 0.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import rank_scores
    >>> rank_scores(np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]), relevant=[[2], [0, 1]]).first_hit_rank.tolist()
    [2, 2]
    """
    return _rank(MatrixScores(scores), relevant, top, QUERY_BLOCK, CANDIDATE_BLOCK)


def _rank(scores: Scores, relevant: Relevant, top: int, query_block: int, candidate_block: int) -> Ranking:
    """Rank from any source of scores; arguments as in ``rank``."""
    if top < 0:
        raise SpecError(f"top is {top}", expected="0 or more", remedy="pass 0 to list no candidates")
    targets = flatten(relevant, scores)
    _check_irrelevant(targets, scores.candidates)
    counts = RankCounts(scores, targets)
    best, best_irrelevant = TopScores(scores, min(top, scores.candidates)), TopScores(scores, 1)
    for block in blocks(scores, query_block, candidate_block):
        counts.add(block)
        best.add(block)
        mask_relevant(targets, block)
        best_irrelevant.add(block)
    return _assemble(targets, counts, best_irrelevant.scores[:, 0], best.columns if top else None)


def _assemble(targets: Relevance, counts: RankCounts, best_irrelevant: Floats, top: Ints | None) -> Ranking:
    """Return the ranking that ``counts`` and each query's best irrelevant score, [Q], make."""
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
        margin=lead - best_irrelevant,
        top=top,
    )


class RankCounts:
    """Numbers of candidates that stand before each target.

    Attributes:
        greater: candidates that score more than the target.
        equal: candidates that score as much, the target included.
        before: candidates that score as much and stand before the target in the document.
    """

    def __init__(self, scores: Scores, targets: Relevance) -> None:
        self._scores, self._targets = scores, targets
        self.greater, self.before = np.zeros((2, len(targets.rows)), dtype=np.int64)
        # A target scores as much as itself.
        self.equal = np.ones(len(targets.rows), dtype=np.int64)

    def ranks(self) -> Ints:
        """Return the 1-based rank of each target."""
        return 1 + self.greater + self.before

    def add(self, block: Block) -> None:
        """Count the candidates of one block."""
        starts = self._targets.offsets[block.rows]
        counts = self._targets.offsets[block.rows.start + 1 : block.rows.stop + 1] - starts
        for position in range(counts.max()):
            rows = np.flatnonzero(counts > position)
            values = block.values if len(rows) == len(counts) else block.values[rows]
            self._add(values, starts[rows] + position, block.columns.start)

    def _add(self, values: Products, targets: Ints, column: int) -> None:
        """Count in ``values``, one row of scores for each target; its first column is of candidate ``column``."""
        wanted = self._targets.scores[targets][:, np.newaxis]
        above = values > _round_down(wanted + self._scores.error, values.dtype)
        self.greater[targets] += _row_counts(above)
        near = (values >= -_round_down(self._scores.error - wanted, values.dtype)) ^ above
        row, columns = _true_places(near)
        columns += column
        other = columns != self._targets.columns[targets[row]]
        row, columns = row[other], columns[other]
        close = targets[row]
        exact = self._scores.pairs(self._targets.rows[close], columns)
        equal = exact == self._targets.scores[close]
        np.add.at(self.greater, close[exact > self._targets.scores[close]], 1)
        np.add.at(self.equal, close[equal], 1)
        np.add.at(self.before, close[equal & (columns < self._targets.columns[close])], 1)


class TopScores:
    """The k best candidates of each query by exact score; equal scores stand in document order."""

    def __init__(self, scores: Scores, k: int) -> None:
        self._scores, self._k = scores, k
        self.scores = np.full((scores.queries, k), -np.inf)
        self.columns = np.full((scores.queries, k), scores.candidates, dtype=np.int64)

    def add(self, block: Block) -> None:
        """Take in the candidates of one block."""
        if not self._k:
            return
        row, columns = _true_places(block.values >= self._threshold(block)[:, np.newaxis])
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
        """Return the score that a candidate must reach to be among the k best of its row, whatever the rounding."""
        values, width = block.values, block.values.shape[1]
        if self._k == 1:
            least = values.max(axis=1)
        elif self._k < width:
            least = np.partition(values, width - self._k, axis=1)[:, width - self._k]
        else:
            least = np.full(len(values), -np.inf)
        # Two rounded scores may be two errors apart where the exact ones are not; a held score is exact.
        least = np.maximum(least - 2 * self._scores.error, self.scores[block.rows, -1] - self._scores.error)
        threshold: Products = np.maximum(_round_down(least, values.dtype), np.finfo(values.dtype).min)
        return threshold


def _round_down(bounds: Floats, dtype: np.dtype[Any]) -> Products:
    """Return the greatest values of ``dtype`` that do not exceed ``bounds``.

    The same scores exceed both. A comparison in one precision takes half as long as one that has to cast every score.
    """
    rounded = bounds.astype(dtype)
    lower: Products = np.where(rounded > bounds, np.nextafter(rounded, dtype.type(-np.inf)), rounded)
    return lower


def _row_counts(mask: npt.NDArray[Any]) -> Ints:
    """Return how many values are true in each row.

    Eight bytes are added at a time, because ``count_nonzero`` of rows takes six times as long.
    """
    width = mask.shape[1]
    if width % 8 == 0 and width // 8 <= 255 and mask.flags.c_contiguous:
        mask = mask.view(np.uint64).sum(axis=1, dtype=np.uint64).view(np.uint8).reshape(-1, 8)
    counts: Ints = mask.sum(axis=1, dtype=np.int64)
    return counts


def _true_places(mask: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the rows and the columns of all true values."""
    row, column = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return row, column


def mask_relevant(targets: Relevance, block: Block) -> None:
    """Set the scores of the relevant candidates of a block to minus infinity."""
    pairs = slice(targets.offsets[block.rows.start], targets.offsets[block.rows.stop])
    rows, columns = targets.rows[pairs], targets.columns[pairs]
    inside = (columns >= block.columns.start) & (columns < block.columns.stop)
    block.values[rows[inside] - block.rows.start, columns[inside] - block.columns.start] = -np.inf


def _check_irrelevant(targets: Relevance, candidates: int) -> None:
    """Refuse a query to which all candidates are relevant."""
    full = np.flatnonzero(np.diff(targets.offsets) == candidates)
    if len(full):
        raise DataError(
            f"all {candidates} candidates are relevant to query {full[0]}",
            expected="an irrelevant one to rank against",
            remedy="add candidates or leave the query out",
        )
