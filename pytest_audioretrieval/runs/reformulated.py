"""Direction ``forms``: every source caption and its reformulations asked for the same clip (CORA, 3.3 and 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.queries import clusters
from pytest_audioretrieval.data.query_sets import QuerySet, from_dataset, positions
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.runs import run as runs
from pytest_audioretrieval.runs.measure import ask, refuse_all_right
from pytest_audioretrieval.runs.run import FormOutcomes, Outcomes, Shown, Subject

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.embedding.embedder import Embedder
    from pytest_audioretrieval.embedding.fused import Fused
    from pytest_audioretrieval.metrics.rank_drop import Reformulation


def ask_forms(embedder: Embedder | Fused, dataset: Dataset) -> Subject:
    """Ask every caption that has all its forms as itself and in each form, and make a run of it.

    Raises:
        DataError: no caption has all forms.
    """
    given = with_forms(dataset)
    asked = from_dataset(given)
    plain = ask(embedder, _only(given, asked), "t2a")
    found = rank_drops(embedder, given, asked)
    outcomes = _outcomes(plain.run.queries, given, asked, found)
    run = msgspec.structs.replace(plain.run, direction="forms", queries=outcomes)
    notes = [*plain.notes, *(f"{count} {what}" for what, count in asked.notes.items())]
    return Subject(run=run, shown=plain.shown, notes=notes, forms=_shown(given, asked, found))


def with_forms(dataset: Dataset) -> Dataset:
    """``dataset`` itself where any caption has forms, else with those that ``data.reformulate`` makes of each."""
    if any(caption.forms for caption in dataset.captions):
        return dataset
    from pytest_audioretrieval.data.reformulate import reformulate_all

    made = reformulate_all(dataset.captions)
    captions = tuple(replace(caption, forms=dict(made.forms[caption.id].items())) for caption in dataset.captions)
    quoted = {"captions that no rule could read, asked in quotes": len(made.quoted)} if made.quoted else {}
    return replace(
        dataset,
        captions=captions,
        fingerprint=fingerprint(dataset.clips, captions, merged=dataset.merge_identical_captions),
        notes={**dataset.notes, **quoted},
    )


def rank_drops(embedder: Embedder | Fused, dataset: Dataset, asked: QuerySet) -> Reformulation:
    """CORA's quantities of all pairs of ``asked``, [P], in its order of pairs, among all clips of ``dataset``."""
    import numpy as np

    from pytest_audioretrieval.metrics.rank_drop import reformulation

    pairs = asked.pairs
    item = np.array([pair.item for pair in pairs])
    right = positions(asked, [clip.id for clip in dataset.clips])
    refuse_all_right(dataset, zip((item.id for item in asked.items), right, strict=True), len(dataset.clips))
    texts = [[item.source for item in asked.items], [pair.text for pair in pairs]]
    queries, candidates = embedder.sides(texts, [dataset.clips])
    return reformulation(
        queries[: len(asked.items)][item],
        queries[len(asked.items) :],
        candidates,
        np.array([right[i][0] for i in item]),
        relevant=[right[i][1:] for i in item],
    )


def _only(dataset: Dataset, asked: QuerySet) -> Dataset:
    """The captions that are asked, each by itself, among all clips."""
    wanted = {item.id for item in asked.items}
    captions = tuple(caption for caption in dataset.captions if caption.id in wanted)
    return replace(dataset, captions=captions, merge_identical_captions=False)


def _outcomes(plain: Outcomes, dataset: Dataset, asked: QuerySet, found: Reformulation) -> Outcomes:
    cluster = clusters(dataset)
    return msgspec.structs.replace(
        plain,
        cluster=[cluster[item.clip] for item in asked.items],
        source_rank=found.source_rank[:: len(asked.forms)].tolist(),
        forms={
            form: FormOutcomes(
                rank=found.rank[rows].tolist(),
                move=_rounded(found.move[rows]),
                tal=_rounded(found.tal[rows]),
                hnp=_rounded(found.hnp[rows]),
            )
            for form, rows in _rows(asked).items()
        },
    )


def _shown(dataset: Dataset, asked: QuerySet, found: Reformulation) -> Mapping[str, Shown]:
    """The queries of each form, and the clip that ranks first: the target or its hard negative."""
    shown = {}
    for form, rows in _rows(asked).items():
        rivals = [dataset.clips[i].id for i in found.hard_negative[rows]]
        first = [
            item.clip if rank == 1 else rival
            for item, rank, rival in zip(asked.items, found.rank[rows], rivals, strict=True)
        ]
        shown[form] = Shown([item.forms[form] for item in asked.items], first)
    return shown


def _rows(asked: QuerySet) -> dict[str, slice]:
    """Where each form's pairs stand: items are complete, so every item has its forms in the same order."""
    return {form: slice(place, None, len(asked.forms)) for place, form in enumerate(asked.forms)}


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [round(float(value), runs.MARGIN_DIGITS) for value in values]
