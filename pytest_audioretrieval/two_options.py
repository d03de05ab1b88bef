"""Directions ``choice`` (ReasonAudio, 5.1; MASB, Exp. 1 and 4) and ``texts`` (MASB, Exp. 3)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval import runs
from pytest_audioretrieval.data.types import Choice, Clip, Dataset
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.measure import subject
from pytest_audioretrieval.runs import Outcomes, Shown, Subject

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.embedding.embedder import Embedder
    from pytest_audioretrieval.embedding.fused import Fused

    Floats = npt.NDArray[np.float64]


def ask_choices(embedder: Embedder | Fused, dataset: Dataset) -> Subject:
    """Score both options of every choice and make a run of it.

    Raises:
        DataError: the dataset has no choices.
    """
    choices = _there(dataset, dataset.choices, "choice")
    clips = {clip.id: clip for clip in dataset.clips}
    pairs = [pair for choice in choices for pair in (choice.right, choice.wrong)]
    scores = embedder.pair_scores([(pair.text, clips[pair.clip]) for pair in pairs])
    right, wrong = scores[::2], scores[1::2]
    outcomes = _outcomes(choices, right, wrong)
    pool = [(choice.id, json.dumps(_content(choice, clips), ensure_ascii=False)) for choice in choices]
    return subject(embedder, dataset, "choice", outcomes, pool, _shown(dataset, right > wrong))


def ask_texts(embedder: Embedder | Fused, dataset: Dataset) -> Subject:
    """Compare every caption with its attribute swap and its paraphrase and make a run of it (MASB, Exp. 3).

    Raises:
        DataError: the dataset has no rewordings.
    """
    import msgspec

    rewordings = _there(dataset, dataset.rewordings, "texts")
    swap, paraphrase = distances(embedder, dataset)
    outcomes = msgspec.structs.replace(
        _outcomes(rewordings, -paraphrase, -swap),
        swap_distance=_rounded(swap),
        paraphrase_distance=_rounded(paraphrase),
    )
    pool = [(item.id, json.dumps([item.text, item.swap, item.paraphrase], ensure_ascii=False)) for item in rewordings]
    first = [item.paraphrase if near else item.swap for item, near in zip(rewordings, paraphrase < swap, strict=True)]
    return subject(embedder, dataset, "texts", outcomes, pool, Shown([item.text for item in rewordings], first))


def distances(embedder: Embedder | Fused, dataset: Dataset) -> tuple[Floats, Floats]:
    """Cosine distance of each caption to its swap and to its paraphrase, [N] each."""
    from pytest_audioretrieval.metrics.binding import text_distances

    asked = dataset.rewordings
    # Together, so that equal texts have equal vectors: a vector's last digit depends on its batch.
    every = [getattr(item, name) for name in ("text", "swap", "paraphrase") for item in asked]
    text, swap, paraphrase = embedder.texts(every).reshape(3, len(asked), -1)
    found = text_distances(text, swap, paraphrase, [item.recording for item in asked])
    # Of equal vectors the cosine may pass 1 by a rounding error.
    return found.swap.clip(min=0.0), found.paraphrase.clip(min=0.0)


def _there(dataset: Dataset, items: tuple[Any, ...], direction: str) -> tuple[Any, ...]:
    if not items:
        raise DataError(
            f"dataset {dataset.name!r} asks nothing in direction {direction}: built-in datasets that do are "
            "binding and reasoning (--retrieval-dataset)"
        )
    return items


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
    query, first, right, broken = [], [], [], []
    for choice, chose_right in zip(dataset.choices, well, strict=True):
        chosen = choice.right if chose_right else choice.wrong
        between_clips = choice.right.clip != choice.wrong.clip
        query.append(choice.right.text if between_clips else choice.right.clip)
        first.append(chosen.clip if between_clips else chosen.text)
        right.append(choice.right.clip if between_clips else choice.right.text)
        told = between_clips and dataset.explain is not None
        broken.append(dataset.explain(choice.id, chosen.clip) if told and dataset.explain else ())
    return Shown(query, first, right, broken if dataset.explain else ())
