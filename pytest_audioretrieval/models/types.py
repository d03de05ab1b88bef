"""What a model is to the rest of the package."""

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
    """Which weights a model is, known without loading them.

    Attributes:
        id: as in ``ModelSpec``.
        revision: commit, or None for a folder.
        weights_sha256: digest over names and bytes of all files that decide the vectors; empty where no folder holds
            them and no factory states it, and then nothing is kept for another run.
        folder: where they lie; None for a model that no folder holds.
    """

    id: str
    revision: str | None
    weights_sha256: str
    folder: Path | None = None


class Retriever(Protocol):
    """A model behind one interface: windows of sound and texts in, vectors out.

    One that computes in what the protocol's ``dtype`` says has an attribute ``dtypes``, those that it can; any other is
    asked under ``"float32"`` only (see ``refuse_dtype``).
    """

    @property
    def device(self) -> str:
        """Where it runs, as torch writes it."""
        ...

    @property
    def text_limit(self) -> int:
        """Tokens of a text it can read, special tokens included; 0 where nobody states it."""
        ...

    def embed_audio(self, windows: Sequence[npt.NDArray[np.float32]], protocol: Settings) -> npt.NDArray[np.float32]:
        """One batch: mono windows at the protocol's rate, float32 [n] each, to vectors, float32 [len(windows), D]."""
        ...

    def embed_text(self, texts: Sequence[str], protocol: Settings) -> npt.NDArray[np.float32]:
        """One batch: texts to vectors, float32 [len(texts), D]."""
        ...

    def count_cut(self, texts: Sequence[str], protocol: Settings) -> int:
        """How many of ``texts`` are longer than what is read of them."""
        ...


class PairScorer(Protocol):
    """A model that has no vectors and answers for one pair at a time, such as an audio LLM (MASB, Exp. 1 and 2).

    A text that it cannot read whole is an error it raises (``ModelError``): nothing is cut unseen.
    """

    @property
    def device(self) -> str:
        """Where it runs, as torch writes it."""
        ...

    def score(
        self, windows: Sequence[npt.NDArray[np.float32]], texts: Sequence[str], protocol: Settings
    ) -> npt.NDArray[np.float32]:
        """One batch: how well text i describes window i, float32 [N]; greater is better.

        An audio LLM is asked "Does this description match the audio? Answer Yes or No." and returns P(yes).

        Args:
            windows: mono, at the protocol's rate, float32 [n] each.
        """
        ...

    def prefer(self, first: Sequence[str], second: Sequence[str]) -> npt.NDArray[np.float32]:
        """One batch: P(the first of two texts is chosen) without the audio, float32 [N] from 0 to 1.

        Both texts are shown, in this order; an LLM reads it from the probabilities of the two option labels.
        """
        ...


Model = Retriever | PairScorer
RETRIEVER = ("embed_audio", "embed_text", "device", "text_limit", "count_cut")
PAIR_SCORER = ("score", "prefer", "device")


def refuse_dtype(model: Model, dtype: str) -> None:
    """Raise ``ModelError`` where ``model`` would compute in something other than the protocol's ``dtype``."""
    known = getattr(model, "dtypes", ("float32",))
    if dtype not in known:
        raise ModelError(
            f"the protocol's dtype is {dtype}, {type(model).__name__} computes in {', '.join(known)} only: "
            "use a protocol with that"
        )


def is_retriever(model: object) -> TypeGuard[Retriever]:
    """Whether ``model`` is asked for vectors; what is a pair scorer as well is a retriever."""
    return all(hasattr(model, name) for name in RETRIEVER)


def is_pair_scorer(model: object) -> TypeGuard[PairScorer]:
    """Whether ``model`` is asked pair by pair."""
    return not is_retriever(model) and all(hasattr(model, name) for name in PAIR_SCORER)
