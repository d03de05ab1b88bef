"""Directions ``choice`` (ReasonAudio, 5.1; MASB, Exp. 1 and 4) and ``texts`` (MASB, Exp. 3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.data.queries import check_asks
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Rewording
from pytest_audioretrieval.runs import run as runs
from pytest_audioretrieval.runs.measure import subject
from pytest_audioretrieval.runs.run import Outcomes, Shown, Subject

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.embedding.embedder import Embedder
    from pytest_audioretrieval.embedding.fused import Fused

    Floats = npt.NDArray[np.float64]
    Vectors = npt.NDArray[np.float32]


def ask_choices(embedder: Embedder | Fused, dataset: Dataset) -> Subject:
    """Score both options of every choice and make a run of it.

    Raises:
        DataError: the dataset has no choices.
    """
    check_asks(dataset, "choice")
    choices, clips = dataset.choices, {clip.id: clip for clip in dataset.clips}
    right, wrong = option_scores(embedder, dataset)
    outcomes = _outcomes(choices, right, wrong)
    pool = [(choice.id, json.dumps(_content(choice, clips), ensure_ascii=False)) for choice in choices]
    return subject(embedder, dataset, "choice", outcomes, pool, _shown(dataset, right > wrong))


def ask_texts(embedder: Embedder | Fused, dataset: Dataset) -> Subject:
    """Compare every caption with its attribute swap and its paraphrase and make a run of it (MASB, Exp. 3).

    Raises:
        DataError: the dataset has no rewordings.
    """
    import msgspec

    from pytest_audioretrieval.metrics.binding import text_distances

    check_asks(dataset, "texts")
    rewordings = dataset.rewordings
    found = text_distances(*reworded(embedder, rewordings), [item.recording for item in rewordings])
    swap, paraphrase = found.swap, found.paraphrase
    outcomes = msgspec.structs.replace(
        _outcomes(rewordings, -paraphrase, -swap),
        swap_distance=_rounded(swap),
        paraphrase_distance=_rounded(paraphrase),
    )
    pool = [(item.id, json.dumps([item.text, item.swap, item.paraphrase], ensure_ascii=False)) for item in rewordings]
    first = [item.paraphrase if near else item.swap for item, near in zip(rewordings, paraphrase < swap, strict=True)]
    return subject(embedder, dataset, "texts", outcomes, pool, Shown([item.text for item in rewordings], first))


def option_scores(embedder: Embedder | Fused, dataset: Dataset) -> tuple[Floats, Floats]:
    """Scores of the right and the wrong option of every choice, at least one, [N] each."""
    clips = {clip.id: clip for clip in dataset.clips}
    pairs = [pair for choice in dataset.choices for pair in (choice.right, choice.wrong)]
    scores = embedder.pair_scores([(pair.text, clips[pair.clip]) for pair in pairs])
    return scores[::2], scores[1::2]


def reworded(embedder: Embedder | Fused, rewordings: Sequence[Rewording]) -> tuple[Vectors, Vectors, Vectors]:
    """Unit vectors of captions, at least one, of their swaps and of their paraphrases, float32 [N, D] each.

    Embedded together, so that equal texts have equal vectors: a vector's last digit depends on its batch.
    """
    every = [getattr(item, name) for name in ("text", "swap", "paraphrase") for item in rewordings]
    text, swap, paraphrase = embedder.texts(every).reshape(3, len(rewordings), -1)
    return text, swap, paraphrase


def _outcomes(items: tuple[Any, ...], right: Floats, wrong: Floats) -> Outcomes:
    """Two candidates each, so that a rank is 1 or 2."""
    ranks = [1 if above else 2 for above in (right > wrong).tolist()]
    return Outcomes(
        id=[item.id for item in items],
        cluster=[item.cluster for item in items],
        first_hit_rank=ranks,
        pessimistic_rank=ranks,
        tied=[int(tie) for tie in right == wrong],
        ap=[1 / rank for rank in ranks],
        margin=_rounded(right - wrong),
        slice=[item.slice for item in items],
    )


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), runs.MARGIN_DIGITS) for value in values]


def _content(choice: Choice, clips: dict[str, Clip]) -> list[tuple[str, str]]:
    return [(pair.text, clips[pair.clip].digest) for pair in (choice.right, choice.wrong)]


def _shown(dataset: Dataset, well: npt.NDArray[np.bool_]) -> Shown:
    """A clip and the text chosen for it, or a text and the clip chosen for it."""
    query, first, right, broken, explain = [], [], [], [], dataset.explain
    for choice, chose_right in zip(dataset.choices, well, strict=True):
        chosen = choice.right if chose_right else choice.wrong
        between_clips = choice.right.clip != choice.wrong.clip
        query.append(choice.right.text if between_clips else choice.right.clip)
        first.append(chosen.clip if between_clips else chosen.text)
        right.append(choice.right.clip if between_clips else choice.right.text)
        broken.append(explain(choice.id, chosen.clip) if explain and between_clips else ())
    return Shown(query, first, right, broken if explain else ())
