"""The protocol of whoever answers a run: one model, or several as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.models.types import ModelIdentity
    from pytest_audioretrieval.pinning.spec import ModelSpec

    Sides = tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.floating[Any]]]

#: Clips or texts in groups; each group is embedded by itself, so that its vectors do not depend on the others.
Side = Sequence[Sequence[Any]]


class Answerer(Protocol):
    """A model, or a fusion of several, that can be asked for a ranking.

    Attributes:
        spec: as the user named it.
        resources: what it is embedded with.
        identity: weights, known without loading them.
        device: where its answers were made.
    """

    @property
    def spec(self) -> ModelSpec: ...
    @property
    def resources(self) -> Resources: ...
    @property
    def identity(self) -> ModelIdentity: ...
    @property
    def device(self) -> str: ...

    def sides(self, queries: Side, candidates: Side) -> Sides:
        """Return unit vectors of the queries [Q, D] and of the candidates [C, D], comparable with each other alone.

        Raises:
            SpecError: a pair scorer, which has no vectors.
        """
        ...
