"""A run without pytest: ``load_dataset``, ``load_retriever``, ``evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.queries import Direction
from pytest_audioretrieval.data.registry import source
from pytest_audioretrieval.pinning import spec
from pytest_audioretrieval.pinning.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.models.types import Retriever
    from pytest_audioretrieval.runs.run import Run


def load_dataset(
    name_or_folder: str | Path, *, cache: Path | None = None, offline: bool = False, allow_unpinned: bool = False
) -> Dataset:
    """A dataset by name, built in, of a hub (docs/datasets.md) or ``mteb:TASK``, or a folder with ``dataset.toml``.

    Args:
        cache: where the digests of built-in sounds are remembered; None renders them each time.
        offline: never touch the network.
        allow_unpinned: take ``NAME@COMMIT`` of a hub though PINS.json does not pin it.

    Raises:
        SpecError, DataError, PinError: see ``data.registry.source``, ``data.manifest.load_folder``,
            ``data.hub.dataset.load_hub`` and ``data.mteb_task.load_task``.
    """
    return source(str(name_or_folder), Path()).load(Loading(cache, Tracker(), offline, allow_unpinned))


def load_retriever(
    model: str, *, device: str = "auto", offline: bool = False, allow_unpinned: bool = False
) -> Retriever:
    """The model a SPEC names, on ``device``; the SPEC is that of ``--model``.

    Raises:
        SpecError, PinError, ModelError: no such model, a pair scorer, not the pinned one, or not loadable.
    """
    from pytest_audioretrieval.models.registry import describe, load, retriever

    named = spec.parse(model)
    identity = describe(named, offline=offline, allow_unpinned=allow_unpinned)
    found = load(named, identity, device=device, offline=offline)
    return retriever(found, named.id)


def evaluate(
    model: str,
    dataset: Dataset,
    direction: Direction = "t2a",
    *,
    protocol: Protocol | None = None,
    device: str = "auto",
    cache: Path | None = None,
    offline: bool = False,
    allow_unpinned: bool = False,
) -> Run:
    """Per-query outcomes of ``model`` on ``dataset``: exact ranks, margins and their means (``Run.metrics``).

    Args:
        model: SPEC as in ``--model``.
        protocol: default ``short-clip``.
        cache: folder of an embedding store; None keeps nothing.
    """
    from pytest_audioretrieval.embedding.embedder import Means
    from pytest_audioretrieval.embedding.fused import embedder
    from pytest_audioretrieval.embedding.store import Store, place
    from pytest_audioretrieval.runs.measure import measure

    means = Means(
        protocol or Protocol(),
        Store(place(cache, device)),
        Tracker(),
        device=device,
        offline=offline,
        allow_unpinned=allow_unpinned,
    )
    return measure(embedder(spec.parse(model), means, {}), dataset, direction).run
