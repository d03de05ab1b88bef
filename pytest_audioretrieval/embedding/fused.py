"""Several retrievers answering as one (``fusion:RULE(A,B,...)``; CORA, Appendix L)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from pytest_audioretrieval.embedding.embedder import Embedder, Means, Side, Sides
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.metrics.fusion import fuse
from pytest_audioretrieval.models.types import ModelIdentity

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.pairs import Pairs, TextPairs
    from pytest_audioretrieval.pinning.spec import ModelSpec


class Fused:
    """What an ``Embedder`` is to one model, to a fusion of several."""

    def __init__(self, spec: ModelSpec, means: Means, parts: Sequence[Embedder | Fused]) -> None:
        self.spec, self.means, self.parts = spec, means, parts

    @cached_property
    def identity(self) -> ModelIdentity:
        """All parts' weights together; not known where one part's are not."""
        digests = [part.identity.weights_sha256 for part in self.parts]
        whole = hashlib.sha256("\n".join([str(self.spec.rule), *digests]).encode()).hexdigest()
        return ModelIdentity(self.spec.id, None, whole if all(digests) else "")

    @property
    def retriever(self) -> NoReturn:
        """There is none."""
        raise self._embeds_nothing()

    def texts(self, texts: Sequence[str]) -> NoReturn:
        """There are no vectors that hold by themselves."""
        raise self._embeds_nothing()

    scores_pairs = False

    def pair_scores(self, pairs: Pairs) -> NoReturn:
        """A z-score needs the other candidates of a ranking; a pair has none."""
        raise SpecError(f"{self.spec.id} fuses the scores of rankings and scores no pair: ask for one of its parts")

    def text_preference(self, pairs: TextPairs) -> NoReturn:
        """There is none."""
        raise SpecError(f"{self.spec.id} is a fusion of scores and prefers no text: ask a pair scorer")

    def _embeds_nothing(self) -> SpecError:
        return SpecError(f"{self.spec.id} is a fusion of scores and embeds nothing itself: ask for one of its parts")

    @property
    def device(self) -> str:
        """Where the parts' vectors were made."""
        return ", ".join(sorted({part.device for part in self.parts}))

    def sides(self, queries: Side, candidates: Side) -> Sides:
        """Fused unit vectors of what is asked [Q, D] and of what is ranked [C, D]; they hold for each other alone."""
        return fuse([part.sides(queries, candidates) for part in self.parts], str(self.spec.rule))


def embedder(spec: ModelSpec, means: Means, made: dict[str, Embedder | Fused]) -> Embedder | Fused:
    """Whatever answers for ``spec``, from ``made`` (by id) where it is there: a part may be judged by itself too."""
    if spec.id not in made:
        parts = [embedder(part, means, made) for part in spec.parts]
        made[spec.id] = Fused(spec, means, parts) if parts else Embedder(spec, means)
    return made[spec.id]
