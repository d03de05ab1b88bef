"""A run without pytest: ``load_dataset``, ``load_retriever``, ``evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval import spec
from pytest_audioretrieval.data.queries import Direction, texts
from pytest_audioretrieval.data.registry import source
from pytest_audioretrieval.progress import Tracker
from pytest_audioretrieval.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.models.types import Retriever
    from pytest_audioretrieval.runs import Run


def load_dataset(name_or_folder: str | Path, *, cache: Path | None = None) -> Dataset:
    """A built-in dataset by name, or a folder with ``dataset.toml`` and ``captions.jsonl``.

    Args:
        cache: where the digests of built-in sounds are remembered; None renders them each time.

    Raises:
        SpecError, DataError, PinError: see ``data.registry.source`` and ``data.manifest.load_folder``.
    """
    return source(str(name_or_folder), Path()).load(cache, Tracker())


def load_retriever(
    model: str, *, device: str = "auto", offline: bool = False, allow_unpinned: bool = False
) -> Retriever:
    """The model a SPEC names, on ``device``; the SPEC is that of ``--model``.

    Raises:
        SpecError, PinError, ModelError: no such model, not the pinned one, or not loadable.
    """
    from pytest_audioretrieval.models.registry import load

    return load(spec.parse(model), device=device, offline=offline, allow_unpinned=allow_unpinned)


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
    from pytest_audioretrieval.embedding.engine import embed_clips, embed_texts
    from pytest_audioretrieval.embedding.store import Store, place
    from pytest_audioretrieval.evaluate import subject
    from pytest_audioretrieval.models.registry import describe
    from pytest_audioretrieval.runs import Model

    named, settings = spec.parse(model), protocol or Protocol()
    identity = describe(named, offline=offline, allow_unpinned=allow_unpinned)
    store, track = Store(place(cache, device)), Tracker()
    loaded: list[Retriever] = []

    def retriever() -> Retriever:
        if not loaded:
            loaded.append(load_retriever(model, device=device, offline=offline, allow_unpinned=allow_unpinned))
        return loaded[0]

    asked = [text.text for text in texts(dataset)]
    clip_vectors = embed_clips(dataset.clips, retriever, identity, settings, store, track)
    text_vectors = embed_texts(asked, retriever, identity, settings, store, track)
    who = Model(identity.id, identity.revision, identity.weights_sha256)
    return subject(who, dataset, direction, settings, clip_vectors, text_vectors, device=device).run
