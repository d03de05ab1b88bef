"""Decoded recordings, and the settings that cut them into windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Waveform:
    """Decoded audio as the file holds it: no resampling, no downmix, full scale is +-1.

    Attributes:
        samples: float32 array of shape ``(frames, channels)``.
        rate: frames per second.
    """

    samples: Samples
    rate: int


class Windowing(Protocol):
    """Settings that decide which part of a recording a model gets; ``pinning.protocol.Protocol`` has them."""

    @property
    def sample_rate(self) -> int:
        """Rate of the windows in Hz."""
        ...

    @property
    def window(self) -> Literal["first", "tiles", "crops", "processor"]:
        """Part of the clip that the model gets."""
        ...

    @property
    def window_samples(self) -> int:
        """Samples in one window at ``sample_rate``."""
        ...

    @property
    def quantize_int16(self) -> bool:
        """Choice of rounding samples through int16."""
        ...
