"""Retrieval metrics, which give a value for each query; means and medians are only for printing.

This module imports numpy only where a metric is computed, because suites name their metrics at collection.
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
    """Ranks and margins that a metric reads, from a ``Ranking`` or from a stored run."""

    @property
    def relevant_ranks(self) -> Sequence[Sequence[int] | Ints]:
        """1-based ranks of each query's relevant candidates, ascending, [Q][>= 1]."""

    @property
    def first_hit_rank(self) -> Ints:
        """1-based rank of each query's best relevant candidate, [Q]."""

    @property
    def margin(self) -> Floats:
        """Best relevant minus best irrelevant score of each query, [Q]."""


@dataclass(frozen=True)
class Metric:
    """Metric with one value for each query; called with a ranking, it returns these values as float64 [Q].

    The functions of this package make metrics. A metric of your own is ``Metric(name, higher_is_better, bounds,
    per_query)``. A call raises ``DataError`` or ``SpecError`` where the ranking has not what the metric reads.

    Source: each function that makes a metric names its own.

    Attributes:
        name: printed in tables and part of test ids.
        higher_is_better: whether a greater value is a gain.
        bounds: least and greatest value that a query can have, in the metric's unit; None where there is no limit.
        per_query: the function that computes the values, float64 [Q], from a ranking.
        statistic: the statistic of the values that ``value`` returns.
        form: name of the reformulation that the metric reads; ``robustness.ALL`` where it reads all of them, None where
            it reads none.
        octaves: for logarithms of ranks, the least and greatest value of a query in units of log2 of the pool's size.
        slice: name of the part of the benchmark that the metric is computed on; None for the whole.
        chance: mean value of random answers; None where it is computed from the pool or does not exist.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import Metric, rank_scores
    >>> first = Metric("first", True, (0.0, 1.0), lambda ranking: (ranking.first_hit_rank == 1).astype("float64"))
    >>> ranking = rank_scores(np.array([[0.9, 0.1], [0.2, 0.8]]), relevant=[[0], [0]])
    >>> first(ranking).tolist(), first.value(ranking)
    ([1.0, 0.0], 0.5)
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
        """Return the same metric for the queries of one slice only.

        >>> from pytest_audioretrieval.metrics import hit_rate
        >>> str(hit_rate(1).within("negation"))
        'negation:R@1'
        """
        return replace(self, name=f"{part}:{self.name}", slice=part)

    def queries(self, ranking: RankingLike) -> Ints:
        """Return the positions of the queries that have a value, int64, ascending.

        Raises:
            SpecError: the ranking has no slice of this name.
        """
        import numpy as np

        if self.slice is None:
            return np.arange(len(ranking.first_hit_rank))
        slices = getattr(ranking, "slices", [])
        found = np.flatnonzero(np.asarray(slices, dtype=object) == self.slice)
        if not len(found):
            known = sorted(set(slices))
            raise SpecError(
                f"no slice {self.slice!r} in this run",
                expected=f"one of {', '.join(known)}" if known else "a run with slices",
                remedy=f"{did_you_mean(self.slice, known)}choose a slice of the run",
            )
        return found

    def limits(self, pool: int) -> tuple[float, float] | None:
        """Return the least and greatest value of a query in a pool of ``pool`` candidates.

        None where the values at hand may stand for the limits, as they do for every metric without ``octaves``.

        >>> from pytest_audioretrieval.metrics import log2_rank
        >>> log2_rank().limits(8)
        (0.0, 3.0)
        """
        if self.octaves is None:
            return None
        least, greatest = self.octaves
        return least * log2(pool), greatest * log2(pool)

    def value(self, ranking: RankingLike) -> float:
        """Return the mean, or the median, of the values of all queries."""
        import numpy as np

        return float(np.median(self(ranking)) if self.statistic == "median" else np.mean(self(ranking)))


def hit_rate(k: int) -> Metric:
    """Return ``R@k``: 1 where some relevant candidate is among the first ``k``, else 0.

    Its values are float64 [Q], 0 or 1.

    Source: pinned protocol, "Results" (R@1) and "Fixtures and protocol" (one hit among several is enough).

    Args:
        k: number of candidates that are looked at, at least 1; it may exceed the pool.

    Raises:
        SpecError: ``k`` is no whole number of at least 1.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import hit_rate, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> hit_rate(1)(ranking).tolist()
    [0.0, 1.0]
    """
    return Metric(f"R@{checked_k(k)}", True, (0.0, 1.0), partial(_hits, k=k))


def recall(k: int) -> Metric:
    """Return ``recall@k``: the share of a query's relevant candidates that are among the first ``k``.

    With one relevant candidate it equals ``R@k``, with several it does not.

    Its values are float64 [Q], from 0 to 1.

    Source: Manning, Raghavan and Schuetze, "Introduction to Information Retrieval" (2008), section 8.3.

    Args:
        k: number of candidates that are looked at, at least 1; it may exceed the pool.

    Raises:
        SpecError: ``k`` is no whole number of at least 1.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import recall, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> recall(2)(ranking).tolist()
    [0.5, 1.0]
    """
    return Metric(f"recall@{checked_k(k)}", True, (0.0, 1.0), partial(_recall, k=k))


def map_at(k: int) -> Metric:
    """Return ``map@k``: the average precision of the first ``k``.

    The precisions at the ranks of relevant candidates up to ``k`` are summed and divided by ``min(k, relevant)``.

    Its values are float64 [Q], from 0 to 1.

    Source: pinned protocol, "Use and reproduction" (``ap``); Manning, Raghavan and Schuetze, "Introduction to
    Information Retrieval" (2008), section 8.4.

    Args:
        k: number of candidates that are looked at, at least 1; it may exceed the pool.

    Raises:
        SpecError: ``k`` is no whole number of at least 1.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import map_at, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> map_at(4)(ranking).tolist()
    [0.5, 1.0]
    """
    return Metric(f"map@{checked_k(k)}", True, (0.0, 1.0), partial(_average_precision, k=k))


def ndcg(k: int) -> Metric:
    """Return ``ndcg@k``: the discounted gain of the first ``k`` over that of the best order.

    A relevant candidate at ``rank`` gains ``1 / log2(1 + rank)``, an irrelevant one nothing.

    Its values are float64 [Q], from 0 to 1.

    Source: ReasonAudio, section 4.1 (nDCG@10).

    Args:
        k: number of candidates that are looked at, at least 1; it may exceed the pool.

    Raises:
        SpecError: ``k`` is no whole number of at least 1.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import ndcg, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> ndcg(4)(ranking).round(4).tolist()
    [0.6509, 1.0]
    """
    return Metric(f"ndcg@{checked_k(k)}", True, (0.0, 1.0), partial(_ndcg, k=k))


def mrr() -> Metric:
    """Return ``mrr``: one over the rank of the best relevant candidate.

    Its values are float64 [Q], above 0 and at most 1.

    Source: Voorhees, "The TREC-8 Question Answering Track Report" (1999).

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import mrr, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> mrr()(ranking).tolist()
    [0.5, 1.0]
    """
    return Metric("mrr", True, (0.0, 1.0), _reciprocal_rank)


def margin() -> Metric:
    """Return ``margin``: the best relevant minus the best irrelevant cosine, which changes before any rank does.

    Its values are float64 [Q], in cosine from -2 to 2.

    Source: CORA, eq. 5, over all relevant candidates instead of one target.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import margin, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> margin()(ranking).tolist()
    [-1.0, 1.0]
    """
    return Metric("margin", True, (-2.0, 2.0), _margin)


def mean_rank() -> Metric:
    """Return ``mean_rank``: the rank of the best relevant candidate, in places; the run's value is the mean.

    Its values are float64 [Q], at least 1.

    Source: pinned protocol, "Use and reproduction" (``first_hit_rank``).

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import mean_rank, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> mean_rank()(ranking).tolist()
    [2.0, 1.0]
    """
    return Metric("mean_rank", False, (1.0, None), _rank)


def median_rank() -> Metric:
    """Return ``median_rank``: the rank of the best relevant candidate, in places; the run's value is the median.

    Its values are float64 [Q], at least 1.

    Source: pinned protocol, "Use and reproduction" (``first_hit_rank``).

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import median_rank, rank_scores
    >>> ranking = rank_scores(np.array([[3.0, 2.0, 1.0]] * 3), relevant=[[0], [0], [2]])
    >>> median_rank()(ranking).tolist(), median_rank().value(ranking)
    ([1.0, 1.0, 3.0], 1.0)
    """
    return Metric("median_rank", False, (1.0, None), _rank, statistic="median")


def log2_rank() -> Metric:
    """Return ``log2_rank``: the binary logarithm of the best relevant candidate's rank.

    A fall from rank 1 to 2 weighs as much as one from 512 to 1,024.

    Its values are float64 [Q], octaves of at least 0.

    Source: pinned protocol, "Use and reproduction" (``first_hit_rank``), on a logarithmic scale.

    >>> import numpy as np
    >>> from pytest_audioretrieval.metrics import log2_rank, rank_scores
    >>> ranking = rank_scores(np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), relevant=[[1, 3], [3]])
    >>> log2_rank()(ranking).tolist()
    [1.0, 0.0]
    """
    return Metric("log2_rank", False, (0.0, None), _log2_rank, octaves=(0, 1))


def checked_k(k: int) -> int:
    """Return ``k`` where it is a whole number of at least 1.

    Raises:
        SpecError: it is not.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise SpecError(f"k is {k!r}", expected="a whole number of at least 1", remedy="pass 1, 5 or 10, as is usual")
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
    """Return all ranks in one array, the place where those of each query start, and how many each query has."""
    import numpy as np

    counts = np.array([len(ranks) for ranks in relevant_ranks], dtype=np.int64)
    if not counts.all():
        query = int(np.flatnonzero(counts == 0)[0])
        raise DataError(f"query {query} has no relevant ranks", expected="at least one", remedy="rank it again")
    return np.concatenate(relevant_ranks), np.cumsum(counts) - counts, counts


def _sums(values: Floats, starts: Ints) -> Floats:
    """Return the sum of each query's values, which begin at ``starts``."""
    import numpy as np

    sums: Floats = np.add.reduceat(values, starts)
    return sums
