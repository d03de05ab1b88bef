"""From a model and a dataset to a run: ask in one direction, and say where the outcomes came from."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.versions import versions
from pytest_audioretrieval.runs.directions import Direction, named, refuse_unasked
from pytest_audioretrieval.runs.outcomes import pool_digest
from pytest_audioretrieval.runs.run import SCHEMA, DatasetRef, MeasuredRun, Model, Run

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.runs.directions.direction import Answered


def measure(answerer: Answerer, dataset: Dataset, direction: str) -> MeasuredRun:
    """Ask ``answerer`` everything that ``dataset`` asks in a direction and make a run of the outcomes.

    Raises:
        SpecError: no such direction, or a model that cannot answer in it.
        DataError: the dataset asks nothing in it.
    """
    asked = named(direction)
    refuse_unasked(dataset, asked)
    found = asked.ask(answerer, dataset)
    run = _with_means(_run(answerer, asked, found), asked)
    notes = [f"{count} {what}" for what, count in found.dataset.notes.items()]
    return MeasuredRun(run=run, shown=found.shown, notes=[*notes, *found.notes], forms=found.forms)


def environment(device: str) -> dict[str, str]:
    """Return what may move a figure without being part of the protocol: versions, machine, device."""
    return {**versions(), "python": platform.python_version(), "machine": platform.machine(), "device": device}


def _run(answerer: Answerer, direction: Direction, found: Answered) -> Run:
    identity, protocol = answerer.identity, answerer.resources.protocol
    return Run(
        schema=SCHEMA,
        model=Model(identity.id, identity.revision, identity.weights_sha256),
        dataset=DatasetRef(
            name=found.dataset.name,
            revision=found.dataset.revision,
            fingerprint=found.dataset.fingerprint,
            candidates=pool_digest(found.pool),
            clips=len(found.dataset.clips),
            queries=len(found.outcomes.id),
        ),
        direction=direction.name,
        protocol=protocol.stated(),
        environment=environment(answerer.device),
        metrics={},
        queries=found.outcomes,
    )


def _with_means(run: Run, direction: Direction) -> Run:
    import msgspec

    parts = tuple(dict.fromkeys(run.queries.slice or ()))
    sliced = [metric.within(part) for part in parts for metric in direction.slice_means()]
    means = {str(metric): metric.value(run.columns) for metric in (*direction.means(), *sliced)}
    means["tied_queries"] = float(sum(tied > 0 for tied in run.queries.tied))
    if direction.chance is None:
        first = sum(rank == 1 for rank in run.queries.pessimistic_rank)
        means["R@1 pessimistic"] = first / run.dataset.queries
    return msgspec.structs.replace(run, metrics={name: round(value, 9) for name, value in means.items()})
