"""What a decoded recording is."""

from __future__ import annotations

from dataclasses import dataclass

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
