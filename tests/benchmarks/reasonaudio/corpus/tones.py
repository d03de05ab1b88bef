"""Sounds for tests: one tone each, with known properties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

Samples = npt.NDArray[np.float64]
#: Label -> seconds; two are too short for an overlap.
LENGTHS = {
    "bell": 0.3,
    "cat": 0.9,
    "dog": 1.5,
    "drum": 0.35,
    "horn": 2.0,
    "owl": 0.8,
    "piano": 3.0,
    "plastic-bag": 1.1,
    "rain": 2.5,
    "siren": 1.7,
}


def tone(seconds: float, *, pitch: float = 440.0, rate: int = 48_000, level: float = 0.5) -> Samples:
    samples: Samples = level * np.sin(2 * np.pi * pitch * np.arange(round(seconds * rate)) / rate)
    return samples


def write(path: Path, samples: npt.NDArray[np.floating], *, rate: int = 48_000, subtype: str | None = None) -> Path:
    soundfile.write(path, samples, rate, subtype=subtype)
    return path


def make_sounds(folder: Path) -> Path:
    """Write one WAV file for each sound of ``LENGTHS``."""
    folder.mkdir(parents=True)
    for number, (label, seconds) in enumerate(LENGTHS.items()):
        write(folder / f"{label}.wav", tone(seconds, pitch=200.0 + 100 * number))
    return folder
