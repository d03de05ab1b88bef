"""Direction ``t2a``: captions, or queries with stated relevance, ask for clips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.queries import text_queries, texts
from pytest_audioretrieval.runs.directions.direction import Answered
from pytest_audioretrieval.runs.directions.ranking import PoolRanking, ranked, without_forms

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer


class T2A(PoolRanking):
    """Texts ask, clips are ranked."""

    name = "t2a"
    usual = True
    same_pool = "same clips: the text of a caption, or the rule for identical captions, differs"

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return the queries with stated relevance, or the captions where there are none."""
        return dataset.queries or dataset.captions

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Rank all clips for every text."""
        dataset = without_forms(dataset)
        queries = [text.text for text in texts(dataset)]
        outcomes, shown = ranked(answerer, dataset, text_queries(dataset), [queries], [dataset.clips])
        return Answered(dataset, outcomes, [(clip.id, clip.digest) for clip in dataset.clips], shown)
