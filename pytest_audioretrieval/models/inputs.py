"""Checks of the input of every audio-text model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.audio.decode import MAX_AMPLITUDE
from pytest_audioretrieval.errors import AudioError, ModelError
from pytest_audioretrieval.pinning.protocol import Protocol


def check_windows(
    windows: Sequence[npt.NDArray[np.float32]], protocol: Protocol, *, sample_rate: int, longest: int
) -> None:
    """Refuse windows that a model of ``sample_rate`` Hz and ``longest`` samples would misread.

    Raises:
        ModelError: the protocol's rate is another one.
        AudioError: a window is no finite float32 array [n] in +-1, or longer than the model's.
    """
    if protocol.sample_rate != sample_rate:
        raise ModelError(
            f"the protocol feeds {protocol.sample_rate} Hz, this model hears {sample_rate} Hz",
            remedy="set the protocol's sample_rate",
        )
    for position, window in enumerate(windows):
        _check_values(f"window {position}", window)
        if protocol.window in ("first", "tiles") and window.size > longest:
            raise AudioError(
                f"window {position} has {window.size} samples, the model reads {longest}",
                remedy="shorten the protocol's window",
            )


def _check_values(name: str, window: object) -> None:
    if not isinstance(window, np.ndarray) or window.dtype != np.float32 or window.ndim != 1 or not window.size:
        raise AudioError(
            f"{name} is {_shape(window)}", expected="a float32 array [n] that is not empty", remedy="convert it"
        )
    if not np.isfinite(window).all():
        raise AudioError(f"{name} holds samples that are not finite", remedy="decode the clip again")
    peak = float(np.abs(window).max())
    if peak > MAX_AMPLITUDE:
        raise AudioError(
            f"{name} has an amplitude of {peak:g}", expected="floats in +-1", remedy="divide integers by 32768"
        )


def token_limit(protocol: Protocol, text_limit: int, special: int) -> int:
    """Return how many tokens of a text are read, ``special`` ones included; too few for a text is a ``ModelError``."""
    limit = min(protocol.max_text_tokens, text_limit)
    if limit <= special:
        raise ModelError(
            f"texts are cut to {limit} tokens, of which {special} are special",
            remedy="raise the protocol's max_text_tokens",
        )
    return limit


def _shape(window: object) -> str:
    shape, dtype = getattr(window, "shape", None), getattr(window, "dtype", None)
    return f"{type(window).__name__} {dtype} {tuple(shape) if shape is not None else ''}".strip()
