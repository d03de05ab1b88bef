"""The one place where whoever answers for a spec is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.embedding.fusion import Fusion
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.pinning.spec import ModelSpec, parse

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.embedding.resources import Resources


class Answerers:
    """Models by id, one object each: a part of a fusion may be judged by itself too."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self._made: dict[str, Answerer] = {}

    def of(self, spec: ModelSpec) -> Answerer:
        """Return whoever answers for ``spec``; nothing is hashed or loaded yet."""
        if spec.id not in self._made:
            parts = [self.of(part) for part in spec.parts]
            self._made[spec.id] = Fusion(spec, parts) if parts else SingleModel(spec, self.resources)
        return self._made[spec.id]

    def named(self, texts: Sequence[str]) -> list[Answerer]:
        """Return one for each spec as it is typed; specs of the same model share theirs."""
        return [self.of(parse(text)) for text in texts]
