"""Decoding and resampling a recording, against soundfile and soxr called in a bare loop.

    python -m bench.bench_decode

Clips of 10 s, 44.1 kHz, stereo, as datasets of recordings have them, resampled to 48 kHz. The second figure is how much
sooner two threads are done than one, on the clock: on a machine that does other work as well it means little.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import soundfile
import soxr

from bench.table import Row, show
from pytest_audioretrieval.audio.window import prepare
from pytest_audioretrieval.data.sound_files import clip_of
from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.prefetch import WORKERS, prefetch
from pytest_audioretrieval.pinning.protocol import Protocol

CLIPS, SECONDS, RATE, ROUNDS = 12, 10, 44_100, 9
FORMATS = {"WAV": "PCM_16", "FLAC": "PCM_16", "OGG": "VORBIS"}
PROTOCOL = Protocol()


def record(folder: Path, kind: str) -> list[Clip]:
    """Coloured noise, which packs about as well as recordings do."""
    rng = np.random.default_rng(0)
    paths = []
    for number in range(CLIPS):
        steps = rng.standard_normal((SECONDS * RATE, 2)).cumsum(axis=0)
        samples = np.diff(steps - steps.mean(axis=0), axis=0) * 0.05 + 0.2 * np.sin(steps[1:] / 50)
        paths.append(folder / f"{number}.{kind.lower()}")
        # In parts: libsndfile's Vorbis encoder overflows its stack on long blocks.
        with soundfile.SoundFile(paths[-1], "w", RATE, 2, subtype=FORMATS[kind], format=kind) as file:
            for start in range(0, len(samples), RATE):
                file.write(samples[start : start + RATE].clip(-1, 1))
    return [clip_of(path, path.name) for path in paths]


def ours(clip: Clip) -> Any:
    return prepare(clip.read(), PROTOCOL)[0]


def bare(clip: Clip) -> Any:
    samples, rate = soundfile.read(clip.path, dtype="float32", always_2d=True)
    return soxr.resample(samples.mean(axis=1), rate, PROTOCOL.sample_rate, quality="HQ")[: PROTOCOL.window_samples]


def taken(clock: Callable[[], float], work: Callable[[Clip], Any], clips: Sequence[Clip]) -> float:
    started = clock()
    for clip in clips:
        work(clip)
    return clock() - started


def rows() -> list[Row]:
    found = []
    for kind in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            clips = record(Path(folder), kind)
            np.testing.assert_allclose(ours(clips[0]), bare(clips[0]), atol=1e-5)
            takes = [(taken(process_time, ours, clips), taken(process_time, bare, clips)) for _ in range(ROUNDS)]
            slow, base = (min(column) / CLIPS for column in zip(*takes, strict=True))
            note = f"{slow * 1e3:.1f} ms a clip of {SECONDS} s, {base * 1e3:.1f} ms bare"
            found.append(Row(f"decode + resample, {kind}", "soundfile + soxr", slow / base, at_most=1.15, note=note))
            found.append(threads(kind, clips))
    return found


def threads(kind: str, clips: Sequence[Clip]) -> Row:
    """Factor by which ``prefetch`` is faster, and number of cores that it keeps busy."""
    takes = []
    for _ in range(ROUNDS):
        alone = taken(perf_counter, ours, clips)
        wall, cpu = perf_counter(), process_time()
        assert len(list(prefetch(ours, clips))) == len(clips)
        wall, cpu = perf_counter() - wall, process_time() - cpu
        takes.append((alone, wall, cpu / wall))
    alone, together, cores = (
        best(column) for best, column in zip((min, min, max), zip(*takes, strict=True), strict=True)
    )
    return Row(f"  {kind} by {WORKERS} threads", "one thread", alone / together, note=f"{cores:.2f} cores busy at best")


if __name__ == "__main__":
    sys.exit(show(rows()))
