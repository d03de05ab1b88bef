"""Direction ``choice``: which of two pairs of text and clip holds (ReasonAudio, 5.1; MASB, Exp. 1 and 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.runs.directions import two_options
from pytest_audioretrieval.runs.directions.direction import Answered, Fault
from pytest_audioretrieval.runs.outcomes import Outcomes, Shown

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.data.types import Choice as Item
    from pytest_audioretrieval.data.types import Clip, Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.retrieval import Metric

    Floats = npt.NDArray[np.float64]


class Choice(two_options.TwoOptions):
    """Two pairs of text and clip are the candidates of each query."""

    name = "choice"
    columns = frozenset[str]()
    #: A pair scorer's scores have a scale of their own.
    apart = float("inf")

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return the choices."""
        return dataset.choices

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Score both options of every choice."""
        clips = {clip.id: clip for clip in dataset.clips}
        right, wrong = option_scores(answerer, dataset)
        contents = (json.dumps(_content(choice, clips), ensure_ascii=False) for choice in dataset.choices)
        pool = [(choice.id, content) for choice, content in zip(dataset.choices, contents, strict=True)]
        outcomes = two_options.outcomes_of(dataset.choices, right, wrong)
        return Answered(dataset, outcomes, pool, _shown(dataset, right > wrong))

    def means(self) -> Sequence[Metric]:
        """Return accuracy and margin."""
        from pytest_audioretrieval.metrics import accuracy, margin

        return [accuracy(), margin()]

    def slice_means(self) -> Sequence[Metric]:
        """Return accuracy."""
        from pytest_audioretrieval.metrics import accuracy

        return [accuracy()]

    def fault(self, outcomes: Outcomes, clips: int) -> Fault | None:
        """Return the first query whose columns do not say one thing."""
        return two_options.fault(outcomes)


def option_scores(answerer: Answerer, dataset: Dataset) -> tuple[Floats, Floats]:
    """Return the scores of the right and of the wrong option of every choice, at least one, [N] each.

    Raises:
        SpecError: ``answerer`` is a fusion, whose scores hold for whole rankings alone.
    """
    from pytest_audioretrieval.embedding.fusion import single

    clips = {clip.id: clip for clip in dataset.clips}
    pairs = [pair for choice in dataset.choices for pair in (choice.right, choice.wrong)]
    scores = single(answerer).pair_scores([(pair.text, clips[pair.clip]) for pair in pairs])
    return scores[::2], scores[1::2]


def _content(choice: Item, clips: Mapping[str, Clip]) -> list[tuple[str, str]]:
    return [(pair.text, clips[pair.clip].digest) for pair in (choice.right, choice.wrong)]


def _shown(dataset: Dataset, well: npt.NDArray[np.bool_]) -> Shown:
    """Return a clip and the text chosen for it, or a text and the clip chosen for it."""
    query, first, right, broken, explain = [], [], [], [], dataset.explain
    for choice, chose_right in zip(dataset.choices, well, strict=True):
        chosen = choice.right if chose_right else choice.wrong
        between_clips = choice.right.clip != choice.wrong.clip
        query.append(choice.right.text if between_clips else choice.right.clip)
        first.append(chosen.clip if between_clips else chosen.text)
        right.append(choice.right.clip if between_clips else choice.right.text)
        broken.append(explain(choice.id, chosen.clip) if explain and between_clips else ())
    return Shown(query, first, right, broken if explain else ())
