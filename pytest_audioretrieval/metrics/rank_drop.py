"""What a reformulated query does to its target's rank, and why: CORA, sections 3.3 to 3.5, Appendices F and K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.projection import Projection, project
from pytest_audioretrieval.metrics.ranking import Best, Counts, Relevant, mask
from pytest_audioretrieval.metrics.relevance import as_array, read
from pytest_audioretrieval.metrics.scores import CANDIDATE_BLOCK, QUERY_BLOCK, Floats, Ints, VectorScores, blocks, unit


@dataclass(frozen=True, eq=False)
class Reformulation:
    """P pairs of a source query and its reformulation, both with the same target; cosines throughout.

    "Hard negative" is the best candidate that is neither the target nor another right answer (CORA, eq. 4).

    Attributes:
        source_rank, rank: of the target under the source query and under the reformulated one, exact, 1-based,
            equal scores in document order, other right answers left out, int64 [P].
        rank_drop: rank - source_rank, int64 [P]; above 0 the target fell (eq. 1).
        move: 1 - cos(reformulated, source), [P], 0 to 2 (eq. 3).
        tal: target alignment loss, what the target's score lost, [P] (eq. 7).
        hnp: hard negative pull, what the hard negative's score gained, [P] (eq. 7).
        tbmd: target boundary margin degradation, source_margin - margin, [P]; tal + hnp up to rounding (eq. 6).
        tbmd_source_hn: the same with the source query's hard negative for both, [P]; at most tbmd (eq. 10).
        tbmd_reformulated_hn: with the reformulated query's for both, [P]; at least tbmd (eq. 9).
        shift_norm, p_audio, p_boundary: length of the tangent shift, and its projections on the directions of
            the target and of target minus hard negative, [P] (Appendix K.1). The hard negative of K.2 is the
            best under the source query in a pool that always holds ``source_hard_negative``, and so is that one.
        source_margin, margin: score of the target minus that of the query's hard negative, [P] (eq. 5).
        source_hard_negative, hard_negative: index of the query's hard negative, int64 [P] (eq. 4).
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
        """MeanRD, the mean rank drop over the pairs (CORA, eq. 2)."""
        return float(np.mean(self.rank_drop))


def reformulation(
    source: npt.NDArray[Any],
    reformulated: npt.NDArray[Any],
    candidates: npt.NDArray[Any],
    target: npt.ArrayLike,
    *,
    relevant: Relevant | None = None,
) -> Reformulation:
    """Compare each reformulated query with its source (CORA, sections 3.3 to 3.5, Appendices F and K).

    Works in blocks of queries and candidates. Pairs that share a source and its right answers share its ranking.

    Args:
        source, reformulated: unit vectors ``(P, dims)``, float32 or float64, a row a pair.
        candidates: unit vectors ``(N, dims)``, float32 or float64, in document order, N >= 2.
        target: int ``(P,)``, index of the candidate that both queries of a pair ask for.
        relevant: per pair, the indices of all further right answers (none is fine; the target may be among
            them): clips with the same caption, say. They are no rivals, and the target is ranked without them.

    Raises:
        DataError: vectors that are not unit, finite, float32 or float64, or do not fit each other; indices that
            do not fit them; a pair to which every candidate is right, so that there is no hard negative.
    """
    _check_vectors(source, reformulated, candidates)
    targets = _targets(target, len(source), len(candidates))
    right = _right_answers(targets, relevant, len(candidates))
    first, before = _distinct(source, right)
    scores = VectorScores(np.concatenate((source[first], reformulated)), candidates)
    after = len(first) + np.arange(len(source))
    standing = _stand(scores, [right[pair] for pair in first] + right)
    old, new = standing.of(before), standing.of(after)
    shift = project(source, reformulated, candidates, targets, old.rival)
    return _compared(old, new, shift, scores.pairs(after, old.rival), scores.pairs(before, new.rival))


@dataclass(frozen=True, eq=False)
class _Standing:
    """Where each query's target stands, and its best rival: exact scores, indices and ranks, [Q]."""

    score: Floats
    rank: Ints
    rival: Ints
    rival_score: Floats

    @property
    def margin(self) -> Floats:
        """How far it stands above its rival."""
        return self.score - self.rival_score

    def of(self, rows: Ints) -> _Standing:
        return _Standing(self.score[rows], self.rank[rows], self.rival[rows], self.rival_score[rows])


def _compared(
    old: _Standing, new: _Standing, shift: Projection, old_rival_now: Floats, new_rival_before: Floats
) -> Reformulation:
    """All measures of pairs; ``old_rival_now`` scores the source's rival against the reformulated query, [P]."""
    tal = old.score - new.score
    return Reformulation(
        source_rank=old.rank,
        rank=new.rank,
        rank_drop=new.rank - old.rank,
        move=shift.move,
        tal=tal,
        hnp=new.rival_score - old.rival_score,
        tbmd=old.margin - new.margin,
        tbmd_source_hn=tal + (old_rival_now - old.rival_score),
        tbmd_reformulated_hn=tal + (new.rival_score - new_rival_before),
        shift_norm=shift.shift_norm,
        p_audio=shift.p_audio,
        p_boundary=shift.p_boundary,
        source_margin=old.margin,
        margin=new.margin,
        source_hard_negative=old.rival,
        hard_negative=new.rival,
    )


def _stand(scores: VectorScores, right: Sequence[Sequence[int]]) -> _Standing:
    """Rank the first of each query's ``right`` answers among the wrong ones."""
    target, masked = read([answers[:1] for answers in right], scores), read(right, scores)
    counts, rival = Counts(scores, target), Best(scores, 1)
    for block in blocks(scores, QUERY_BLOCK, CANDIDATE_BLOCK):
        mask(masked, block)
        counts.add(block)
        rival.add(block)
    return _Standing(target.scores, counts.ranks(), rival.columns[:, 0], rival.scores[:, 0])


def _distinct(source: npt.NDArray[Any], right: Sequence[tuple[int, ...]]) -> tuple[Ints, Ints]:
    """First pair of each distinct source query and right answers, and for every pair which of these is its own."""
    number: dict[tuple[bytes, tuple[int, ...]], int] = {}
    own = [number.setdefault((row.tobytes(), answers), len(number)) for row, answers in zip(source, right, strict=True)]
    back = np.array(own, dtype=np.int64)
    return np.unique(back, return_index=True)[1].astype(np.int64), back


def _check_vectors(source: npt.NDArray[Any], reformulated: npt.NDArray[Any], candidates: npt.NDArray[Any]) -> None:
    for name, vectors in (("source", source), ("reformulated", reformulated), ("candidates", candidates)):
        unit(name, vectors)
    if source.shape != reformulated.shape:
        found = f"source has shape {source.shape}, reformulated {reformulated.shape}"
        raise DataError(f"{found}; expected the same, a row a pair; repeat a source for each of its reformulations")
    if len(candidates) == 1:
        raise DataError("candidates has 1 row; expected 2 or more, as a target needs a rival; add candidates")


def _targets(target: npt.ArrayLike, pairs: int, candidates: int) -> Ints:
    array = as_array(target)
    if array.dtype.kind not in "iu" or array.shape != (pairs,):
        found = f"target is {array.dtype} of shape {array.shape}"
        raise DataError(f"{found}; expected integers of shape ({pairs},); pass one candidate index a pair")
    bad = np.flatnonzero((array < 0) | (array >= candidates))
    if len(bad):
        found = f"target[{bad[0]}] is {array[bad[0]]}"
        raise DataError(f"{found}; expected an index from 0 to {candidates - 1}; align target with the candidates")
    return array.astype(np.int64)


def _right_answers(target: Ints, relevant: Relevant | None, candidates: int) -> list[tuple[int, ...]]:
    """All right answers of each pair, the target first."""
    if relevant is None:
        return [(index,) for index in target.tolist()]
    if len(relevant) != len(target):
        raise DataError(f"relevant has {len(relevant)} entries; expected one per pair, {len(target)}; align them")
    further = [_indices(pair, part, candidates) for pair, part in enumerate(relevant)]
    right = [(own, *sorted(others - {own})) for own, others in zip(target.tolist(), further, strict=True)]
    full = next((pair for pair, answers in enumerate(right) if len(answers) == candidates), None)
    if full is not None:
        found = f"pair {full} finds all {candidates} candidates right"
        raise DataError(f"{found}; expected a wrong one as hard negative; add candidates or leave the pair out")
    return right


def _indices(pair: int, part: Any, candidates: int) -> set[int]:
    array = as_array(part)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        found = " ".join(repr(part).split())[:80]
        raise DataError(f"relevant[{pair}] is {found}; expected a sequence of candidate indices; pass integers")
    indices = set(array.tolist())
    bad = sorted(index for index in indices if not 0 <= index < candidates)
    if bad:
        found = f"relevant[{pair}] has {bad[0]}"
        raise DataError(f"{found}; expected indices from 0 to {candidates - 1}; align relevant with the candidates")
    return indices
