"""What the log-mels of a clip cost: transformers' extractor against ours, in processor time of one core.

Each figure is a ratio of the two taken in turns in one run; of repeated takes the smallest counts, because noise only
ever adds. The allocator is warmed first, as the weights of a model warm it: before that the extractor pays for fresh
pages at every clip and is up to twice as slow.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import ClapFeatureExtractor

from bench.table import Row, show
from pytest_audioretrieval import load_dataset
from pytest_audioretrieval.audio.window import prepare
from pytest_audioretrieval.models.front_end import LogMel
from pytest_audioretrieval.models.inference import float32_inference
from pytest_audioretrieval.pinning.protocol import NAMED

Windows = list[npt.NDArray[np.float32]]
TARGET = 4.0
CLIPS, ROUNDS = 16, 15
BALLAST = 30_000_000


def windows() -> dict[str, Windows]:
    """Built-in clips as they are (1 to 10 s), and the same filled to the last sample."""
    protocol = NAMED["short-clip"]
    clips = [prepare(clip.read(), protocol)[0] for clip in load_dataset("sounds").clips[:CLIPS]]
    return {"built-in": clips, "full 10 s": [np.resize(clip, protocol.window_samples) for clip in clips]}


def seconds(work: Callable[[Windows], Any], batches: Sequence[Windows]) -> float:
    """Processor time for each clip."""
    started = time.process_time()
    for batch in batches:
        work(batch)
    return (time.process_time() - started) / CLIPS


def compare(truncation: str, clips: Windows, size: int) -> tuple[float, float]:
    extractor = ClapFeatureExtractor(truncation=truncation)
    front = LogMel(extractor)

    def theirs(batch: Windows) -> Any:
        return extractor(batch, sampling_rate=extractor.sampling_rate, return_tensors="pt")

    def ours(batch: Windows) -> Any:
        with float32_inference():
            return front(batch, "cpu")

    batches = [clips[start : start + size] for start in range(0, len(clips), size)]
    takes = [(seconds(theirs, batches), seconds(ours, batches)) for _ in range(ROUNDS)]
    slow, fast = (min(column) for column in zip(*takes, strict=True))
    return slow, fast


def rows() -> list[Row]:
    torch.set_num_threads(1)
    warm = [torch.zeros(BALLAST // 4) for _ in range(4)]
    del warm
    found = []
    for kind, clips in windows().items():
        for truncation, filters in (("fusion", "htk"), ("rand_trunc", "slaney")):
            for size in (1, 8):
                slow, fast = compare(truncation, clips, size)
                work, note = f"log-mels, {filters}, {kind}, batch {size}", f"{fast * 1e3:.2f} ms, {slow * 1e3:.2f} ms"
                found.append(Row(work, "transformers' extractor", slow / fast, at_least=TARGET, note=note))
    return found


if __name__ == "__main__":
    sys.exit(show(rows()))
