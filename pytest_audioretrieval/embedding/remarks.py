"""What is worth knowing of clips that are measured all the same: silence, and samples past full scale."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.decode import Facts

#: How many clips a remark names.
NAMED = 3


class Remarks:
    """Collected while clips are decoded, said once.

    All silent clips get one vector and so tie (fault 21), also those whose channels cancel out; samples above 1.0, as
    lossy formats decode to, are clipped by some pipelines and not by others (fault 32).
    """

    def __init__(self) -> None:
        # A clip that is decoded again is named once.
        self._silent: dict[str, None] = {}
        self._loud: dict[str, None] = {}

    def look(self, clip: str, facts: Facts, windows: Sequence[npt.NDArray[np.float32]]) -> None:
        """Note a decoded clip and the windows that are embedded of it."""
        if facts.silent or not any(window.any() for window in windows):
            self._silent[clip] = None
        if facts.peak > 1:
            self._loud[clip] = None

    def say(self) -> None:
        """Warn of what was noted."""
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
