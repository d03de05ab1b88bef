"""MASB's excerpts, cut from full tracks: 10 s, mono, 48 kHz, nothing else done to them (MASB, 2.1)."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import soundfile

from pytest_audioretrieval.audio.decode import check, decode
from pytest_audioretrieval.audio.types import Samples
from pytest_audioretrieval.audio.window import resample, to_mono
from pytest_audioretrieval.base.files import write_atomically
from pytest_audioretrieval.benchmarks.masb.annotations import EXCERPT, Annotation
from pytest_audioretrieval.data.sound_files import by_stem, inside, only_file
from pytest_audioretrieval.errors import AudioError, DataError, RetrievalError, one_line

RATE = 48_000
FRAMES = int(EXCERPT * RATE)
#: Seconds by which a track may differ from its annotation: encoders pad, but in a part or another edit of a track the
#: window lies at another place.
SAME_TRACK = 1.0
#: Seconds decoded before the window: an MP3 that is entered anywhere is silent or wrong, for up to 0.3 s, until its
#: decoder has the frames that later ones refer to.
APPROACH = 1

Track = Callable[[Sequence[Annotation], str], Iterable[Annotation]]


class Cut(NamedTuple):
    """What became of each recording.

    Attributes:
        written, kept: names of excerpts: cut now; whole already.
        missing: path of each track, as annotated, that is not there.
        failed: one line for each excerpt that could not be cut, naming it and its track.
    """

    written: tuple[str, ...]
    kept: tuple[str, ...]
    missing: tuple[str, ...]
    failed: tuple[str, ...]


def cut(annotations: Sequence[Annotation], tracks: Path, out: Path, track: Track) -> Cut:
    """Write ``<clip_id>_<axis>.wav`` (16 bit) for every annotation whose track is there.

    A track is looked for at its ``jamendo_path`` inside ``tracks``, then as ``<clip_id>.*`` at the top. An excerpt that
    is whole is kept (remove it to cut it anew), one that is not is replaced; each is written whole or not at all.

    Args:
        track: wraps the annotations to show progress.

    Raises:
        DataError: ``tracks`` is no folder, a path leaves it, or an excerpt cannot be written.
    """
    if not tracks.is_dir():
        raise DataError(f"{tracks} is no folder: name the one that holds the tracks")
    top = by_stem(tracks)
    written, kept, failed = list[str](), list[str](), list[str]()
    missing: dict[str, None] = {}
    for annotation in track(annotations, "cutting excerpts"):
        target = out / f"{annotation.recording}.wav"
        if _is_whole(target):
            kept.append(target.name)
            continue
        try:
            source = _find(annotation, tracks, top)
            excerpt = read_excerpt(source, annotation) if source else None
        except AudioError as error:
            failed.append(str(error))
            continue
        if excerpt is None:
            missing[annotation.jamendo_path] = None
        else:
            _write(target, excerpt)
            written.append(target.name)
    return Cut(tuple(written), tuple(kept), tuple(missing), tuple(failed))


def read_excerpt(source: Path, annotation: Annotation) -> Samples:
    """The window of a track, nothing else of it: mean of its channels, soxr HQ to 48 kHz, float32 ``(480000,)``.

    Raises:
        AudioError: not the annotated track by its length, unreadable, or nothing to measure.
    """
    name = f"{annotation.recording} of {source.name}"
    try:
        with soundfile.SoundFile(source) as file:
            lasts = file.frames / file.samplerate
            if abs(lasts - annotation.track_duration_s) > SAME_TRACK:
                raise AudioError(
                    f"clip {name!r}: found a track of {lasts:.1f} s; expected {annotation.track_duration_s:.1f} s; "
                    "give the full track"
                )
            rate, frames = file.samplerate, round(EXCERPT * file.samplerate)
            start = round(annotation.crop_start_s * rate)
            before = min(start, APPROACH * rate)
            file.seek(start - before)
            samples: Samples = file.read(before + frames, dtype="float32", always_2d=True)[before:]
    except (soundfile.SoundFileError, OSError) as error:
        raise AudioError(
            f"clip {name!r}: found an unreadable file ({one_line(error)}); expected a track; restore it"
        ) from None
    if len(samples) < frames:
        found = f"{len(samples) / rate:.3f} s from {annotation.crop_start_s:g} s on"
        raise AudioError(f"clip {name!r}: found {found}; expected {EXCERPT:g} s; give the full track")
    return resample(to_mono(check(samples, rate, name=name)), rate, RATE)


def _find(annotation: Annotation, tracks: Path, top: Mapping[str, list[str]]) -> Path | None:
    where = f"track of {annotation.recording}"
    path = inside(tracks, annotation.jamendo_path, where)
    if path.is_file():
        return path
    try:
        name = only_file(top.get(annotation.clip_id, []), tracks)
    except DataError as error:
        raise AudioError(f"{where}: {error}") from None
    return inside(tracks, name, where) if name else None


def _is_whole(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        found = decode(path, name=path.name)
    except RetrievalError:
        return False
    return found.rate == RATE and found.samples.shape == (FRAMES, 1)


def _write(path: Path, samples: Samples) -> None:
    content = io.BytesIO()
    soundfile.write(content, samples, RATE, format="WAV", subtype="PCM_16")
    try:
        write_atomically(path, content.getvalue())
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}: name a folder that can") from None
