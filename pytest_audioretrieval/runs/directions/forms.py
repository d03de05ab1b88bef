"""Direction ``forms``: every source caption and its reformulations ask for the same clip (CORA, 3.3 and 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.queries import clusters, text_queries, texts
from pytest_audioretrieval.data.query_sets import QuerySet, from_dataset, positions
from pytest_audioretrieval.runs.directions.direction import COSINES_APART, Answered, Fault
from pytest_audioretrieval.runs.directions.ranking import PoolRanking, ranked, refuse_all_right
from pytest_audioretrieval.runs.outcomes import FormOutcomes, Outcomes, Shown, rounded

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.rank_drop import Reformulation


class Forms(PoolRanking):
    """Captions ask as they are and in each of their forms, clips are ranked."""

    name = "forms"
    columns = frozenset({"forms", "source_rank"})
    same_pool = "same clips: the text of a caption or of one of its forms, or the rule for identical captions, differs"

    def items(self, dataset: Dataset) -> Sequence[object]:
        """Return the captions: rules make the forms of those that have none."""
        return dataset.captions

    def ask(self, answerer: Answerer, dataset: Dataset) -> Answered:
        """Rank all clips for every caption that has all its forms, and for each form.

        Raises:
            DataError: no caption has all forms.
        """
        given = with_forms(dataset)
        asked = from_dataset(given)
        sources = _sources(given, asked)
        queries = [text.text for text in texts(sources)]
        plain, shown = ranked(answerer, sources, text_queries(sources), [queries], [sources.clips])
        found = rank_drops(answerer, given, asked)
        return Answered(
            sources,
            _with_drops(plain, given, asked, found),
            [(clip.id, clip.digest) for clip in given.clips],
            shown,
            _shown(given, asked, found),
            [f"{count} {what}" for what, count in asked.notes.items()],
        )

    def fault(self, outcomes: Outcomes, clips: int) -> Fault | None:
        """Return the first source rank, rank, drop or set of forms that cannot be."""
        forms = outcomes.forms or {}
        if set(forms) != set(FORMS):
            return Fault(f"queries.forms are {', '.join(forms) or 'none'}", f"{', '.join(FORMS)}")
        ranks = zip(outcomes.id, outcomes.source_rank or [], outcomes.first_hit_rank, strict=True)
        for query, source, first in ranks:
            if not 1 <= source <= first:  # it has no more rivals
                return Fault(f"query {query!r}: source_rank {source} with first_hit_rank {first} cannot be")
        faults = (_form_fault(name, form, outcomes.id, clips) for name, form in forms.items())
        return next((fault for fault in faults if fault), None)


def with_forms(dataset: Dataset) -> Dataset:
    """Return ``dataset`` where any caption has forms, else with those that ``data.reformulate`` makes of each."""
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


def rank_drops(answerer: Answerer, dataset: Dataset, asked: QuerySet) -> Reformulation:
    """Return CORA's quantities of all pairs of ``asked``, [P], in their order, among all clips of ``dataset``."""
    import numpy as np

    from pytest_audioretrieval.metrics.rank_drop import reformulation

    pairs = asked.pairs
    item = np.array([pair.item for pair in pairs])
    right = positions(asked, [clip.id for clip in dataset.clips])
    refuse_all_right(dataset, zip((item.id for item in asked.items), right, strict=True), len(dataset.clips))
    sources, forms = [item.source for item in asked.items], [pair.text for pair in pairs]
    queries, candidates = answerer.sides([sources, forms], [dataset.clips])
    return reformulation(
        queries[: len(asked.items)][item],
        queries[len(asked.items) :],
        candidates,
        np.array([right[i][0] for i in item]),
        relevant=[right[i][1:] for i in item],
    )


def _sources(dataset: Dataset, asked: QuerySet) -> Dataset:
    """Return the captions that are asked, without their forms, each by itself, among all clips."""
    wanted = {item.id for item in asked.items}
    captions = tuple(caption for caption in dataset.captions if caption.id in wanted)
    return replace(dataset, captions=captions, merge_identical_captions=False)


def _with_drops(plain: Outcomes, dataset: Dataset, asked: QuerySet, found: Reformulation) -> Outcomes:
    cluster = clusters(dataset)
    return msgspec.structs.replace(
        plain,
        cluster=[cluster[item.clip] for item in asked.items],
        source_rank=found.source_rank[:: len(asked.forms)].tolist(),
        forms={
            form: FormOutcomes(
                rank=found.rank[rows].tolist(),
                move=rounded(found.move[rows]),
                tal=rounded(found.tal[rows]),
                hnp=rounded(found.hnp[rows]),
            )
            for form, rows in _rows(asked).items()
        },
    )


def _shown(dataset: Dataset, asked: QuerySet, found: Reformulation) -> Mapping[str, Shown]:
    """Return the queries of each form, and the clip that ranks first: the target or its hard negative."""
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
    """Return where each form's pairs stand: items are complete, so every item has its forms in the same order."""
    return {form: slice(place, None, len(asked.forms)) for place, form in enumerate(asked.forms)}


def _form_fault(name: str, form: FormOutcomes, ids: Sequence[str], clips: int) -> Fault | None:
    for query, rank in zip(ids, form.rank, strict=True):
        if not 1 <= rank <= clips:
            return Fault(f"query {query!r}: rank {rank} of form {name!r}", f"1 to {clips}")
    for column in (form.move, form.tal, form.hnp):
        for query, value in zip(ids, column, strict=True):
            if not abs(value) <= COSINES_APART:
                return Fault(f"query {query!r}: {value} of form {name!r}", "cosines apart by at most 2")
    return None
