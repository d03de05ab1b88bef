"""What a model is to the rest of the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.protocol import Protocol as Settings


@dataclass(frozen=True)
class ModelIdentity:
    """Which weights a model is, known without loading them.

    Attributes:
        id: as in ``ModelSpec``.
        revision: commit, or None for a folder.
        weights_sha256: digest over names and bytes of all files that decide the vectors; empty where no folder holds
            them, and then no vector is kept for another run.
        folder: where they lie; None for a model that no folder holds.
    """

    id: str
    revision: str | None
    weights_sha256: str
    folder: Path | None = None


class Retriever(Protocol):
    """A model behind one interface: windows of sound and texts in, vectors out."""

    @property
    def device(self) -> str:
        """Where it runs, as torch writes it."""
        ...

    @property
    def text_limit(self) -> int:
        """Tokens of a text it can read, special tokens included."""
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
