"""Decoded clips as tensors on a device, for tests of the sound itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch

from pytest_audioretrieval.audio.window import prepare
from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.pinning.protocol import Protocol


class ClipTensors(Mapping[str, torch.Tensor]):
    """Float32 tensors [n] of clips by id; decoded on each access, so that a large dataset never fills the memory."""

    def __init__(self, clips: Sequence[Clip], protocol: Protocol, device: str) -> None:
        self._clips = {clip.id: clip for clip in clips}
        self._protocol, self._device = protocol, device

    def __getitem__(self, clip: str) -> torch.Tensor:
        windows = prepare(self._clips[clip].read(), self._protocol, name=clip)
        return torch.from_numpy(np.concatenate(windows)).to(self._device)

    def __iter__(self) -> Iterator[str]:
        return iter(self._clips)

    def __len__(self) -> int:
        return len(self._clips)
