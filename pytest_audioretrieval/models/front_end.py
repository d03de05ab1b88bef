"""CLAP's front-end: the log-mels of ``transformers.ClapFeatureExtractor``, in batches, on the device, without a draw.

The Fourier transform is taken in float64 and everything after it in float32. A transform in float32 has an error of
1e-7 of a frame's loudest bin in every other bin, which is decibels in a band 100 dB below a pure tone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Samples = npt.NDArray[np.float32]

#: Power below which a band is silent: -100 dB.
FLOOR = 1e-10
#: Frames of one transform: as many as stay in a core's cache, or as fill a GPU.
CPU_FRAMES, GPU_FRAMES = 128, 16_384
#: Fewest rows of a matrix product whose bits do not depend on the number of threads.
FEWEST = 16
#: Log-mels of one clip that a fused model reads.
FUSED = 4


class LogMel:
    """Log-mel spectrograms by the settings and filters of a ``ClapFeatureExtractor``.

    Truncation ``"fusion"`` means HTK filters and 4 channels, any other slaney filters and 1. A short window is tiled
    (padding ``"repeat"``), tiled whole and filled with zeros (``"repeatpad"``), or filled with zeros (any other).
    The extractor draws random crops of a window longer than ``longest``; here the crops are fixed, and each is one that
    the extractor can draw:

    - fused: the whole window shrunk to ``longest``, then its first, middle and last crop,
    - else: the crop in its middle.

    ``top_db`` has no effect, as the extractor does not use it either.

    Args:
        extractor: is read once.

    Attributes:
        longest: most samples that the model reads.
    """

    def __init__(self, extractor: Any) -> None:
        self.longest: int = extractor.nb_max_samples
        self._padding: str = extractor.padding
        self._fused: bool = extractor.truncation == "fusion"
        self._hop: int = extractor.hop_length
        self._chunk = self.longest // self._hop + 1
        filters = extractor.mel_filters if self._fused else extractor.mel_filters_slaney
        used = int(np.flatnonzero(filters.any(axis=1))[-1]) + 1  # no band weights a bin above
        self._filters = torch.from_numpy(filters[:used]).float()
        self._window = torch.hann_window(extractor.fft_window_size, dtype=torch.float64)

    def __call__(self, windows: Sequence[Samples], device: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log-mels of ``windows``, which are float32 [n] at the extractor's rate and not empty.

        On a CPU the bits of a window's log-mels do not depend on the rest of the batch.

        Returns:
            On ``device``: log-mels in dB, float32 [B, 1 or 4, frames, mels], and flags of cropped windows, bool [B, 1].
        """
        # Apple's GPUs have no float64.
        mels = list(self._log_mels(windows, "cpu" if device == "mps" else device))
        longer = [
            [len(window) > self.longest and (not self._fused or len(mel) > self._chunk)]
            for window, mel in zip(windows, mels, strict=True)
        ]
        features = self._channels(mels)
        return features.to(device), torch.tensor(longer, device=device)

    def _log_mels(self, windows: Sequence[Samples], device: str) -> Iterator[torch.Tensor]:
        """Yield each window's log-mel in dB, float32 [frames, mels]; only a fused model's may exceed ``longest``."""
        at_once = CPU_FRAMES if device == "cpu" else GPU_FRAMES
        for longest, same in groupby(windows, lambda samples: max(len(samples), self.longest)):
            alike, length = list(same), longest if self._fused else self.longest
            size = max(1, at_once // self._chunk)
            for start in range(0, len(alike), size):
                yield from self._batch(alike[start : start + size], length, device, at_once)

    def _batch(self, windows: Sequence[Samples], length: int, device: str, at_once: int) -> torch.Tensor:
        """Return log-mels in dB, float32 [B, frames, mels], of ``windows`` padded or cut to ``length``."""
        window, filters = self._window.to(device), self._filters.to(device)
        padded, filled = self._padded(windows, length)
        frames = torch.from_numpy(padded).to(device).unfold(1, len(window), self._hop)
        # Frames of padding alone are silent without a transform.
        sounding = min(_even((filled + len(window) // 2) // self._hop + 1, at_once), frames.shape[1])
        power = torch.full((*frames.shape[:2], filters.shape[1]), FLOOR, device=device)
        for start in range(0, sounding, at_once):
            part = slice(start, min(start + at_once, sounding))
            power[:, part] = _power(frames[:, part], window, filters)
        return power.clamp_(min=FLOOR).log10_().mul_(10.0)

    def _padded(self, windows: Sequence[Samples], length: int) -> tuple[Samples, int]:
        """Pad ``windows`` to ``length`` and mirror their ends, for centred frames.

        Returns:
            Samples [B, length + frame], and the number of samples in front of the zeros that fill the longest window.
        """
        half, filled = len(self._window) // 2, 0
        padded = np.zeros((len(windows), length + 2 * half), dtype=np.float32)
        for row, window in zip(padded, windows, strict=True):
            body, start = row[half : half + length], max(len(window) - length, 0) // 2
            once = window[start : start + length]
            count = length // len(once) if self._padding in ("repeat", "repeatpad") else 1
            end = count * len(once)
            body[:end].reshape(count, -1)[:] = once
            if self._padding == "repeat":
                body[end:], end = once[: length - end], length
            row[:half], row[half + length :] = body[half:0:-1], body[-2 : -half - 2 : -1]
            filled = max(filled, end)
        return padded, filled

    def _channels(self, mels: Sequence[torch.Tensor]) -> torch.Tensor:
        """Stack log-mels to [B, 1 or 4, chunk, mels]; if no window is longer, the 4 channels share one memory."""
        if all(len(mel) <= self._chunk for mel in mels):  # so up to a hop above ``longest`` (fault 40)
            return torch.stack(list(mels))[:, None].expand(-1, FUSED if self._fused else 1, -1, -1)
        return torch.stack([self._stack(mel) for mel in mels])

    def _stack(self, mel: torch.Tensor) -> torch.Tensor:
        """Return the [4, chunk, mels] that a fused model reads, of [frames, mels]."""
        if len(mel) <= self._chunk:
            return mel.expand(FUSED, -1, -1)
        size = [self._chunk, mel.shape[1]]
        shrunk = torch.nn.functional.interpolate(mel[None, None], size=size, mode="bilinear", align_corners=False)
        crops = [mel[start : start + self._chunk] for start in _starts(len(mel) - self._chunk + 1)]
        return torch.stack([shrunk[0, 0], *crops])


def _even(frames: int, at_once: int) -> int:
    """Return ``frames``, or a few more, so that the bits of the last block do not depend on the number of threads.

    Matrix products of 5 to 11 rows differ in the last bit between one thread and two; products of 16 rows do not.
    """
    rest = frames % at_once
    return frames + FEWEST - rest if 3 < rest < FEWEST else frames


def _power(frames: torch.Tensor, window: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """Return the power in each band, float32 [..., mels], of ``frames`` [..., size]."""
    spectrum = torch.fft.rfft(frames.double().mul_(window))[..., : len(filters)]
    squares = torch.view_as_real(spectrum).float().square_()
    power: torch.Tensor = (squares[..., 0] + squares[..., 1]) @ filters
    return power


def _starts(count: int) -> tuple[int, int, int]:
    """Return the first, middle and last of ``count`` > 1 starts, one from each third that the extractor draws from.

    Two starts leave the last third empty; the extractor then takes the first start, and so does this.
    """
    _, middle, last = np.array_split(np.arange(count), 3)
    return 0, int(middle[len(middle) // 2]), int(last[-1]) if last.size else 0
