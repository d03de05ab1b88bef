"""Rank drops of reformulated queries and measures that explain them: CORA, sections 3.3 to 3.5, Appendices F and K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.projection import Projection, project
from pytest_audioretrieval.metrics.ranking import RankCounts, Relevant, TopScores, mask_relevant
from pytest_audioretrieval.metrics.relevance import as_array, flatten
from pytest_audioretrieval.metrics.scores import (
    CANDIDATE_BLOCK,
    QUERY_BLOCK,
    Floats,
    Ints,
    VectorScores,
    blocks,
    unit_vectors,
)


@dataclass(frozen=True, eq=False)
class Reformulation:
    """Measures of P pairs of a source query and its reformulation; both queries of a pair ask for one target.

    All scores are cosines; float64 where nothing else is said. The "hard negative" of a query is its best candidate
    that is neither the target nor another right answer (CORA, eq. 4).

    Source: CORA, sections 3.3 to 3.5, Appendices F and K.

    Attributes:
        source_rank, rank: int64 [P], rank of the target under the source query and under the reformulated query. It
            is exact and 1-based, equal scores are ranked in document order, and other right answers are left out.
        rank_drop: int64 [P], rank - source_rank; above 0 the target fell (eq. 1).
        move: [P], 1 - cos(reformulated, source), from 0 to 2 (eq. 3).
        tal: [P], target alignment loss: how much the target's score fell (eq. 7).
        hnp: [P], hard negative pull: how much the hard negative's score rose (eq. 7).
        tbmd: [P], target boundary margin degradation, source_margin - margin; tal + hnp up to rounding (eq. 6).
        tbmd_source_hn: [P], tbmd with the source query's hard negative for both queries; at most tbmd (eq. 10).
        tbmd_reformulated_hn: [P], tbmd with the reformulated query's for both; at least tbmd (eq. 9).
        shift_norm, p_audio, p_boundary: [P], length of the tangent shift, and its projections on the direction of the
            target and on that of target minus hard negative (Appendix K.1). The hard negative of K.2 is the best
            under the source query in a pool that always holds ``source_hard_negative``, so it is that one.
        source_margin, margin: [P], score of the target minus that of the query's hard negative (eq. 5).
        source_hard_negative, hard_negative: int64 [P], index of the query's hard negative (eq. 4).

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import reformulation
    >>> source, reformulated = np.array([[[1.0, 0.0]], [[0.6, 0.8]]])
    >>> measures = reformulation(source, reformulated, candidates=np.eye(2), target=[0])
    >>> measures.mean_rd, measures.source_margin.round(6).tolist(), measures.margin.round(6).tolist()
    (1.0, [1.0], [-0.2])
    >>> measures.tal.round(6).tolist(), measures.hnp.round(6).tolist(), measures.tbmd.round(6).tolist()
    ([0.4], [0.8], [1.2])
    """

    source_rank: Ints
    rank: Ints
    rank_drop: Ints
    move: Floats
    tal: Floats
    hnp: Floats
    tbmd: Floats
    tbmd_source_hn: Floats
    tbmd_reformulated_hn: Floats
    shift_norm: Floats
    p_audio: Floats
    p_boundary: Floats
    source_margin: Floats
    margin: Floats
    source_hard_negative: Ints
    hard_negative: Ints

    @property
    def mean_rd(self) -> float:
        """MeanRD: the mean rank drop over all pairs, in ranks (CORA, eq. 2)."""
        return float(np.mean(self.rank_drop))


def reformulation(
    source: npt.NDArray[Any],
    reformulated: npt.NDArray[Any],
    candidates: npt.NDArray[Any],
    target: npt.ArrayLike,
    *,
    relevant: Relevant | None = None,
) -> Reformulation:
    """Compare each reformulated query with its source query.

    Scores are computed in blocks of queries and candidates. Pairs with the same source and the same right answers share
    one ranking of that source.

    Source: CORA, sections 3.3 to 3.5, Appendices F and K.

    Args:
        source, reformulated: unit vectors [P, dims], float32 or float64, one row for each pair.
        candidates: unit vectors [N, dims], float32 or float64, in document order, N >= 2.
        target: int [P], index of the candidate that both queries of a pair ask for.
        relevant: [P][>= 0], the indices of further right answers of each pair, such as clips with the same caption; the
            target may be among them. They are never hard negatives, and the target is ranked without them.

    Raises:
        DataError: vectors that are no finite unit vectors of float32 or float64, or that do not fit each other;
            indices that do not fit them; a pair to which every candidate is right, because it has no hard negative.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import reformulation
    >>> candidates = np.array([[1, 0], [0, 1], [0.8, 0.6]], dtype=np.float32)
    >>> source = np.array([[1, 0], [1, 0]], dtype=np.float32)
    >>> reformulated = np.array([[0.8, 0.6], [1, 0]], dtype=np.float32)
    >>> found = reformulation(source, reformulated, candidates, target=[0, 0])
    >>> found.rank_drop.tolist(), found.move.round(6).tolist(), found.tbmd.round(6).tolist()
    ([1, 0], [0.2, 0.0], [0.4, 0.0])
    """
    _check_vectors(source, reformulated, candidates)
    targets = _targets(target, len(source), len(candidates))
    right = _right_answers(targets, relevant, len(candidates))
    first, before = _distinct_sources(source, right)
    scores = VectorScores(np.concatenate((source[first], reformulated)), candidates)
    after = len(first) + np.arange(len(source))
    ranked = _rank_targets(scores, [right[pair] for pair in first] + right)
    old, new = ranked.of(before), ranked.of(after)
    shift = project(source, reformulated, candidates, targets, old.hard_negative)
    return _measures(
        old,
        new,
        shift,
        old_negative_now=scores.pairs(after, old.hard_negative),
        new_negative_before=scores.pairs(before, new.hard_negative),
    )


@dataclass(frozen=True, eq=False)
class _RankedTargets:
    """Exact score and rank of each query's target, and index and score of its hard negative, [Q] each."""

    score: Floats
    rank: Ints
    hard_negative: Ints
    negative_score: Floats

    @property
    def margin(self) -> Floats:
        """Score of the target minus that of the hard negative, [Q]."""
        return self.score - self.negative_score

    def of(self, rows: Ints) -> _RankedTargets:
        """Return the same for some of the queries."""
        return _RankedTargets(self.score[rows], self.rank[rows], self.hard_negative[rows], self.negative_score[rows])


def _measures(
    old: _RankedTargets,
    new: _RankedTargets,
    shift: Projection,
    *,
    old_negative_now: Floats,
    new_negative_before: Floats,
) -> Reformulation:
    """Return all measures of the pairs.

    Args:
        old_negative_now: score of the source query's hard negative under the reformulated query, [P].
        new_negative_before: score of the reformulated query's hard negative under the source query, [P].
    """
    tal = old.score - new.score
    return Reformulation(
        source_rank=old.rank,
        rank=new.rank,
        rank_drop=new.rank - old.rank,
        move=shift.move,
        tal=tal,
        hnp=new.negative_score - old.negative_score,
        tbmd=old.margin - new.margin,
        tbmd_source_hn=tal + (old_negative_now - old.negative_score),
        tbmd_reformulated_hn=tal + (new.negative_score - new_negative_before),
        shift_norm=shift.shift_norm,
        p_audio=shift.p_audio,
        p_boundary=shift.p_boundary,
        source_margin=old.margin,
        margin=new.margin,
        source_hard_negative=old.hard_negative,
        hard_negative=new.hard_negative,
    )


def _rank_targets(scores: VectorScores, right: Sequence[Sequence[int]]) -> _RankedTargets:
    """Rank the first of each query's ``right`` answers, its target, among the wrong ones."""
    target, masked = flatten([answers[:1] for answers in right], scores), flatten(right, scores)
    counts, negative = RankCounts(scores, target), TopScores(scores, 1)
    for block in blocks(scores, QUERY_BLOCK, CANDIDATE_BLOCK):
        mask_relevant(masked, block)
        counts.add(block)
        negative.add(block)
    return _RankedTargets(target.scores, counts.ranks(), negative.columns[:, 0], negative.scores[:, 0])


def _distinct_sources(source: npt.NDArray[Any], right: Sequence[tuple[int, ...]]) -> tuple[Ints, Ints]:
    """Find pairs that have the same source query and the same right answers.

    Returns:
        The first pair of each distinct source, and for every pair the place of its source among these.
    """
    number: dict[tuple[bytes, tuple[int, ...]], int] = {}
    own = [number.setdefault((row.tobytes(), answers), len(number)) for row, answers in zip(source, right, strict=True)]
    back = np.array(own, dtype=np.int64)
    return np.unique(back, return_index=True)[1].astype(np.int64), back


def _check_vectors(source: npt.NDArray[Any], reformulated: npt.NDArray[Any], candidates: npt.NDArray[Any]) -> None:
    for name, vectors in (("source", source), ("reformulated", reformulated), ("candidates", candidates)):
        unit_vectors(name, vectors)
    if source.shape != reformulated.shape:
        raise DataError(
            f"source has shape {source.shape}, reformulated {reformulated.shape}",
            expected="the same, one row for each pair",
            remedy="repeat a source for each of its reformulations",
        )
    if len(candidates) == 1:
        expected = "2 or more, because a target needs a hard negative"
        raise DataError("candidates has 1 row", expected=expected, remedy="add candidates")


def _targets(target: npt.ArrayLike, pairs: int, candidates: int) -> Ints:
    """Return the candidate index of each pair's target as int64, checked."""
    array = as_array(target)
    if array.dtype.kind not in "iu" or array.shape != (pairs,):
        raise DataError(
            f"target is {array.dtype} of shape {array.shape}",
            expected=f"integers of shape ({pairs},)",
            remedy="pass one candidate index for each pair",
        )
    bad = np.flatnonzero((array < 0) | (array >= candidates))
    if len(bad):
        raise DataError(
            f"target[{bad[0]}] is {array[bad[0]]}",
            expected=f"an index from 0 to {candidates - 1}",
            remedy="align target with the candidates",
        )
    return array.astype(np.int64)


def _right_answers(target: Ints, relevant: Relevant | None, candidates: int) -> list[tuple[int, ...]]:
    """Return all right answers of each pair, the target first."""
    if relevant is None:
        return [(index,) for index in target.tolist()]
    if len(relevant) != len(target):
        raise DataError(
            f"relevant has {len(relevant)} entries", expected=f"one per pair, {len(target)}", remedy="align them"
        )
    further = [_indices(pair, part, candidates) for pair, part in enumerate(relevant)]
    right = [(own, *sorted(others - {own})) for own, others in zip(target.tolist(), further, strict=True)]
    full = next((pair for pair, answers in enumerate(right) if len(answers) == candidates), None)
    if full is not None:
        raise DataError(
            f"all {candidates} candidates are right answers of pair {full}",
            expected="a wrong one as hard negative",
            remedy="add candidates or leave the pair out",
        )
    return right


def _indices(pair: int, part: Any, candidates: int) -> set[int]:
    """Return the further right answers of one pair, checked."""
    array = as_array(part)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        found = " ".join(repr(part).split())[:80]
        raise DataError(
            f"relevant[{pair}] is {found}", expected="a sequence of candidate indices", remedy="pass integers"
        )
    indices = set(array.tolist())
    bad = sorted(index for index in indices if not 0 <= index < candidates)
    if bad:
        raise DataError(
            f"relevant[{pair}] has {bad[0]}",
            expected=f"indices from 0 to {candidates - 1}",
            remedy="align relevant with the candidates",
        )
    return indices
