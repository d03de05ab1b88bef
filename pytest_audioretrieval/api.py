"""A run without pytest: ``load_dataset``, ``load_retriever``, ``evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
    from pytest_audioretrieval.data.registry import source
    from pytest_audioretrieval.embedding.resources import Resources

    resources = Resources(cache=cache, offline=offline, allow_unpinned=allow_unpinned)
    return resources.load(source(str(name_or_folder), Path()))


def load_retriever(
    model: str, *, device: str = "auto", offline: bool = False, allow_unpinned: bool = False
) -> Retriever:
    """The model a SPEC names, on ``device``; the SPEC is that of ``--model``.

    Raises:
        SpecError, PinError, ModelError: no such model, a pair scorer, not the pinned one, or not loadable.
    """
    from pytest_audioretrieval.embedding.assembly import Answerers
    from pytest_audioretrieval.embedding.fusion import single
    from pytest_audioretrieval.embedding.resources import Resources

    resources = Resources(device=device, offline=offline, allow_unpinned=allow_unpinned)
    (answerer,) = Answerers(resources).named([model])
    return single(answerer).retriever


def evaluate(
    model: str,
    dataset: Dataset,
    direction: str = "t2a",
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
    from pytest_audioretrieval.embedding.assembly import Answerers
    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.runs.measure import measure

    resources = Resources(protocol or Protocol(), cache, device=device, offline=offline, allow_unpinned=allow_unpinned)
    (answerer,) = Answerers(resources).named([model])
    return measure(answerer, dataset, direction).run
