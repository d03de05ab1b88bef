"""Targets: the models, datasets and directions that a test is run for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.data.registry import Source, source
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.pinning import spec
from pytest_audioretrieval.pinning.spec import ModelSpec

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.settings import Settings
    from pytest_audioretrieval.runs.directions import Direction

MARKER_KEYS = ("models", "datasets", "directions", "baseline")
DEFAULT_DATASETS = ("sounds",)


@dataclass(frozen=True)
class Target:
    """Model, dataset and direction of one parametrized test.

    Attributes:
        direction: its name; ``asks`` is the direction itself.
        baseline: the model whose stored run it is judged against, where it is another one.
    """

    model: ModelSpec
    source: Source
    direction: str
    baseline: str | None = None

    @property
    def id(self) -> str:
        """Name of the target in test ids."""
        return f"{self.model.id}-{self.source.name}-{self.direction}"

    @property
    def group(self) -> str:
        """Group of xdist: tests of one group want the same vectors, so that one worker should run them."""
        return f"{self.model.id}-{self.source.name}"

    @property
    def asks(self) -> Direction:
        """The direction as an object; ``asks.items(dataset)`` is everything that is asked in it."""
        from pytest_audioretrieval.runs.directions import named

        return named(self.direction)


class Targets:
    """Models and datasets that a run names, each name standing for one thing."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._named: dict[tuple[str, str], object] = {}
        for text in settings["model"]:
            spec.parse(text)
        for name in settings["dataset"]:
            source(name, settings.base("dataset"))

    def of(self, marker: dict[str, Any]) -> list[Target]:
        """Return model x dataset x direction for one test, in a fixed order, each once.

        Raises:
            SpecError: the marker, or a name in it, is wrong.
        """
        from pytest_audioretrieval.runs.directions import USUAL

        _check_marker(marker)
        settings = self._settings
        models = [self._model(str(text)) for text in marker.get("models") or settings["model"]]
        # Datasets asked for restrict what a marker lists, or add to it: a packaged suite runs on a user's own clips.
        asked, base = settings["dataset"], settings.base("dataset")
        names = asked or marker.get("datasets") or DEFAULT_DATASETS
        sources = [self._source(str(name), base if asked else settings.rootpath) for name in names]
        directions = marker.get("directions") or USUAL
        baseline = marker.get("baseline") or settings["baseline"]
        return list(dict.fromkeys(Target(m, s, d, baseline) for m in models for s in sources for d in directions))

    def spelled(self, dataset: str) -> str:
        """Return a dataset of this run as a command takes it: its folder, where it is a user's own, or its name."""
        where, base = self._named.get(("dataset", dataset)), self._settings.invocation_dir
        if not isinstance(where, Path):
            return dataset
        return shlex.quote(str(where.relative_to(base) if where.is_relative_to(base) else where))

    def _model(self, text: str) -> ModelSpec:
        model = spec.parse(text)
        for one in (model, *model.parts):
            self._refuse_namesake("model", one.id, one.path or one.revision or "no revision")
        return model

    def _source(self, name: str, base: Path) -> Source:
        found = source(name, base)
        self._refuse_namesake("dataset", found.name, found.folder or found.commit or "built in")
        return found

    def _refuse_namesake(self, kind: str, name: str, where: object) -> None:
        """Raise ``SpecError`` where a name stands for two things: ids, stored runs and loaded things go by name."""
        other = self._named.setdefault((kind, name), where)
        if other != where:
            found = f"two {kind}s are called {name!r} ({other} and {where})"
            raise SpecError(found, remedy="rename one, or run them apart")


def _check_marker(marker: dict[str, Any]) -> None:
    """Raise ``SpecError`` for unknown keywords and directions, and for a lone string where a list is due."""
    from pytest_audioretrieval.runs.directions import named

    for key, value in marker.items():
        if key not in MARKER_KEYS:
            known = f"one of {', '.join(MARKER_KEYS)}"
            raise SpecError(f"marker retrieval: unknown keyword {key!r}", expected=known, remedy="correct it")
        what = f"marker retrieval: {key}={value!r}"
        if key == "baseline":
            if not isinstance(value, str | None):
                raise SpecError(what, expected="a string", remedy="name one model")
        elif isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise SpecError(what, expected="a list that is not empty", remedy=f"write {key}=[...]")
        elif not all(isinstance(one, str | Path) for one in value):
            raise SpecError(what, expected="strings in the list", remedy="name things by strings")
    for direction in marker.get("directions", ()):
        try:
            named(direction)
        except SpecError as error:
            raise error.about("marker retrieval") from None
