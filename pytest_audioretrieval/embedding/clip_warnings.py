"""Warnings about clips that are measured all the same: silence, and samples above full scale."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.decode import Facts

#: Most clips that a warning names.
NAMED = 3


class ClipWarnings:
    """Silent and loud clips, noted while they are decoded and reported in one warning each.

    All silent clips get the same vector and so tie (fault 21), also clips whose channels cancel out. Samples above 1.0,
    as lossy formats decode to, are clipped by some pipelines and not by others (fault 32).
    """

    def __init__(self) -> None:
        # Dictionaries, because a clip that is decoded twice is named once, in order.
        self._silent: dict[str, None] = {}
        self._loud: dict[str, None] = {}

    def note(self, clip: str, facts: Facts, windows: Sequence[npt.NDArray[np.float32]]) -> None:
        """Note a decoded clip by its facts and its windows."""
        if facts.silent or not any(window.any() for window in windows):
            self._silent[clip] = None
        if facts.peak > 1:
            self._loud[clip] = None

    def warn(self) -> None:
        """Warn of silent clips and of clips above full scale."""
        if self._silent:
            warnings.warn(f"{_list([*self._silent])} silent: silent clips have one vector and tie", stacklevel=3)
        if self._loud:
            warnings.warn(
                f"{_list([*self._loud])} above full scale: pipelines that clip measure other samples", stacklevel=3
            )


def _list(clips: list[str]) -> str:
    more = ", ..." if len(clips) > NAMED else ""
    noun, verb = ("clips", "are") if len(clips) > 1 else ("clip", "is")
    return f"{len(clips)} {noun} ({', '.join(clips[:NAMED])}{more}) {verb}"
