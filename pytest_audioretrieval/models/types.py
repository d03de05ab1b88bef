"""Interfaces of models, and the identity of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeGuard

from pytest_audioretrieval.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.pinning.protocol import Protocol as Settings


@dataclass(frozen=True)
class ModelIdentity:
    """Identity of a model's weights, known without loading them.

    Attributes:
        id: name of the model, as in ``ModelSpec``.
        revision: commit, or None for a folder.
        weights_sha256: digest over names and bytes of all files that decide the vectors; empty if no folder holds
            the files and no factory states the digest. Vectors of such a model are not stored.
        folder: folder of these files, or None.
    """

    id: str
    revision: str | None
    weights_sha256: str
    folder: Path | None = None


class Retriever(Protocol):
    """Model that turns windows of sound and texts into vectors.

    A model that follows the protocol's ``dtype`` lists the types that it can compute in as an attribute ``dtypes``; any
    other is used under ``"float32"`` only (see ``refuse_dtype``).
    """

    @property
    def device(self) -> str:
        """Device it runs on, as torch writes it."""
        ...

    @property
    def text_limit(self) -> int:
        """Most tokens of a text that it can read, special tokens included; 0 if unknown."""
        ...

    def embed_audio(self, windows: Sequence[npt.NDArray[np.float32]], protocol: Settings) -> npt.NDArray[np.float32]:
        """Embed one batch of mono windows at the protocol's rate, float32 [n] each: float32 [len(windows), D]."""
        ...

    def embed_text(self, texts: Sequence[str], protocol: Settings) -> npt.NDArray[np.float32]:
        """Embed one batch of texts: float32 [len(texts), D]."""
        ...

    def count_cut(self, texts: Sequence[str], protocol: Settings) -> int:
        """Count the ``texts`` of which it reads only a part."""
        ...


class PairScorer(Protocol):
    """Model that makes no vectors and scores one pair at a time, such as an audio LLM (MASB, Exp. 1 and 2).

    It raises ``ModelError`` for a text that it cannot read whole: nothing is cut unseen.
    """

    @property
    def device(self) -> str:
        """Device it runs on, as torch writes it."""
        ...

    def score(
        self, windows: Sequence[npt.NDArray[np.float32]], texts: Sequence[str], protocol: Settings
    ) -> npt.NDArray[np.float32]:
        """Score how well text i describes window i, of one batch: float32 [N]; greater is better.

        An audio LLM is asked "Does this description match the audio? Answer Yes or No."; its score is P(yes).

        Args:
            windows: mono windows at the protocol's rate, float32 [n] each.
        """
        ...

    def prefer(self, first: Sequence[str], second: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return P(the first of two texts is chosen) without the audio, of one batch: float32 [N] from 0 to 1.

        Both texts are shown, in this order; of an LLM it is the probability of the first of two option labels.
        """
        ...


Model = Retriever | PairScorer
#: Members by which each kind is told.
RETRIEVER = ("embed_audio", "embed_text", "device", "text_limit", "count_cut")
PAIR_SCORER = ("score", "prefer", "device")


def refuse_dtype(model: Model, dtype: str) -> None:
    """Raise ``ModelError`` if ``model`` cannot compute in the protocol's ``dtype``."""
    known = getattr(model, "dtypes", ("float32",))
    if dtype not in known:
        raise ModelError(
            f"the protocol's dtype is {dtype}, {type(model).__name__} computes in {', '.join(known)} only",
            remedy="use a protocol with that",
        )


def is_retriever(model: object) -> TypeGuard[Retriever]:
    """Return whether ``model`` makes vectors; a model that also scores pairs counts as a retriever."""
    return all(hasattr(model, name) for name in RETRIEVER)


def is_pair_scorer(model: object) -> TypeGuard[PairScorer]:
    """Return whether ``model`` scores pairs and makes no vectors."""
    return not is_retriever(model) and all(hasattr(model, name) for name in PAIR_SCORER)
