"""Direction ``t2a``: captions, or queries with stated relevance, ask for clips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.queries import text_queries, texts
from pytest_audioretrieval.runs.directions import ranking
from pytest_audioretrieval.runs.directions.direction import COSINES_APART, Answered
from pytest_audioretrieval.runs.outcomes import Outcomes

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.retrieval import Metric


class T2A:
    """Texts ask, clips are ranked."""

    name = "t2a"
    usual = True
    chance = None
    columns = frozenset[str]()
    optional = frozenset({"relevant_ranks"})
    apart = COSINES_APART
    same_pool = "same clips: the text of a caption, or the rule for identical captions, differs"

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return the queries with stated relevance, or the captions where there are none."""
        return dataset.queries or dataset.captions

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Rank all clips for every text."""
        dataset = ranking.without_forms(dataset)
        queries = [text.text for text in texts(dataset)]
        outcomes, shown = ranking.ranked(answerer, dataset, text_queries(dataset), [queries], [dataset.clips])
        return Answered(dataset, outcomes, [(clip.id, clip.digest) for clip in dataset.clips], shown)

    def means(self) -> Sequence[Metric]:
        """Return hit rates, precision, ranks and margin."""
        return ranking.means()

    def slice_means(self) -> Sequence[Metric]:
        """Return R@1 and nDCG@10."""
        return ranking.slice_means()

    def last_rank(self, clips: int) -> int:
        """Return the number of clips."""
        return clips

    def limits(self, metric: Metric, clips: int) -> tuple[float, float] | None:
        """Return what a pool of all clips allows."""
        return metric.limits(clips)

    def fault(self, outcomes: Outcomes, clips: int) -> str | None:
        """Return None: the checks of all runs say everything."""
        return None
