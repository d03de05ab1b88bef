"""Stored runs that the tests of one pytest run are judged against."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.errors import BaselineError, SpecError
from pytest_audioretrieval.pinning import spec
from pytest_audioretrieval.pinning.spec import ModelSpec

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.next_command import NextCommand
    from pytest_audioretrieval.plugin.places import Places
    from pytest_audioretrieval.plugin.targets import Target
    from pytest_audioretrieval.runs.run import Run

#: Names an error lists of models that have a baseline, the nearest first.
SHOWN = 3


class StoredRuns:
    """Baselines by target, read when they are asked for."""

    def __init__(self, places: Places, command: NextCommand) -> None:
        self._places, self._command = places, command

    def baseline(self, target: Target, override: str | None = None) -> tuple[Run, str]:
        """Return the stored run to judge against, and where it lies.

        Args:
            override: a model to judge against, in place of the target's own.

        Raises:
            BaselineError: there is none, or it is damaged.
        """
        model = self.model(target, override)
        found = self.find(target, model)
        if found is None:
            raise self.missing(target, model)
        return found

    def find(self, target: Target, model: ModelSpec) -> tuple[Run, str] | None:
        """Return the stored run of ``model`` on a target's dataset and direction and where it lies, or None."""
        from pytest_audioretrieval.runs import baselines

        path = self._places.shelf.find(target.source.name, target.direction, model.slug)
        return (baselines.read(path), self._places.shown(path)) if path else None

    def model(self, target: Target, override: str | None = None) -> ModelSpec:
        """Return the model whose stored run a target is judged against."""
        text = override or target.baseline
        return self.named(text) if text else target.model

    def named(self, text: str) -> ModelSpec:
        """Return the model that ``text`` names, or named when its run was stored: its weights may be gone."""
        try:
            return spec.parse(text)
        except SpecError:
            gone = ModelSpec(text=text, kind="folder", id=Path(text).name)
            if gone.id and any(self._places.shelf.own.glob(f"*/*/{gone.slug}.json")):
                return gone
            raise

    def missing(self, target: Target, wanted: ModelSpec) -> BaselineError:
        """Return the error of a baseline that nobody recorded."""
        known = self._places.shelf.known(target.source.name, target.direction)
        near = get_close_matches(wanted.id, known, n=SHOWN, cutoff=0)
        more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
        there = f"; there are {', '.join(near)}{more}" if near else ""
        where = f"{target.source.name} {target.direction} in {self._places.shown(self._places.shelf.own)}"
        command = self._command(wanted.text, "--retrieval-record", "new")
        return BaselineError(f"no baseline of {wanted.id} on {where}{there}", remedy=f"record one with: {command}")
