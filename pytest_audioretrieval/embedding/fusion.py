"""Several retrievers that answer as one (``fusion:RULE(A,B,...)``; CORA, Appendix L)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.metrics.fusion import fuse
from pytest_audioretrieval.models.types import ModelIdentity

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.answerer import Answerer, Side, Sides
    from pytest_audioretrieval.embedding.single_model import SingleModel
    from pytest_audioretrieval.pinning.spec import ModelSpec


class Fusion:
    """An ``Answerer`` that fuses the scores of others; it ranks, and does nothing else."""

    def __init__(self, spec: ModelSpec, parts: Sequence[Answerer]) -> None:
        self.spec, self.parts = spec, parts
        self.resources = parts[0].resources

    @cached_property
    def identity(self) -> ModelIdentity:
        """Weights of all parts together; not known where one part's are not."""
        digests = [part.identity.weights_sha256 for part in self.parts]
        whole = hashlib.sha256("\n".join([str(self.spec.rule), *digests]).encode()).hexdigest()
        return ModelIdentity(self.spec.id, None, whole if all(digests) else "")

    @property
    def device(self) -> str:
        """Devices on which the parts' vectors were made."""
        return ", ".join(sorted({part.device for part in self.parts}))

    def sides(self, queries: Side, candidates: Side) -> Sides:
        """Return fused unit vectors; see ``Answerer``. A z-score needs all candidates of a ranking."""
        return fuse([part.sides(queries, candidates) for part in self.parts], str(self.spec.rule))


def single(answerer: Answerer) -> SingleModel:
    """Return ``answerer`` as the one model it is, to ask it for vectors, pairs or preferences.

    Raises:
        SpecError: it is a fusion, whose scores hold for whole rankings alone.
    """
    if not hasattr(answerer, "pair_scores"):
        raise SpecError(
            f"{answerer.spec.id} fuses the scores of rankings, and has no vectors and no scores of pairs",
            remedy="name one of its parts",
        )
    return cast("SingleModel", answerer)
