"""Runs without pytest: ``load_dataset``, ``load_retriever``, ``evaluate``."""

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
    """Load a dataset: built in, of a hub, ``mteb:TASK``, or a folder with ``dataset.toml`` (docs: own clips).

    Args:
        name_or_folder: as for ``--retrieval-dataset``.
        cache: folder where the digests of built-in sounds are remembered; None renders them each time.
        offline: never touch the network.
        allow_unpinned: take ``NAME@COMMIT`` of a hub though PINS.json does not pin it.

    Returns:
        Clips, captions and relevance; sounds are hashed, and decoded when ``Clip.read`` is called.

    Raises:
        SpecError: no such name or folder.
        DataError: the dataset is not what it says it is; names file and line.
        PinError: it is not pinned, or not what is pinned.

    >>> from pytest_audioretrieval import load_dataset
    >>> dataset = load_dataset("sounds-single")
    >>> len(dataset.clips), dataset.captions[0].text
    (73, 'a cat meowing')
    """
    from pytest_audioretrieval.data.registry import source
    from pytest_audioretrieval.embedding.resources import Resources

    resources = Resources(cache=cache, offline=offline, allow_unpinned=allow_unpinned)
    return resources.load(source(str(name_or_folder), Path()))


def load_retriever(
    model: str, *, device: str = "auto", offline: bool = False, allow_unpinned: bool = False
) -> Retriever:
    """Load the model that a SPEC names, as for ``--model``.

    Args:
        model: hub id, folder, ``builtin/NAME``, ``BACKEND:NAME`` or ``module:factory``.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        offline: never touch the network.
        allow_unpinned: take a commit of a hub that PINS.json does not pin.

    Returns:
        The retriever: windows of sound and texts in, unit vectors float32 ``[n, D]`` out.

    Raises:
        SpecError: no such model, or one without vectors: a pair scorer or a fusion.
        PinError: it is not pinned, or not what is pinned.
        ModelError: it cannot be loaded.

    >>> from pytest_audioretrieval import Protocol, load_retriever
    >>> retriever = load_retriever("builtin/tiny-clap-fused", device="cpu")
    >>> retriever.embed_text(["rain", "a dog barks"], Protocol()).shape
    (2, 96)
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
    """Measure a model on a dataset: exact ranks and margins per query, and their means.

    Args:
        model: SPEC as for ``--model``.
        dataset: as ``load_dataset`` returns it.
        direction: ``t2a``, ``a2t``, ``forms``, ``choice`` or ``texts``.
        protocol: how sound and text become vectors; default ``short-clip`` (pinned protocol, "Fixtures and protocol").
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        cache: folder of an embedding store; None keeps nothing.
        offline: never touch the network.
        allow_unpinned: take a commit of a hub that PINS.json does not pin.

    Returns:
        The run: ``Run.queries`` has a column of Q entries an outcome, ``Run.columns`` the same as arrays for metrics,
        ``Run.metrics`` the means.

    Raises:
        SpecError: no such model or direction, or a model that cannot answer in it.
        DataError: the dataset asks nothing in this direction.
        PinError, ModelError, AudioError: the model or a clip cannot be had, loaded or measured.

    >>> from pytest_audioretrieval import evaluate, load_dataset
    >>> run = evaluate("builtin/tiny-clap-fused", load_dataset("sounds-single"), device="cpu")
    >>> run.dataset.queries, round(run.metrics["R@1"], 4)
    (292, 0.8253)
    """
    from pytest_audioretrieval.embedding.assembly import Answerers
    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.runs.measure import measure

    resources = Resources(protocol or Protocol(), cache, device=device, offline=offline, allow_unpinned=allow_unpinned)
    (answerer,) = Answerers(resources).named([model])
    return measure(answerer, dataset, direction).run
