"""Atomic sounds: a folder of recordings, one identifiable event each (ReasonAudio, 3.1).

Files are taken only as they should be and never mended in silence: a sound of two channels, too short or too faint is
an error. What is done to every sound is the same: silence around it is cut away and pauses in it are shortened, so
that it is heard throughout the time an event states, and its level is set. From decoded (and, where the rate differs,
resampled) samples on, all arithmetic is in integers.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from math import isqrt, log10
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.audio.decode import decode
from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.audio.window import resample
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import is_label
from pytest_audioretrieval.errors import AudioError, DataError

#: Samples per second and per millisecond of every sound and clip.
RATE = 48_000
PER_MS = RATE // 1000
#: Files that are read, and files that may lie beside them; anything else is asked about.
ENDINGS = (".flac", ".mp3", ".ogg", ".wav")
NOTES = ("", ".csv", ".json", ".md", ".tsv", ".txt")
#: A clip holds up to 8 different sounds.
FEWEST = 8
#: Bytes. Eight such labels with their times make a file name of at most 255 bytes.
LONGEST_LABEL = 17
#: Seconds that are heard, and seconds of the file.
SHORTEST, LONGEST = 0.25, 30
LOWEST_RATE = 16_000
#: Below -60 dBFS, raising a sound to its level raises its noise.
FAINTEST = 1e-3
#: Silence is told by frames of 10 ms whose peak is more than 40 dB (a factor of 100) below that of the sound.
FRAME = 10 * PER_MS
SILENCE = 100
#: Frames that are kept of a pause.
PAUSE = 10
#: Root mean square of the frames that are heard, and the greatest sample: two sounds at once stay inside 16 bits.
LEVEL, PEAK = 2_000, 16_000

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AtomicSound:
    """One sound.

    Attributes:
        label: what clips' names and queries call it.
        samples: int16 [n], 48 kHz, whole frames of 10 ms, from the first to the last that is heard.
        sha256: of the file.
        path: the file.
    """

    label: str
    samples: npt.NDArray[np.int16]
    sha256: str
    path: Path

    @property
    def duration(self) -> int:
        """In milliseconds."""
        return len(self.samples) // PER_MS


def read_sounds(folder: Path) -> dict[str, AtomicSound]:
    """All sounds of a folder by label, in the order of labels.

    Raises:
        DataError: no such folder, fewer than 8 sounds, a file that is no sound, a name that is no label or two that
            are the same one, two names of the same sound.
        AudioError: a sound that cannot be read, is not mono, below 16 kHz, longer than 30 s, heard for less than
            0.25 s, silent, not finite or beyond full scale.
    """
    found: dict[str, AtomicSound] = {}
    names: dict[bytes, str] = {}
    for label, path in sorted(_files(folder).items()):
        found[label] = read_sound(path, label)
        other = names.setdefault(hashlib.sha256(found[label].samples.tobytes()).digest(), path.name)
        if other != path.name:
            # A clip "without dog" would hold it by its other name.
            raise DataError(f"{path} and {other} are the same sound: remove one")
    return found


def read_sound(path: Path, label: str) -> AtomicSound:
    """One sound, checked, trimmed and levelled.

    Raises:
        AudioError: as for ``read_sounds``.
    """
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        _refuse(path, f"a file that cannot be read ({error.strerror})", "a readable one", "restore it")
    wave = decode(path, name=str(path))
    _check(wave, path)
    mono = resample(wave.samples[:, 0], wave.rate, RATE)
    frames = _heard(np.rint(mono.astype(np.float64) * 2**23).astype(np.int64))
    seconds = frames.size / RATE
    if seconds < SHORTEST:
        _refuse(path, f"{seconds:g} s that are heard", f"at least {SHORTEST} s", "use a longer sound")
    return AtomicSound(label, _levelled(frames), digest, path)


def label_of(path: Path) -> str:
    """``Plastic_bag.wav`` is ``plastic-bag``.

    Raises:
        DataError: it cannot be a label.
    """
    label = re.sub(r"[ _]+", "-", path.stem.lower())
    if not is_label(label) or len(label) > LONGEST_LABEL:
        raise DataError(
            f"{path}: name {path.stem!r}: expected words of a-z and 0-9, of at most {LONGEST_LABEL} characters in all: "
            "rename it to what is heard"
        )
    return label


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder: name one with a file for each sound")
    try:
        listed = sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror}): name a folder that can") from None
    found: dict[str, Path] = {}
    for path in listed:
        if path.name.startswith(".") or (path.is_file() and path.suffix.lower() in NOTES):
            continue
        if not path.is_file() or path.suffix.lower() not in ENDINGS:
            raise DataError(f"{path}: expected sounds ({', '.join(ENDINGS)}) and notes: convert it or move it away")
        label = label_of(path)
        if label in found:
            raise DataError(f"{path} and {found[label].name} are both called {label!r}: rename or remove one")
        found[label] = path
    if len(found) < FEWEST:
        raise DataError(f"{folder}: sounds found {len(found)}, expected at least {FEWEST}: add files of other sounds")
    return found


def _check(wave: Waveform, path: Path) -> None:
    frames, channels = wave.samples.shape
    if channels != 1:
        _refuse(path, f"{channels} channels", "1", "mix it to mono first")
    if wave.rate < LOWEST_RATE:
        _refuse(path, f"a rate of {wave.rate} Hz", f"at least {LOWEST_RATE} Hz", "use a better recording")
    if frames > LONGEST * wave.rate:
        _refuse(path, f"{frames / wave.rate:g} s", f"at most {LONGEST} s", "cut out one event")
    peak = float(np.abs(wave.samples).max())
    if peak > 1:
        _refuse(path, f"a sample of {peak:g}", "samples in +-1", "turn it down and save it again")
    if np.ptp(wave.samples) == 0:
        peak = 0.0  # a constant is not heard
    if peak < FAINTEST:
        level = f"a peak of {20 * log10(peak):.0f} dBFS" if peak else "silence"
        _refuse(path, level, f"a peak of at least {20 * log10(FAINTEST):.0f} dBFS", "use a louder recording")


def _heard(samples: Integers) -> Integers:
    """From the first to the last frame that is heard, pauses shortened: ``[frames, FRAME]``."""
    frames = np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)
    position = np.arange(len(frames))
    heard = _is_heard(frames)
    last = np.maximum.accumulate(np.where(heard, position, -1))
    kept = (last >= 0) & (position - last <= PAUSE) & (position <= last[-1])
    found: Integers = frames[kept]
    return found


def _is_heard(frames: Integers) -> npt.NDArray[np.bool_]:
    peaks = np.abs(frames).max(axis=1)
    found: npt.NDArray[np.bool_] = SILENCE * peaks >= peaks.max()
    return found


def _levelled(frames: Integers) -> npt.NDArray[np.int16]:
    """At ``LEVEL``, or as near as ``PEAK`` allows; the gain is a whole number of 2**-32."""
    heard = frames[_is_heard(frames)]
    energy = sum((heard * heard).sum(axis=1).tolist())
    gain = min(isqrt((LEVEL**2 * heard.size << 64) // energy), (PEAK << 32) // int(np.abs(frames).max()))
    return ((frames.ravel() * gain + (1 << 31)) >> 32).astype(np.int16)


def _refuse(path: Path, found: str, expected: str, do: str) -> NoReturn:
    raise AudioError(f"sound {path}: found {found}; expected {expected}; {do}")
