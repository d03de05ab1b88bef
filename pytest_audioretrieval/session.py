"""The state of one pytest run: what was asked for, and what was loaded or measured so far, each at most once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval import data, protocol, settings, spec
from pytest_audioretrieval.data.queries import DIRECTIONS, Direction
from pytest_audioretrieval.data.registry import Source, source
from pytest_audioretrieval.errors import BaselineError, SpecError
from pytest_audioretrieval.progress import Tracker
from pytest_audioretrieval.spec import ModelSpec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pytest

    from pytest_audioretrieval.baselines import Shelf
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.store import Store
    from pytest_audioretrieval.gate import Finding, Subject
    from pytest_audioretrieval.models.types import ModelIdentity, Retriever
    from pytest_audioretrieval.runs import Run

MARKER_KEYS = ("models", "datasets", "directions", "baseline")
DEFAULT_DATASETS = ("sounds",)


@dataclass(frozen=True)
class Target:
    """What one parametrized test is about."""

    model: ModelSpec
    source: Source
    direction: Direction
    baseline: str | None = None

    @property
    def id(self) -> str:
        return f"{self.model.id}-{self.source.name}-{self.direction}"

    @property
    def group(self) -> str:
        """Tests of one group want the same vectors, so one xdist worker should run them."""
        return f"{self.model.id}-{self.source.name}"


class RetrievalSession:
    """See the module. Hangs on ``config``; heavy things are made on first use."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = settings.resolve(config)
        self.track = Tracker(config)
        self.findings: list[Finding] = []
        self.recorded: list[Path] = []
        self.recording: set[Path] = set()
        self._datasets: dict[str, Dataset] = {}
        self._identities: dict[str, ModelIdentity] = {}
        self._retrievers: dict[str, Retriever] = {}
        self._vectors: dict[tuple[str, str, str], Any] = {}
        self._subjects: dict[tuple[str, str, str], Subject] = {}

    @cached_property
    def protocol(self) -> protocol.Protocol:
        return protocol.named(self.settings["protocol"], protocol.parse_custom(self.settings.protocol_lines))

    @cached_property
    def shelf(self) -> Shelf:
        from pytest_audioretrieval.baselines import Shelf
        from pytest_audioretrieval.shipped import shipped

        return Shelf(own=self.settings.rootpath / self.settings["baselines"], shipped=shipped("baselines"))

    @cached_property
    def cache(self) -> Path | None:
        """Folder of the embedding store and the index of sounds, or None with ``--retrieval-no-cache``."""
        if self.settings["no-cache"]:
            return None
        if self.settings["cache"]:
            return self.settings.invocation_dir / Path(self.settings["cache"]).expanduser()
        pytest_cache = getattr(self.config, "cache", None)
        return pytest_cache.mkdir("audioretrieval") if pytest_cache else None

    @cached_property
    def store(self) -> Store:
        from pytest_audioretrieval.embedding.store import Store

        return Store(self.cache / "embeddings" if self.cache else None)

    def targets(self, marker: dict[str, Any]) -> list[Target]:
        """Model x dataset x direction for one test, in a fixed order."""
        _check_marker(marker)
        models = [self._model(text) for text in marker.get("models") or self.settings["model"]]
        names = self.settings["dataset"] or marker.get("datasets") or DEFAULT_DATASETS
        sources = [source(str(name), self.settings.invocation_dir) for name in names]
        directions = marker.get("directions") or DIRECTIONS
        baseline = marker.get("baseline") or self.settings["baseline"]
        return [Target(m, s, d, baseline) for m in models for s in sources for d in directions]

    def _model(self, text: str) -> ModelSpec:
        return spec.parse(text)

    def dataset(self, target: Target) -> Dataset:
        name = target.source.name
        if name not in self._datasets:
            self._datasets[name] = target.source.load(self.cache, self.track)
        return self._datasets[name]

    def identity(self, model: ModelSpec) -> ModelIdentity:
        """Which weights ``model`` is, hashed and verified without loading them."""
        if model.id not in self._identities:
            from pytest_audioretrieval.models.registry import describe

            self._identities[model.id] = describe(model, **self._trust())
        return self._identities[model.id]

    def retriever(self, model: ModelSpec) -> Retriever:
        """The model itself, on its device; imports torch."""
        if model.id not in self._retrievers:
            from pytest_audioretrieval.models.registry import load

            self._retrievers[model.id] = load(model, device=self.settings["device"], **self._trust())
        return self._retrievers[model.id]

    def _trust(self) -> dict[str, bool]:
        return {"offline": self.settings["offline"], "allow_unpinned": self.settings["allow-unpinned"]}

    def vectors(self, target: Target, side: str) -> npt.NDArray[np.float32]:
        """Unit vectors of the dataset's clips (``side="audio"``) or texts (``"text"``), [n, D]."""
        key = (target.model.id, target.source.name, side)
        if key not in self._vectors:
            self._vectors[key] = self._embed(target, side)
        return self._vectors[key]  # type: ignore[no-any-return]

    def _embed(self, target: Target, side: str) -> npt.NDArray[np.float32]:
        from pytest_audioretrieval.embedding.engine import embed_clips, embed_texts

        dataset, identity = self.dataset(target), self.identity(target.model)

        def retriever() -> Retriever:
            return self.retriever(target.model)

        if side == "audio":
            return embed_clips(dataset.clips, retriever, identity, self.protocol, self.store, self.track)
        asked = [text.text for text in data.queries.texts(dataset)]
        return embed_texts(asked, retriever, identity, self.protocol, self.store, self.track)

    def subject(self, target: Target) -> Subject:
        """The run of ``target``, measured on first use."""
        key = (target.model.id, target.source.name, target.direction)
        if key not in self._subjects:
            from pytest_audioretrieval.evaluate import subject
            from pytest_audioretrieval.runs import Model

            identity = self.identity(target.model)
            self._subjects[key] = subject(
                Model(id=target.model.id, revision=identity.revision, weights_sha256=identity.weights_sha256),
                self.dataset(target),
                target.direction,
                self.protocol,
                self.vectors(target, "audio"),
                self.vectors(target, "text"),
                device=self.settings["device"],
            )
        return self._subjects[key]

    def baseline(self, target: Target, override: str | None = None) -> tuple[Run, str] | None:
        """The stored run to judge against and where it lies, or None where there is none."""
        from pytest_audioretrieval import baselines

        path = self.shelf.find(target.source.name, target.direction, self.baseline_spec(target, override).slug)
        return (baselines.read(path), self.shown(path)) if path else None

    def baseline_spec(self, target: Target, override: str | None = None) -> ModelSpec:
        text = override or target.baseline
        return spec.parse(text) if text else target.model

    def shown(self, path: Path) -> str:
        """A path as a user reads it: relative to the rootdir where it lies inside."""
        root = self.settings.rootpath
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def missing(self, target: Target, override: str | None = None) -> BaselineError:
        """The error of a baseline that is not there: says how to record it, and what there is."""
        wanted = self.baseline_spec(target, override)
        known = self.shelf.known(target.source.name, target.direction)
        there = f"; there are {', '.join(known)}" if known else ""
        return BaselineError(
            f"no baseline of {wanted.id} on {target.source.name} {target.direction} in "
            f"{self.shown(self.shelf.own)}{there}: record one with: {self.command(wanted.text)} --retrieval-record new"
        )

    def command(self, model: str) -> str:
        """The command line that asks for the same data and protocol with ``model``."""
        words: Sequence[str] = [f"pytest --model {model}"]
        explicit = self.settings.explicit
        for option in settings.OPTIONS:
            if option.name in explicit and option.name in ("suite", "dataset", "protocol"):
                values = self.settings[option.name]
                words = [*words, *(f"{option.switch} {v}" for v in (values if option.repeatable else [values]))]
        return " ".join(words)


def _check_marker(marker: dict[str, Any]) -> None:
    """Unknown keywords, lone strings where a list is due, and unknown directions are errors."""
    for key, value in marker.items():
        if key not in MARKER_KEYS:
            raise SpecError(f"marker retrieval: unknown keyword {key!r}: expected one of {', '.join(MARKER_KEYS)}")
        if key != "baseline" and (isinstance(value, str) or not value):
            raise SpecError(f"marker retrieval: {key}={value!r}: expected a list that is not empty")
    for direction in marker.get("directions", ()):
        if direction not in DIRECTIONS:
            raise SpecError(f"marker retrieval: direction {direction!r}: expected one of {', '.join(DIRECTIONS)}")
