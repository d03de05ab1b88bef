"""A detector of known sounds in a clip, with their times, from samples alone.

Where the sounds found so far do not explain the clip, a new one begins: the sound whose beginning explains it. Gains
are fitted frame by frame to all of them jointly, so that overlapping sounds are separated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import fft

Samples = npt.NDArray[np.float32]

RATE = 48_000
FRAME = RATE // 50
#: Every fourth sample is enough to fit gains.
STEP = 4
#: Of 16 bits. Rounding leaves 1 or 2; the faintest frame that belongs to a sound has a peak of about 20.
QUIET = 8
#: Gains lie between 0.7 and 1; where a sound is over, the gain that fits is 0.
PRESENT = 0.35
#: A beginning of 100 ms is looked for from 30 ms before the frame in which something is heard to its end.
HEAD, EARLY = RATE // 10, RATE * 30 // 1000
#: So many sounds whose beginnings are most alike are tried, the best up to so many samples earlier and later.
TRIED, SHIFT = 3, 16
#: What a new sound may leave of the energy that nothing explained, and what tells that it begins at this very sample.
LEFT, EXACT = 0.02, 1e-4
#: A sound is over when it is not heard for 10 frames; fewer than 3 frames are the end of another that fades.
PAUSE, SHORTEST = 10, 3
#: Frames; the longest pause in a sound.
SILENT = 7
_SIZE = HEAD + EARLY + FRAME


class Detected(NamedTuple):
    """The times of each sound, in ms, by label, and the frames, in ms, that no sound explains."""

    spans: dict[str, tuple[float, float]]
    unexplained: list[float]


class EventDetector:
    """A detector of some sounds, int16 at 48 kHz by label."""

    def __init__(self, sounds: Mapping[str, npt.NDArray[np.int16]]) -> None:
        self.sounds = {label: samples.astype(np.float32) for label, samples in sounds.items()}
        heads = np.stack([_long(sound[:HEAD], HEAD) for sound in self.sounds.values()])
        heads /= np.linalg.norm(heads, axis=1, keepdims=True)
        self._heads = np.conj(fft.rfft(heads, _SIZE))

    def detect(self, clip: npt.NDArray[np.int16]) -> Detected:
        """Return the sounds of a clip, int16 [n] of whole frames; each sound occurs at most once."""
        return _Search(self, clip.astype(np.float32)).sounds()

    def correlate(self, window: Samples, lags: int) -> Samples:
        """Return the correlation of each sound's beginning with a window at each lag, [sounds, lags]."""
        energy = np.concatenate([[0.0], np.cumsum(np.square(window, dtype=np.float64))])
        norms = np.sqrt(np.maximum(energy[HEAD : HEAD + lags] - energy[:lags], 1.0))
        return fft.irfft(fft.rfft(window, _SIZE) * self._heads, _SIZE)[:, :lags] / norms  # type: ignore[no-any-return]


class _Search:
    """The state of the detection in one clip."""

    def __init__(self, detector: EventDetector, clip: Samples) -> None:
        self.detector, self.clip, self.rest = detector, clip, clip.copy()
        self.frames = len(clip) // FRAME
        self.starts: dict[str, int] = {}
        self.placed = np.zeros((0, len(clip)), np.float32)
        self.gains = np.zeros((0, self.frames), np.float32)

    def sounds(self) -> Detected:
        for frame in range(self.frames):
            if _loud(self.rest[frame * FRAME :][:FRAME]).any() and self._goes_on(frame):
                self._learn(frame)
        return Detected(self._spans(), [_ms(frame * FRAME) for frame in np.flatnonzero(_loud(self.rest)).tolist()])

    def _goes_on(self, frame: int) -> bool:
        """Return whether something else sounds after a frame too: where a sound fades, its gain fits in no frame."""
        return bool(_loud(self.rest[(frame + 1) * FRAME :][: SILENT * FRAME]).any())

    def _learn(self, frame: int) -> None:
        """Add the sound that begins in a frame, if one does."""
        left, label, start = self._begins(frame)
        if EXACT < left < LEFT:
            left, label, start = min(self._left(label, max(0, start + shift)) for shift in range(-SHIFT, SHIFT + 1))
        if left < LEFT:
            new = slice(start // FRAME, self.frames)
            self.starts[label] = start
            self.placed = np.vstack([self.placed, self._place(label, start, slice(0, len(self.clip)))])
            self.gains = np.vstack([self.gains, np.zeros((1, self.frames), np.float32)])
            self.gains[:, new], self.rest[new.start * FRAME :] = self._fit(self.placed[:, new.start * FRAME :], new)

    def _begins(self, frame: int) -> tuple[float, str, int]:
        """Return the sound that best explains a frame, among those whose beginnings are most like it."""
        first, best = max(0, frame * FRAME - EARLY), (1.0, "", 0)
        lags = (frame + 1) * FRAME - first
        samples = slice(first, first + lags + HEAD)
        for rest in (self.rest[samples], self._without_recent(frame, samples)):
            alike = self.detector.correlate(_long(rest, lags + HEAD), lags)
            for at in np.argsort(-alike.max(axis=1))[:TRIED]:
                label = list(self.detector.sounds)[at]
                if best[0] > EXACT and label not in self.starts:
                    best = min(best, self._left(label, first + int(alike[at].argmax())))
            if best[0] < EXACT:
                break
        return best

    def _without_recent(self, frame: int, samples: slice) -> Samples:
        """Return the clip without the sounds of the last frames.

        Other sounds may be over, and must not explain away a new one.
        """
        recent = (self.gains[:, max(0, frame - SHORTEST) : frame] > PRESENT).any(axis=1)
        gains = np.repeat(self.gains[recent], FRAME, axis=1)[:, samples]
        rest: Samples = self.clip[samples] - (gains * self.placed[recent, samples]).sum(axis=0)
        return rest

    def _left(self, label: str, start: int) -> tuple[float, str, int]:
        """Return the share of the energy of a beginning that this sound from ``start`` on leaves unexplained."""
        frames = slice(start // FRAME, min(self.frames, (start + HEAD) // FRAME))
        samples = slice(frames.start * FRAME, frames.stop * FRAME)
        placed = np.vstack([self.placed[:, samples], self._place(label, start, samples)])
        _, rest = self._fit(placed, frames)
        return float(np.square(rest).sum() / np.square(self.rest[samples]).sum()), label, start

    def _fit(self, placed: Samples, frames: slice) -> tuple[Samples, Samples]:
        """Return the gain of each sound in each frame [K, frames], and the rest of the clip there."""
        samples = slice(frames.start * FRAME, frames.stop * FRAME)
        clip = self.clip[samples]
        columns = placed[:, ::STEP].reshape(len(placed), -1, FRAME // STEP).transpose(1, 0, 2)
        gram = columns @ columns.transpose(0, 2, 1) + np.eye(len(placed), dtype=np.float32) * FRAME / STEP
        gains = np.linalg.solve(gram, columns @ clip[::STEP].reshape(-1, FRAME // STEP, 1))[..., 0].T
        return gains, clip - (placed * np.repeat(gains, FRAME, axis=1)).sum(axis=0)

    def _place(self, label: str, start: int, samples: slice) -> Samples:
        """Return these samples of a silent clip with the sound from ``start`` on."""
        placed = np.zeros(samples.stop - samples.start, np.float32)
        sound = self.detector.sounds[label][: samples.stop - start]
        placed[start - samples.start :][: len(sound)] = sound
        return placed

    def _spans(self) -> dict[str, tuple[float, float]]:
        peaks = np.abs(self.placed.reshape(len(self.placed), -1, FRAME)).max(axis=2) * self.gains
        present = (self.gains > PRESENT) & (peaks > QUIET)
        ends = [_end(row, start // FRAME) for row, start in zip(present, self.starts.values(), strict=True)]
        return {
            label: (_ms(start), _ms(end * FRAME)) for (label, start), end in zip(self.starts.items(), ends, strict=True)
        }


def _end(present: npt.NDArray[np.bool_], start: int) -> int:
    """Return the frame after the last one of a sound that begins in frame ``start``."""
    end, run = start, 0
    for frame in range(start, len(present)):
        run = run + 1 if present[frame] else 0
        if run >= SHORTEST:
            end = frame + 1
        elif frame - end >= PAUSE:
            break
    return end


def _loud(samples: Samples) -> npt.NDArray[np.bool_]:
    """Return whether each frame is loud."""
    found: npt.NDArray[np.bool_] = np.abs(samples.reshape(-1, FRAME)).max(axis=1) > QUIET
    return found


def _long(samples: Samples, length: int) -> Samples:
    return np.pad(samples, (0, length - len(samples)))


def _ms(sample: int) -> float:
    return 1000 * sample / RATE
