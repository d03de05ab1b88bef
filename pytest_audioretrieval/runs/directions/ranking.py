"""Ranking of a pool: what directions ``t2a``, ``a2t`` and ``forms`` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.runs.directions.direction import COSINES_APART, Fault
from pytest_audioretrieval.runs.outcomes import AP_DIGITS, MARGIN_DIGITS, Outcomes, Shown

if TYPE_CHECKING:
    from pytest_audioretrieval.data.queries import Task
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer, Side
    from pytest_audioretrieval.metrics.ranking import Ranking
    from pytest_audioretrieval.metrics.retrieval import Metric


def ranked(
    answerer: Answerer, dataset: Dataset, asked: Task, queries: Side, candidates: Side
) -> tuple[Outcomes, Shown]:
    """Embed both sides, rank, and return the outcomes with what a person is shown of them."""
    from pytest_audioretrieval.metrics.ranking import rank

    refuse_all_right(dataset, zip(asked.ids, asked.relevant, strict=True), len(asked.candidates))
    ranking = rank(*answerer.sides(queries, candidates), asked.relevant, top=1)
    return _outcomes(ranking, asked), _shown(dataset, asked, ranking)


def refuse_all_right(dataset: Dataset, right: Iterable[tuple[str, Sequence[int]]], candidates: int) -> None:
    """Raise ``DataError`` for the first query, of (id, right answers), that no candidate is wrong for."""
    for query, answers in right:
        if len(answers) == candidates:
            raise DataError(
                f"{dataset.name}: all {candidates} candidates are right for {query!r}",
                expected="a wrong one to rank them against",
                remedy="add clips with other captions",
            )


def without_forms(dataset: Dataset) -> Dataset:
    """Return ``dataset`` as captions and clips are asked: new or reworded forms leave their baselines valid."""
    if not any(caption.forms for caption in dataset.captions):
        return dataset
    captions = tuple(replace(caption, forms={}) for caption in dataset.captions)
    digest = fingerprint(dataset.clips, captions, merged=dataset.merge_identical_captions)
    return replace(dataset, captions=captions, fingerprint=digest)


class PoolRanking:
    """Base of the directions that rank a whole pool."""

    usual = False
    chance = None
    columns = frozenset[str]()
    optional = frozenset({"relevant_ranks"})
    apart = COSINES_APART

    def means(self) -> Sequence[Metric]:
        """Return hit rates, precision, ranks and margin."""
        from pytest_audioretrieval.metrics import retrieval as of

        hits = [of.hit_rate(k) for k in (1, 5, 10)]
        return [*hits, of.map_at(10), of.mrr(), of.mean_rank(), of.median_rank(), of.margin()]

    def slice_means(self) -> Sequence[Metric]:
        """Return R@1 and nDCG@10."""
        from pytest_audioretrieval.metrics import retrieval as of

        return [of.hit_rate(1), of.ndcg(10)]

    def last_rank(self, clips: int) -> int:
        """Return the number of clips, which are ranked."""
        return clips

    def limits(self, metric: Metric, clips: int) -> tuple[float, float] | None:
        """Return the values that a pool of all clips allows."""
        return metric.limits(clips)

    def fault(self, outcomes: Outcomes, clips: int) -> Fault | None:
        """Return None: the checks of all runs say everything."""
        return None


def _shown(dataset: Dataset, asked: Task, ranking: Ranking) -> Shown:
    first: list[int] = ranking.top[:, 0].tolist()  # type: ignore[index]
    shown = Shown(asked.shown, [asked.candidates_shown[i] for i in first])
    if dataset.explain is None:
        return shown
    broken = [dataset.explain(query, asked.candidates[i]) for query, i in zip(asked.ids, first, strict=True)]
    return shown._replace(right=[asked.candidates[row[0]] for row in asked.relevant], broken=broken)


def _outcomes(ranking: Ranking, asked: Task) -> Outcomes:
    from pytest_audioretrieval.metrics.retrieval import map_at

    ranks = [[int(r) for r in row] for row in ranking.relevant_ranks]
    return Outcomes(
        id=list(asked.ids),
        cluster=list(asked.clusters),
        first_hit_rank=[row[0] for row in ranks],
        pessimistic_rank=[int(r) for r in ranking.pessimistic_rank],
        tied=[int(t) for t in ranking.tied],
        ap=[round(float(value), AP_DIGITS) for value in map_at(10)(ranking)],
        margin=[round(float(m), MARGIN_DIGITS) for m in ranking.margin],
        relevant_ranks=ranks if any(len(row) > 1 for row in ranks) else None,
        slice=list(asked.slices) if asked.slices else None,
    )
