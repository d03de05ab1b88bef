"""Datasets, models and runs of one pytest run, each loaded or measured once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.embedding.assembly import Answerers
    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.pinning.spec import ModelSpec
    from pytest_audioretrieval.plugin.targets import Target
    from pytest_audioretrieval.runs.run import MeasuredRun


class Measurements:
    """Loads and measures on first use; an error is raised again at once when the same is asked for again."""

    def __init__(self, resources: Callable[[], Resources]) -> None:
        self._resources = resources
        self._datasets: dict[str, Dataset] = {}
        self._runs: dict[tuple[str, str, str], MeasuredRun] = {}
        self._errors: dict[tuple[str, str], Exception] = {}

    def dataset(self, target: Target) -> Dataset:
        """Return the clips and captions of a target."""
        name = target.source.name
        if name not in self._datasets:
            with self._tried_once("dataset", name):
                self._datasets[name] = self._resources().load(target.source)
        return self._datasets[name]

    def answerer(self, model: ModelSpec) -> Answerer:
        """Return whoever answers for ``model``; it is hashed and loaded when that is needed."""
        return self._answerers.of(model)

    def run(self, target: Target) -> MeasuredRun:
        """Return the run of a target."""
        key = (target.model.id, target.source.name, target.direction)
        if key not in self._runs:
            from pytest_audioretrieval.runs.measure import measure

            with self._tried_once("run", "-".join(key)):
                self._runs[key] = measure(self.answerer(target.model), self.dataset(target), target.direction)
        return self._runs[key]

    @cached_property
    def _answerers(self) -> Answerers:
        from pytest_audioretrieval.embedding.assembly import Answerers

        return Answerers(self._resources())

    @contextmanager
    def _tried_once(self, kind: str, name: str) -> Iterator[None]:
        """Raise an error again at once that was raised for the same before; see also ``SingleModel``."""
        if error := self._errors.get((kind, name)):
            raise error.with_traceback(None)
        try:
            yield
        except Exception as error:  # of a user's own factory, any
            self._errors[kind, name] = error
            raise
