"""From vectors to a run: rank, count, and say where it came from."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_audioretrieval.base.versions import versions
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.queries import Direction, Task, task, texts
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.runs import run as runs
from pytest_audioretrieval.runs.run import DatasetRef, Model, Outcomes, Run, Shown, Subject

if TYPE_CHECKING:
    import numpy.typing as npt

    from pytest_audioretrieval.embedding.embedder import Embedder
    from pytest_audioretrieval.embedding.fused import Fused
    from pytest_audioretrieval.metrics.ranking import Ranking
    from pytest_audioretrieval.metrics.retrieval import Metric


def measure(embedder: Embedder | Fused, dataset: Dataset, direction: Direction) -> Subject:
    """Embed, rank one direction and make a run of it."""
    if direction == "forms":
        from pytest_audioretrieval.runs.reformulated import ask_forms

        return ask_forms(embedder, dataset)
    if direction == "choice" or direction == "texts":
        from pytest_audioretrieval.runs.two_options import ask_choices, ask_texts

        return (ask_choices if direction == "choice" else ask_texts)(embedder, dataset)
    return ask(embedder, without_forms(dataset), direction)


def without_forms(dataset: Dataset) -> Dataset:
    """``dataset`` as captions and clips are asked: forms that are added or reworded leave their baselines valid."""
    if not any(caption.forms for caption in dataset.captions):
        return dataset
    captions = tuple(replace(caption, forms={}) for caption in dataset.captions)
    digest = fingerprint(dataset.clips, captions, merged=dataset.merge_identical_captions)
    return replace(dataset, captions=captions, fingerprint=digest)


def ask(embedder: Embedder | Fused, dataset: Dataset, direction: Literal["t2a", "a2t"]) -> Subject:
    """Ask with every caption for its clip, or the reverse."""
    asked = task(dataset, direction)
    refuse_all_right(dataset, zip(asked.ids, asked.relevant, strict=True), len(asked.candidates))
    clips, captions = [dataset.clips], [[text.text for text in texts(dataset)]]
    sides = (captions, clips) if direction == "t2a" else (clips, captions)
    ranking = _ranked(*embedder.sides(*sides), asked.relevant)
    if direction == "t2a":
        pool = [(clip.id, clip.digest) for clip in dataset.clips]
    else:
        pool = [(text.id, text.text) for text in texts(dataset)]
    return subject(embedder, dataset, direction, _outcomes(ranking, asked), pool, _shown(dataset, asked, ranking))


def subject(
    embedder: Embedder | Fused,
    dataset: Dataset,
    direction: Direction,
    outcomes: Outcomes,
    pool: Iterable[tuple[str, str]],
    shown: Shown,
) -> Subject:
    """A run of what was found; ``pool`` is what was ranked, as (id, content)."""
    identity, protocol = embedder.identity, embedder.means.protocol
    run = Run(
        schema=runs.SCHEMA,
        model=Model(identity.id, identity.revision, identity.weights_sha256),
        dataset=DatasetRef(
            name=dataset.name,
            revision=dataset.revision,
            fingerprint=dataset.fingerprint,
            candidates=runs.pool_digest(pool),
            clips=len(dataset.clips),
            queries=len(outcomes.id),
        ),
        direction=direction,
        protocol={"name": protocol.name, **protocol.settings(), "fingerprint": protocol.fingerprint},
        environment=environment(embedder.device),
        metrics={},
        queries=outcomes,
    )
    notes = [f"{count} {what}" for what, count in dataset.notes.items()]
    return Subject(run=_with_means(run), shown=shown, notes=notes)


def refuse_all_right(dataset: Dataset, right: Iterable[tuple[str, Sequence[int]]], candidates: int) -> None:
    """Raise ``DataError`` for the first query, of (id, right answers), that no candidate is wrong for."""
    for query, answers in right:
        if len(answers) == candidates:
            raise DataError(
                f"{dataset.name}: all {candidates} candidates are right for {query!r}: expected a wrong one to rank "
                "them against; add clips with other captions"
            )


def _ranked(queries: npt.NDArray[Any], candidates: npt.NDArray[Any], relevant: Sequence[Sequence[int]]) -> Ranking:
    from pytest_audioretrieval.metrics.ranking import rank

    return rank(queries, candidates, relevant, top=1)


def _shown(dataset: Dataset, asked: Task, ranking: Ranking) -> Shown:
    first: list[int] = ranking.top[:, 0].tolist()  # type: ignore[index]
    shown = Shown(asked.shown, [asked.candidates_shown[i] for i in first])
    if dataset.explain is None:
        return shown
    broken = [dataset.explain(query, asked.candidates[i]) for query, i in zip(asked.ids, first, strict=True)]
    return shown._replace(right=[asked.candidates[row[0]] for row in asked.relevant], broken=broken)


def _outcomes(ranking: Ranking, asked: Task) -> Outcomes:
    from pytest_audioretrieval.metrics.retrieval import map_at

    ranks = [[int(r) for r in row] for row in ranking.relevant_ranks]
    return Outcomes(
        id=list(asked.ids),
        cluster=list(asked.clusters),
        first_hit_rank=[row[0] for row in ranks],
        pessimistic_rank=[int(r) for r in ranking.pessimistic_rank],
        tied=[int(t) for t in ranking.tied],
        ap=[round(float(value), runs.AP_DIGITS) for value in map_at(10)(ranking)],
        margin=[round(float(m), runs.MARGIN_DIGITS) for m in ranking.margin],
        relevant_ranks=ranks if any(len(row) > 1 for row in ranks) else None,
        slice=list(asked.slices) if asked.slices else None,
    )


def _with_means(run: Run) -> Run:
    import msgspec

    means = {str(metric): metric.value(run.columns) for metric in _metrics(run)}
    means["tied_queries"] = float(sum(t > 0 for t in run.queries.tied))
    if "R@1" in means:
        means["R@1 pessimistic"] = sum(r == 1 for r in run.queries.pessimistic_rank) / run.dataset.queries
    return msgspec.structs.replace(run, metrics={name: round(value, 9) for name, value in means.items()})


def _metrics(run: Run) -> Iterator[Metric]:
    """What a run says of itself: of all its queries, and of each slice."""
    from pytest_audioretrieval.metrics import binding, retrieval

    parts = tuple(dict.fromkeys(run.queries.slice or ()))
    if own := {"choice": [binding.accuracy()], "texts": [binding.accuracy(), binding.sensitivity()]}.get(run.direction):
        yield from (*own, retrieval.margin())
    else:
        own = [retrieval.hit_rate(1), retrieval.ndcg(10)]
        yield from (retrieval.hit_rate(k) for k in (1, 5, 10))
        yield from (retrieval.map_at(10), retrieval.mrr(), retrieval.mean_rank(), retrieval.median_rank())
        yield retrieval.margin()
    yield from (metric.within(part) for part in parts for metric in own)


def environment(device: str) -> dict[str, str]:
    """What may move a figure without being part of the protocol: versions, machine, device."""
    return {**versions(), "python": platform.python_version(), "machine": platform.machine(), "device": device}
