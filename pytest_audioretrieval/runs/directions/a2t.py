"""Direction ``a2t``: clips ask for their captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.queries import clip_queries, texts
from pytest_audioretrieval.runs.directions.direction import Answered
from pytest_audioretrieval.runs.directions.ranking import PoolRanking, ranked, without_forms

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.retrieval import Metric

#: A stored run knows the number of clips, and not that of the texts that are ranked.
MOST_TEXTS = 2**31


class A2T(PoolRanking):
    """Clips ask, texts are ranked."""

    name = "a2t"
    usual = True
    same_pool = "same captions: a sound file or the rule for identical captions differs"

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return the captions."""
        return dataset.captions

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Rank all texts for every clip."""
        dataset = without_forms(dataset)
        found = texts(dataset)
        candidates = [text.text for text in found]
        outcomes, shown = ranked(answerer, dataset, clip_queries(dataset), [dataset.clips], [candidates])
        return Answered(dataset, outcomes, [(text.id, text.text) for text in found], shown)

    def last_rank(self, clips: int) -> int:
        """Return more than any number of texts."""
        return MOST_TEXTS

    def limits(self, metric: Metric, clips: int) -> tuple[float, float] | None:
        """Return None, because a run does not know the number of texts."""
        return None
