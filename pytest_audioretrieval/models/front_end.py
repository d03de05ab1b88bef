"""What a CLAP hears: the log-mels of ``transformers.ClapFeatureExtractor``, in batches, on the device, without a draw.

The Fourier transform is taken in float64 and all after it in float32: float32 before leaves an error of 1e-7 of a
frame's loudest bin in all others, which is decibels in a band 100 dB below a pure tone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pytest_audioretrieval.models.mel_bank import mel_bank

Samples = npt.NDArray[np.float32]

#: Power below which a band is silent: -100 dB.
FLOOR = 1e-10
#: Frames transformed at once: as many as stay in a core's cache, or as fill a GPU.
CPU_FRAMES, GPU_FRAMES = 128, 16_384
#: Rows of a matrix product that are the same bits for any number of threads.
FEWEST = 16
#: Log-mels that a fused model is given of a clip.
FUSED = 4


class LogMel:
    """Log-mel spectrograms by the settings of a ``ClapFeatureExtractor`` (its ``top_db`` it does not use itself).

    Truncation ``"fusion"`` means HTK filters and 4 channels, any other slaney filters and 1. A short window is tiled
    (padding ``"repeat"``), tiled whole and filled with zeros (``"repeatpad"``), or filled with zeros (any other).
    Of a window longer than ``longest`` the extractor draws crops; here they are fixed, each one that it can draw:

    - fused: the whole window shrunk to ``longest`` beside its first, middle and last crop,
    - else: the crop in its middle.

    Args:
        extractor: is read once.

    Attributes:
        longest: samples that the model reads.
    """

    def __init__(self, extractor: Any) -> None:
        self.longest: int = extractor.nb_max_samples
        self._padding: str = extractor.padding
        self._fused: bool = extractor.truncation == "fusion"
        self._hop: int = extractor.hop_length
        self._chunk = self.longest // self._hop + 1
        bank = mel_bank(
            mels=extractor.feature_size,
            window=extractor.fft_window_size,
            rate=extractor.sampling_rate,
            low=extractor.frequency_min,
            high=extractor.frequency_max,
            scale="htk" if self._fused else "slaney",
        )
        heard = int(np.flatnonzero(bank.any(axis=1))[-1]) + 1  # no band holds a bin above
        self._bank = torch.from_numpy(bank[:heard]).float()
        self._window = torch.hann_window(extractor.fft_window_size, dtype=torch.float64)

    def __call__(self, windows: Sequence[Samples], device: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-mels of ``windows``, which are float32 [n] at the extractor's rate and not empty.

        On a CPU a window's log-mels are the same bits whatever else is in the batch.

        Returns:
            On ``device``: dB, float32 [B, 1 or 4, frames, mels], and whether a window was cropped, bool [B, 1].
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
        """dB, float32 [frames, mels], of each window; only a fused model's longer ones have more than ``longest``."""
        at_once = CPU_FRAMES if device == "cpu" else GPU_FRAMES
        for longest, same in groupby(windows, lambda samples: max(len(samples), self.longest)):
            alike, length = list(same), longest if self._fused else self.longest
            size = max(1, at_once // self._chunk)
            for start in range(0, len(alike), size):
                yield from self._batch(alike[start : start + size], length, device, at_once)

    def _batch(self, windows: Sequence[Samples], length: int, device: str, at_once: int) -> torch.Tensor:
        """dB, float32 [B, frames, mels], of ``windows`` padded or cut to ``length``."""
        window, bank = self._window.to(device), self._bank.to(device)
        padded, filled = self._padded(windows, length)
        frames = torch.from_numpy(padded).to(device).unfold(1, len(window), self._hop)
        # Frames of padding alone are silent without a transform.
        sounding = min(_even((filled + len(window) // 2) // self._hop + 1, at_once), frames.shape[1])
        power = torch.full((*frames.shape[:2], bank.shape[1]), FLOOR, device=device)
        for start in range(0, sounding, at_once):
            part = slice(start, min(start + at_once, sounding))
            power[:, part] = _power(frames[:, part], window, bank)
        return power.clamp_(min=FLOOR).log10_().mul_(10.0)

    def _padded(self, windows: Sequence[Samples], length: int) -> tuple[Samples, int]:
        """``windows`` padded to ``length``, ends mirrored for centred frames: [B, length + frame]; samples not zero."""
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
        """[B, 1 or 4, chunk, mels]; where no window is longer, the 4 are one memory."""
        if all(len(mel) <= self._chunk for mel in mels):  # so up to a hop above ``longest`` (fault 40)
            return torch.stack(list(mels))[:, None].expand(-1, FUSED if self._fused else 1, -1, -1)
        return torch.stack([self._stack(mel) for mel in mels])

    def _stack(self, mel: torch.Tensor) -> torch.Tensor:
        """A fused model's [4, chunk, mels] of [frames, mels]."""
        if len(mel) <= self._chunk:
            return mel.expand(FUSED, -1, -1)
        size = [self._chunk, mel.shape[1]]
        shrunk = torch.nn.functional.interpolate(mel[None, None], size=size, mode="bilinear", align_corners=False)
        crops = [mel[start : start + self._chunk] for start in _starts(len(mel) - self._chunk + 1)]
        return torch.stack([shrunk[0, 0], *crops])


def _even(frames: int, at_once: int) -> int:
    """``frames``, or a few more, so that the last block is none that a matrix product sums by the number of threads.

    With two threads products of 5 to 11 rows differ in the last bit from those of one thread; of 16 they do not.
    """
    rest = frames % at_once
    return frames + FEWEST - rest if 3 < rest < FEWEST else frames


def _power(frames: torch.Tensor, window: torch.Tensor, bank: torch.Tensor) -> torch.Tensor:
    """Power in each band, float32 [..., mels], of ``frames`` [..., size]."""
    spectrum = torch.fft.rfft(frames.double().mul_(window))[..., : len(bank)]
    squares = torch.view_as_real(spectrum).float().square_()
    power: torch.Tensor = (squares[..., 0] + squares[..., 1]) @ bank
    return power


def _starts(count: int) -> tuple[int, int, int]:
    """First, middle and last of ``count`` > 1 starts, each in the third of them that the extractor draws it from.

    Of two starts the last third is empty, where the extractor takes the first.
    """
    _, middle, last = np.array_split(np.arange(count), 3)
    return 0, int(middle[len(middle) // 2]), int(last[-1]) if last.size else 0
