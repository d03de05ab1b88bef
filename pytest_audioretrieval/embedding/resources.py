"""Everything that models are asked and datasets are loaded with, assembled once for a run, a command or a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.pinning.protocol import Protocol

if TYPE_CHECKING:
    from pytest_audioretrieval.data.registry import Source
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.batches import Track
    from pytest_audioretrieval.embedding.store import Store


@dataclass(frozen=True)
class Resources:
    """Settings that all models and datasets of a run share.

    Attributes:
        protocol: how sound and text become vectors.
        cache: folder of the embedding store and of the digests of rendered sounds; None keeps nothing.
        track: wraps work to show progress.
        device: as the user named it: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps``.
        offline: never touch the network.
        allow_unpinned: take a model or dataset that PINS.json does not pin.
        pins: a project's own PINS.json, where there is one.
    """

    protocol: Protocol = field(default_factory=Protocol)
    cache: Path | None = None
    track: Track = field(default_factory=Tracker)
    device: str = "auto"
    offline: bool = False
    allow_unpinned: bool = False
    pins: Path = OWN

    @cached_property
    def store(self) -> Store:
        """The embedding store of this device."""
        from pytest_audioretrieval.embedding.store import Store, place

        return Store(place(self.cache, self.device))

    @cached_property
    def loading(self) -> Loading:
        """Settings that datasets are loaded with."""
        return Loading(self.cache, self.track, self.offline, self.allow_unpinned, self.pins)

    def load(self, source: Source) -> Dataset:
        """Return the dataset that a name or folder stands for."""
        from pytest_audioretrieval.models.imports import short_waits

        with short_waits():  # a task of mteb imports torch
            return source.load(self.loading)
