"""Reader of atomic sounds: a folder of recordings, one identifiable event each (ReasonAudio, 3.1).

A wrong file is an error and never repaired silently: a sound of two channels, too short or too faint. The same is done
to every sound: silence around it is cut off and pauses in it are shortened, so that it sounds for the whole time of an
event, and its level is set. From decoded (and, where the rate differs, resampled) samples on, all arithmetic is in
integers.
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
#: Endings of sounds, and of files that may lie beside them; any other file is an error.
ENDINGS = (".flac", ".mp3", ".ogg", ".wav")
NOTES = ("", ".csv", ".json", ".md", ".tsv", ".txt")
#: A clip holds up to 8 different sounds.
FEWEST = 8
#: Bytes. Eight such labels with their times make a file name of at most 255 bytes.
LONGEST_LABEL = 17
#: Shortest audible part and longest file, in seconds.
SHORTEST, LONGEST = 0.25, 30
LOWEST_RATE = 16_000
#: Below -60 dBFS, raising a sound to its level raises its noise.
FAINTEST = 1e-3
#: A frame of 10 ms is silent where its peak is more than 40 dB (a factor of 100) below that of the sound.
FRAME = 10 * PER_MS
SILENCE = 100
#: Frames to keep of a pause.
PAUSE = 10
#: Root mean square of the audible frames, and the largest sample: two sounds at once stay inside 16 bits.
LEVEL, PEAK = 2_000, 16_000

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AtomicSound:
    """One recorded sound, trimmed and levelled.

    Attributes:
        label: its name in clips' names and queries.
        samples: int16 [n], 48 kHz, whole frames of 10 ms, from the first to the last audible one.
        sha256: of the file.
        path: the file.
    """

    label: str
    samples: npt.NDArray[np.int16]
    sha256: str
    path: Path

    @property
    def duration(self) -> int:
        """Duration in milliseconds."""
        return len(self.samples) // PER_MS


def read_sounds(folder: Path) -> dict[str, AtomicSound]:
    """Read all sounds of a folder by label, in the order of labels.

    Raises:
        DataError: there is no such folder, fewer than 8 sounds, a file that is no sound, a name that is no label, two
            files with one label, or two files with the same sound.
        AudioError: a sound cannot be read, is not mono, below 16 kHz, longer than 30 s, audible for less than 0.25 s,
            silent, not finite or beyond full scale.
    """
    found: dict[str, AtomicSound] = {}
    names: dict[bytes, str] = {}
    for label, path in sorted(_files(folder).items()):
        found[label] = read_sound(path, label)
        other = names.setdefault(hashlib.sha256(found[label].samples.tobytes()).digest(), path.name)
        if other != path.name:
            # A clip "without dog" could hold the same sound under its other name.
            raise DataError(f"{path} and {other} are the same sound", remedy="remove one")
    return found


def read_sound(path: Path, label: str) -> AtomicSound:
    """Read one sound, checked, trimmed and levelled.

    Raises:
        AudioError: as for ``read_sounds``.
    """
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        _refuse(path, f"cannot be read ({error.strerror})", "", "restore it")
    wave = decode(path, name=str(path))
    _check(wave, path)
    mono = resample(wave.samples[:, 0], wave.rate, RATE)
    frames = _trimmed(np.rint(mono.astype(np.float64) * 2**23).astype(np.int64))
    seconds = frames.size / RATE
    if seconds < SHORTEST:
        _refuse(path, f"is audible for {seconds:g} s", f"at least {SHORTEST} s", "use a longer sound")
    return AtomicSound(label, _levelled(frames), digest, path)


def label_of(path: Path) -> str:
    """Return the label of a file's name: ``Plastic_bag.wav`` is ``plastic-bag``.

    Raises:
        DataError: the name cannot be a label.
    """
    label = re.sub(r"[ _]+", "-", path.stem.lower())
    if not is_label(label) or len(label) > LONGEST_LABEL:
        raise DataError(
            f"{path}: name is {path.stem!r}",
            expected=f"words of a-z and 0-9, of at most {LONGEST_LABEL} characters in all",
            remedy="rename it to what it sounds like",
        )
    return label


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder", remedy="name one with a file for each sound")
    try:
        listed = sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror})", remedy="name a folder that can") from None
    found: dict[str, Path] = {}
    for path in listed:
        if path.name.startswith(".") or (path.is_file() and path.suffix.lower() in NOTES):
            continue
        if not path.is_file() or path.suffix.lower() not in ENDINGS:
            raise DataError(
                f"{path} is no sound and no note",
                expected=f"sounds ({', '.join(ENDINGS)}) and notes",
                remedy="convert it or move it away",
            )
        label = label_of(path)
        if label in found:
            raise DataError(f"{path} and {found[label].name} are both called {label!r}", remedy="rename or remove one")
        found[label] = path
    if len(found) < FEWEST:
        raise DataError(
            f"{folder} holds {len(found)} sounds", expected=f"at least {FEWEST}", remedy="add files of other sounds"
        )
    return found


def _check(wave: Waveform, path: Path) -> None:
    frames, channels = wave.samples.shape
    if channels != 1:
        _refuse(path, f"has {channels} channels", "1", "mix it to mono first")
    if wave.rate < LOWEST_RATE:
        _refuse(path, f"has a rate of {wave.rate} Hz", f"at least {LOWEST_RATE} Hz", "use a better recording")
    if frames > LONGEST * wave.rate:
        _refuse(path, f"lasts {frames / wave.rate:g} s", f"at most {LONGEST} s", "cut out one event")
    peak = float(np.abs(wave.samples).max())
    if peak > 1:
        _refuse(path, f"has a sample of {peak:g}", "samples in +-1", "turn it down and save it again")
    if np.ptp(wave.samples) == 0:
        peak = 0.0  # a constant is inaudible
    if peak < FAINTEST:
        level = f"has a peak of {20 * log10(peak):.0f} dBFS" if peak else "is silent"
        _refuse(path, level, f"a peak of at least {20 * log10(FAINTEST):.0f} dBFS", "use a louder recording")


def _trimmed(samples: Integers) -> Integers:
    """Return the frames from the first to the last audible one, pauses shortened, ``[frames, FRAME]``."""
    frames = np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)
    position = np.arange(len(frames))
    heard = _audible(frames)
    last = np.maximum.accumulate(np.where(heard, position, -1))
    kept = (last >= 0) & (position - last <= PAUSE) & (position <= last[-1])
    found: Integers = frames[kept]
    return found


def _audible(frames: Integers) -> npt.NDArray[np.bool_]:
    peaks = np.abs(frames).max(axis=1)
    found: npt.NDArray[np.bool_] = SILENCE * peaks >= peaks.max()
    return found


def _levelled(frames: Integers) -> npt.NDArray[np.int16]:
    """Return the samples at ``LEVEL``, or as near as ``PEAK`` allows; the gain is a whole number of 2**-32."""
    heard = frames[_audible(frames)]
    energy = sum((heard * heard).sum(axis=1).tolist())
    gain = min(isqrt((LEVEL**2 * heard.size << 64) // energy), (PEAK << 32) // int(np.abs(frames).max()))
    return ((frames.ravel() * gain + (1 << 31)) >> 32).astype(np.int16)


def _refuse(path: Path, found: str, expected: str, remedy: str) -> NoReturn:
    raise AudioError(f"sound {path} {found}", expected=expected, remedy=remedy)
