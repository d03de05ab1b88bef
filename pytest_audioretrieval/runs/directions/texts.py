"""Direction ``texts``: how far a caption moves when its meaning, or its wording, changes (MASB, Exp. 3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from pytest_audioretrieval.runs.directions import two_options
from pytest_audioretrieval.runs.directions.direction import COSINES_APART, Answered, Fault
from pytest_audioretrieval.runs.outcomes import MARGIN_DIGITS, Outcomes, Shown, rounded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.data.types import Dataset, Rewording
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.retrieval import Metric

    Vectors = npt.NDArray[np.float32]


class Texts(two_options.TwoOptions):
    """A caption's attribute swap and its paraphrase are the candidates; the paraphrase should be nearer."""

    name = "texts"
    columns = frozenset({"swap_distance", "paraphrase_distance"})
    apart = COSINES_APART

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return the rewordings."""
        return dataset.rewordings

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Compare every caption with its attribute swap and its paraphrase."""
        from pytest_audioretrieval.metrics.binding import text_distances

        items = dataset.rewordings
        found = text_distances(*reworded(answerer, items), [item.recording for item in items])
        swap, paraphrase = found.swap, found.paraphrase
        outcomes = msgspec.structs.replace(
            two_options.outcomes_of(items, -paraphrase, -swap),
            swap_distance=rounded(swap),
            paraphrase_distance=rounded(paraphrase),
        )
        contents = (json.dumps([item.text, item.swap, item.paraphrase], ensure_ascii=False) for item in items)
        pool = [(item.id, content) for item, content in zip(items, contents, strict=True)]
        first = [item.paraphrase if near else item.swap for item, near in zip(items, paraphrase < swap, strict=True)]
        return Answered(dataset, outcomes, pool, Shown([item.text for item in items], first))

    def means(self) -> Sequence[Metric]:
        """Return accuracy, sensitivity and margin."""
        from pytest_audioretrieval.metrics import margin

        return [*self.slice_means(), margin()]

    def slice_means(self) -> Sequence[Metric]:
        """Return accuracy and sensitivity."""
        from pytest_audioretrieval.metrics import accuracy, sensitivity

        return [accuracy(), sensitivity()]

    def fault(self, outcomes: Outcomes, clips: int) -> Fault | None:
        """Return the first distance, rank, tie or margin that cannot be."""
        swaps, paraphrases = outcomes.swap_distance or [], outcomes.paraphrase_distance or []
        for column in (swaps, paraphrases):
            for query, value in zip(outcomes.id, column, strict=True):
                if not 0 <= value <= COSINES_APART:
                    return Fault(f"query {query!r}: distance {value}", f"0 to {COSINES_APART:g}")
        if found := two_options.fault(outcomes):
            return found
        for query, margin, swap, near in zip(outcomes.id, outcomes.margin, swaps, paraphrases, strict=True):
            if abs(margin - (swap - near)) > 2 * 10**-MARGIN_DIGITS:
                return Fault(f"query {query!r}: margin {margin} does not follow from its distances {swap} and {near}")
        return None


def reworded(answerer: Answerer, rewordings: Sequence[Rewording]) -> tuple[Vectors, Vectors, Vectors]:
    """Return unit vectors of captions, at least one, of their swaps and of their paraphrases, float32 [N, D] each.

    They are embedded together, so that equal texts have equal vectors: a vector's last digit depends on its batch.

    Raises:
        SpecError: ``answerer`` is a fusion or a pair scorer, and has no vectors of texts.
    """
    from pytest_audioretrieval.embedding.fusion import single

    every = [getattr(item, name) for name in ("text", "swap", "paraphrase") for item in rewordings]
    text, swap, paraphrase = single(answerer).texts(every).reshape(3, len(rewordings), -1)
    return text, swap, paraphrase
