"""One model's vectors of clips and texts: who it is, where it runs, loaded only if a vector is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.engine import Track, Vectors, embed_clips, embed_texts
from pytest_audioretrieval.models.registry import describe, load
from pytest_audioretrieval.pins import OWN

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.store import Store
    from pytest_audioretrieval.models.types import ModelIdentity, Retriever
    from pytest_audioretrieval.protocol import Protocol
    from pytest_audioretrieval.spec import ModelSpec


@dataclass(frozen=True)
class Means:
    """What a model is embedded with, the same for all models of a run.

    Attributes:
        device: as the user named it: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps``.
        track: wraps batches to show progress.
        pins: a project's own PINS.json, where there is one.
    """

    protocol: Protocol
    store: Store
    track: Track
    device: str = "auto"
    offline: bool = False
    allow_unpinned: bool = False
    pins: Path = OWN


Sides = tuple[npt.NDArray[Any], npt.NDArray[Any]]
#: Clips or texts in groups; each group is embedded by itself, so that its vectors do not depend on the others.
Side = Sequence[Sequence[Any]]


class Embedder:
    """A model by its spec; hashed on first use, loaded (torch imported) when a vector is missing from the store."""

    def __init__(self, spec: ModelSpec, means: Means) -> None:
        self.spec, self.means = spec, means
        self._made: dict[tuple[str, ...], Vectors] = {}

    @cached_property
    def identity(self) -> ModelIdentity:
        """Which weights these are, hashed and verified without loading them."""
        means = self.means
        return describe(self.spec, offline=means.offline, allow_unpinned=means.allow_unpinned, pins=means.pins)

    @cached_property
    def retriever(self) -> Retriever:
        """The model itself, on its device."""
        loaded = load(self.spec, self.identity, device=self.means.device)
        self.means.store.made_on(loaded.device)
        return loaded

    @property
    def device(self) -> str:
        """Where its vectors were made: here, or by the run that stored them."""
        if "retriever" in self.__dict__:
            return self.retriever.device
        return self.means.store.device or self.means.device

    def clips(self, clips: Sequence[Clip]) -> Vectors:
        """Unit vectors, float32 [len(clips), D]; see ``engine.embed_clips``."""
        return self._once(embed_clips, clips, ("clips", *(clip.digest for clip in clips)))

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, float32 [len(texts), D]; see ``engine.embed_texts``."""
        return self._once(embed_texts, texts, ("texts", *texts))

    def sides(self, queries: Side, candidates: Side) -> Sides:
        """Unit vectors of what is asked [Q, D] and of what is ranked [C, D]."""
        return self._side(queries), self._side(candidates)

    def _side(self, side: Side) -> Vectors:
        return np.concatenate([self.clips(part) if isinstance(part[0], Clip) else self.texts(part) for part in side])

    def _once(self, embed: Callable[..., Vectors], items: Sequence[Any], key: tuple[str, ...]) -> Vectors:
        if key not in self._made:
            means = self.means
            self._made[key] = embed(
                items, lambda: self.retriever, self.identity, means.protocol, means.store, means.track
            )
        return self._made[key]
