"""Retrieval metrics: a value per query first, a mean (or median) only for printing.

Nothing here imports numpy before a metric is computed, because suites name their metrics at collection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import log2
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_audioretrieval.errors import DataError, SpecError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]


class RankingLike(Protocol):
    """What a metric reads: a ``Ranking``, or the columns of a stored run."""

    @property
    def relevant_ranks(self) -> Sequence[Sequence[int] | Ints]:
        """1-based ranks of a query's relevant candidates, ascending, [Q][>= 1]."""

    @property
    def first_hit_rank(self) -> Ints:
        """The first of them, [Q]."""

    @property
    def margin(self) -> Floats:
        """Best relevant minus best irrelevant score, [Q]."""


@dataclass(frozen=True)
class Metric:
    """One number per query, and how to read it; call it with a ranking to get float64 ``(Q,)``.

    Attributes:
        name: as printed and as part of test ids.
        higher_is_better: the direction of a gain.
        bounds: least and greatest value a query can have; None where there is none.
        per_query: the values, from a ranking.
        statistic: what sums a run up, in ``value``.
        form: the reformulation it is about, ``robustness.ALL`` where about all of them, None where about none.
        octaves: of a logarithm of ranks, its least and greatest value over log2 of the pool's size.
        slice: the part of the benchmark that it is read on; None for all of it.
        chance: the mean that guessing has; None where it has none of its own.
    """

    name: str
    higher_is_better: bool
    bounds: tuple[float | None, float | None]
    per_query: Callable[[RankingLike], Floats] = field(repr=False)
    statistic: Literal["mean", "median"] = "mean"
    form: str | None = None
    octaves: tuple[int, int] | None = None
    slice: str | None = None
    chance: float | None = None

    def __call__(self, ranking: RankingLike) -> Floats:
        values = self.per_query(ranking)
        return values if self.slice is None else values[self.queries(ranking)]

    def __str__(self) -> str:
        return self.name

    def within(self, part: str) -> Metric:
        """The same on the queries of one slice: ``hit_rate(1).within("negation")`` is ``negation:R@1``."""
        return replace(self, name=f"{part}:{self.name}", slice=part)

    def queries(self, ranking: RankingLike) -> Ints:
        """Positions of the queries that have a value, ascending.

        Raises:
            SpecError: the ranking has no such slice.
        """
        import numpy as np

        if self.slice is None:
            return np.arange(len(ranking.first_hit_rank))
        slices = getattr(ranking, "slices", [])
        found = np.flatnonzero(np.asarray(slices, dtype=object) == self.slice)
        if not len(found):
            known = sorted(set(slices))
            raise SpecError(
                f"no slice {self.slice!r} in this run: {did_you_mean(self.slice, known)}"
                f"there are {', '.join(known) or 'none'}"
            )
        return found

    def limits(self, pool: int) -> tuple[float, float] | None:
        """Least and greatest value that ``pool`` candidates allow, where the values seen may not show them."""
        if self.octaves is None:
            return None
        least, greatest = self.octaves
        return least * log2(pool), greatest * log2(pool)

    def value(self, ranking: RankingLike) -> float:
        """The mean, or median, over the queries."""
        import numpy as np

        return float(np.median(self(ranking)) if self.statistic == "median" else np.mean(self(ranking)))


def hit_rate(k: int) -> Metric:
    """``R@k``: 1 where some relevant candidate is among the first ``k``, else 0 (pinned protocol, "Results")."""
    return Metric(f"R@{depth(k)}", True, (0.0, 1.0), partial(_hits, k=k))


def recall(k: int) -> Metric:
    """``recall@k``: share of a query's relevant candidates among the first ``k``; with several, not ``R@k``."""
    return Metric(f"recall@{depth(k)}", True, (0.0, 1.0), partial(_recall, k=k))


def map_at(k: int) -> Metric:
    """``map@k``: precision at each relevant rank up to ``k``, summed, over ``min(k, relevant)``."""
    return Metric(f"map@{depth(k)}", True, (0.0, 1.0), partial(_average_precision, k=k))


def ndcg(k: int) -> Metric:
    """``ndcg@k``: relevance 0 or 1, gain ``1 / log2(1 + rank)``, over that of the best order of ``k``."""
    return Metric(f"ndcg@{depth(k)}", True, (0.0, 1.0), partial(_ndcg, k=k))


def mrr() -> Metric:
    """``mrr``: one over the first hit's rank."""
    return Metric("mrr", True, (0.0, 1.0), _reciprocal_rank)


def margin() -> Metric:
    """``margin``: best relevant minus best irrelevant cosine; moves before any rank does."""
    return Metric("margin", True, (-2.0, 2.0), _margin)


def mean_rank() -> Metric:
    """``mean_rank``: the first hit's rank."""
    return Metric("mean_rank", False, (1.0, None), _rank)


def median_rank() -> Metric:
    """``median_rank``: the first hit's rank, summed up by its median."""
    return Metric("median_rank", False, (1.0, None), _rank, statistic="median")


def log2_rank() -> Metric:
    """``log2_rank``: binary logarithm of the first hit's rank, so that 1 to 2 weighs as much as 512 to 1,024."""
    return Metric("log2_rank", False, (0.0, None), _log2_rank, octaves=(0, 1))


def depth(k: int) -> int:
    """``k``, checked: a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise SpecError(f"k is {k!r}; expected a whole number of at least 1; 1, 5 and 10 are usual")
    return k


def _hits(ranking: RankingLike, k: int) -> Floats:
    return (ranking.first_hit_rank <= k).astype("float64")


def _reciprocal_rank(ranking: RankingLike) -> Floats:
    return 1.0 / ranking.first_hit_rank


def _margin(ranking: RankingLike) -> Floats:
    return ranking.margin.astype("float64")


def _rank(ranking: RankingLike) -> Floats:
    return ranking.first_hit_rank.astype("float64")


def _log2_rank(ranking: RankingLike) -> Floats:
    import numpy as np

    return np.log2(ranking.first_hit_rank.astype(np.float64))


def _recall(ranking: RankingLike, k: int) -> Floats:
    ranks, starts, counts = _flat(ranking.relevant_ranks)
    return _sums((ranks <= k).astype("float64"), starts) / counts


def _average_precision(ranking: RankingLike, k: int) -> Floats:
    import numpy as np

    ranks, starts, counts = _flat(ranking.relevant_ranks)
    found = 1 + np.arange(len(ranks)) - np.repeat(starts, counts)
    return _sums(np.where(ranks <= k, found / ranks, 0.0), starts) / np.minimum(k, counts)


def _ndcg(ranking: RankingLike, k: int) -> Floats:
    import numpy as np

    ranks, starts, counts = _flat(ranking.relevant_ranks)
    gains = _sums(np.where(ranks <= k, 1 / np.log2(1.0 + ranks), 0.0), starts)
    within = np.minimum(k, counts)
    ideal: Floats = np.cumsum(1 / np.log2(2.0 + np.arange(within.max())))
    values: Floats = gains / ideal[within - 1]
    return values


def _flat(relevant_ranks: Sequence[Sequence[int] | Ints]) -> tuple[Ints, Ints, Ints]:
    """All ranks in one array, where each query's start, and how many it has."""
    import numpy as np

    counts = np.array([len(ranks) for ranks in relevant_ranks], dtype=np.int64)
    if not counts.all():
        query = int(np.flatnonzero(counts == 0)[0])
        raise DataError(f"query {query} has no relevant ranks; expected at least one; rank it again")
    return np.concatenate(relevant_ranks), np.cumsum(counts) - counts, counts


def _sums(values: Floats, starts: Ints) -> Floats:
    import numpy as np

    sums: Floats = np.add.reduceat(values, starts)
    return sums
