"""Make the shipped recordings from a folder of CC0 originals.

    python tools/build_sounds.py SOUNDS

``SOUNDS`` holds ``MANIFEST.csv`` (path, sha256, licence, source, ...) and the files it names. Each original is
checked against its sha256, averaged to mono, resampled to 48 kHz (soxr HQ), cut to 3 s with a fade, scaled to one peak
and written as 16-bit FLAC; ``ORIGINS.csv`` beside them says where each came from.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from pathlib import Path

import numpy as np
import soundfile
import soxr

from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS

OUT = Path(__file__).parents[1] / "pytest_audioretrieval/data/sounds/recordings"
RATE = 48_000
LONGEST = 3 * RATE
FADE = RATE // 20
#: Three at once, each at 150/256, stay below full scale: 3 * 18000 * 150 / 256 = 31641.
PEAK = 18_000
SILENCE = 0.002


def main(sounds: Path) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (sounds / "MANIFEST.csv").open(newline="", encoding="utf-8") as stream:
        manifest = {row["path"]: row for row in csv.DictReader(stream)}
    rows = [_build(sounds, manifest[origin], name) for name, (origin, _) in RECORDINGS.items()]
    with (OUT / "ORIGINS.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    total = sum(path.stat().st_size for path in OUT.glob("*.flac"))
    print(f"{len(rows)} recordings, {total:,} bytes")


def _build(sounds: Path, origin: dict[str, str], name: str) -> dict[str, str]:
    source = sounds / origin["path"]
    content = source.read_bytes()
    if hashlib.sha256(content).hexdigest() != origin["sha256"]:
        raise SystemExit(f"{source}: sha256 differs from MANIFEST.csv")
    samples, rate = soundfile.read(source, dtype="float64", always_2d=True)
    mono = soxr.resample(samples.mean(axis=1), rate, RATE, quality="HQ")
    out = OUT / f"{name}.flac"
    soundfile.write(out, _shape(mono), RATE, format="FLAC", subtype="PCM_16")
    return {
        "file": out.name,
        "origin": origin["path"],
        "source": origin["source"],
        "licence": "CC0-1.0",
        "origin_sha256": origin["sha256"],
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
    }


def _shape(mono: np.ndarray) -> np.ndarray:
    """Cut leading silence and what is past 3 s, fade the cut, scale to the peak, round to int16."""
    heard = np.flatnonzero(np.abs(mono) > SILENCE * np.abs(mono).max())
    kept = mono[heard[0] : min(heard[-1] + 1, heard[0] + LONGEST)].copy()
    fade = min(FADE, kept.size // 4)
    kept[-fade:] *= np.linspace(1.0, 0.0, fade)
    return np.round(kept * (PEAK / np.abs(kept).max())).astype(np.int16)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
