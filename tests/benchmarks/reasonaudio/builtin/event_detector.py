"""An ear for tests: which sounds a clip holds, and from when to when, told from its samples alone.

Whatever the sounds heard so far do not explain begins a new one: the sound whose beginning explains it. Gains are
fitted frame by frame to all of them jointly, so that what overlaps is told apart.
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


class Heard(NamedTuple):
    """When each sound is heard, in ms, by label; the frames, in ms, in which something else is."""

    spans: dict[str, tuple[float, float]]
    unexplained: list[float]


class Ear:
    """Knows some sounds, int16 at 48 kHz by label."""

    def __init__(self, sounds: Mapping[str, npt.NDArray[np.int16]]) -> None:
        self.sounds = {label: samples.astype(np.float32) for label, samples in sounds.items()}
        heads = np.stack([_long(sound[:HEAD], HEAD) for sound in self.sounds.values()])
        heads /= np.linalg.norm(heads, axis=1, keepdims=True)
        self._heads = np.conj(fft.rfft(heads, _SIZE))

    def hears(self, clip: npt.NDArray[np.int16]) -> Heard:
        """What a clip, int16 [n] of whole frames, holds; each sound at most once."""
        return _Hearing(self, clip.astype(np.float32)).sounds()

    def alike(self, window: Samples, lags: int) -> Samples:
        """Correlation of each sound's beginning with a window at each lag, [sounds, lags]."""
        energy = np.concatenate([[0.0], np.cumsum(np.square(window, dtype=np.float64))])
        norms = np.sqrt(np.maximum(energy[HEAD : HEAD + lags] - energy[:lags], 1.0))
        return fft.irfft(fft.rfft(window, _SIZE) * self._heads, _SIZE)[:, :lags] / norms  # type: ignore[no-any-return]


class _Hearing:
    """One clip while it is listened to."""

    def __init__(self, ear: Ear, clip: Samples) -> None:
        self.ear, self.clip, self.rest = ear, clip, clip.copy()
        self.frames = len(clip) // FRAME
        self.starts: dict[str, int] = {}
        self.placed = np.zeros((0, len(clip)), np.float32)
        self.gains = np.zeros((0, self.frames), np.float32)

    def sounds(self) -> Heard:
        for frame in range(self.frames):
            if _loud(self.rest[frame * FRAME :][:FRAME]).any() and self._goes_on(frame):
                self._learn(frame)
        return Heard(self._spans(), [_ms(frame * FRAME) for frame in np.flatnonzero(_loud(self.rest)).tolist()])

    def _goes_on(self, frame: int) -> bool:
        """Whether something else is heard after a frame as well: where a sound fades, its gain fits in no frame."""
        return bool(_loud(self.rest[(frame + 1) * FRAME :][: SILENT * FRAME]).any())

    def _learn(self, frame: int) -> None:
        """Take up the sound that begins in a frame, if one does."""
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
        """The sound that explains best what begins in a frame, among those whose beginnings are most like it."""
        first, best = max(0, frame * FRAME - EARLY), (1.0, "", 0)
        lags = (frame + 1) * FRAME - first
        samples = slice(first, first + lags + HEAD)
        for rest in (self.rest[samples], self._without_heard(frame, samples)):
            alike = self.ear.alike(_long(rest, lags + HEAD), lags)
            for at in np.argsort(-alike.max(axis=1))[:TRIED]:
                label = list(self.ear.sounds)[at]
                if best[0] > EXACT and label not in self.starts:
                    best = min(best, self._left(label, first + int(alike[at].argmax())))
            if best[0] < EXACT:
                break
        return best

    def _without_heard(self, frame: int, samples: slice) -> Samples:
        """The clip less what was heard just now: other sounds may be over, and must not explain away a new one."""
        heard = (self.gains[:, max(0, frame - SHORTEST) : frame] > PRESENT).any(axis=1)
        gains = np.repeat(self.gains[heard], FRAME, axis=1)[:, samples]
        rest: Samples = self.clip[samples] - (gains * self.placed[heard, samples]).sum(axis=0)
        return rest

    def _left(self, label: str, start: int) -> tuple[float, str, int]:
        """The share of the energy of a beginning that stays unexplained with this sound from ``start`` on."""
        frames = slice(start // FRAME, min(self.frames, (start + HEAD) // FRAME))
        samples = slice(frames.start * FRAME, frames.stop * FRAME)
        placed = np.vstack([self.placed[:, samples], self._place(label, start, samples)])
        _, rest = self._fit(placed, frames)
        return float(np.square(rest).sum() / np.square(self.rest[samples]).sum()), label, start

    def _fit(self, placed: Samples, frames: slice) -> tuple[Samples, Samples]:
        """The gain of each sound in each frame [K, frames], and what is left of the clip there."""
        samples = slice(frames.start * FRAME, frames.stop * FRAME)
        clip = self.clip[samples]
        columns = placed[:, ::STEP].reshape(len(placed), -1, FRAME // STEP).transpose(1, 0, 2)
        gram = columns @ columns.transpose(0, 2, 1) + np.eye(len(placed), dtype=np.float32) * FRAME / STEP
        gains = np.linalg.solve(gram, columns @ clip[::STEP].reshape(-1, FRAME // STEP, 1))[..., 0].T
        return gains, clip - (placed * np.repeat(gains, FRAME, axis=1)).sum(axis=0)

    def _place(self, label: str, start: int, samples: slice) -> Samples:
        """These samples of a silent clip with the sound from ``start`` on."""
        placed = np.zeros(samples.stop - samples.start, np.float32)
        sound = self.ear.sounds[label][: samples.stop - start]
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
    """The frame after the last in which a sound that begins in frame ``start`` is heard."""
    end, run = start, 0
    for frame in range(start, len(present)):
        run = run + 1 if present[frame] else 0
        if run >= SHORTEST:
            end = frame + 1
        elif frame - end >= PAUSE:
            break
    return end


def _loud(samples: Samples) -> npt.NDArray[np.bool_]:
    """Whether each frame is."""
    found: npt.NDArray[np.bool_] = np.abs(samples.reshape(-1, FRAME)).max(axis=1) > QUIET
    return found


def _long(samples: Samples, length: int) -> Samples:
    return np.pad(samples, (0, length - len(samples)))


def _ms(sample: int) -> float:
    return 1000 * sample / RATE
