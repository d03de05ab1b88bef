"""Direction ``a2t``: clips ask for their captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.queries import clip_queries, texts
from pytest_audioretrieval.runs.directions import ranking
from pytest_audioretrieval.runs.directions.direction import COSINES_APART, Answered
from pytest_audioretrieval.runs.outcomes import Outcomes

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.retrieval import Metric

#: A stored run knows the number of clips, and not that of the texts that are ranked.
MOST_TEXTS = 2**31


class A2T:
    """Clips ask, texts are ranked."""

    name = "a2t"
    usual = True
    chance = None
    columns = frozenset[str]()
    optional = frozenset({"relevant_ranks"})
    apart = COSINES_APART
    same_pool = "same captions: a sound file or the rule for identical captions differs"

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return the captions."""
        return dataset.captions

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Rank all texts for every clip."""
        dataset = ranking.without_forms(dataset)
        found = texts(dataset)
        candidates = [text.text for text in found]
        outcomes, shown = ranking.ranked(answerer, dataset, clip_queries(dataset), [dataset.clips], [candidates])
        return Answered(dataset, outcomes, [(text.id, text.text) for text in found], shown)

    def means(self) -> Sequence[Metric]:
        """Return hit rates, precision, ranks and margin."""
        return ranking.means()

    def slice_means(self) -> Sequence[Metric]:
        """Return R@1 and nDCG@10."""
        return ranking.slice_means()

    def last_rank(self, clips: int) -> int:
        """Return more than any number of texts."""
        return MOST_TEXTS

    def limits(self, metric: Metric, clips: int) -> tuple[float, float] | None:
        """Return None, because a run does not know the number of texts."""
        return None

    def fault(self, outcomes: Outcomes, clips: int) -> str | None:
        """Return None: the checks of all runs say everything."""
        return None
