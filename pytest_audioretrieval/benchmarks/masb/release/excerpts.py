"""Cutting of MASB's excerpts from full tracks: 10 s, mono, 48 kHz, otherwise unchanged (MASB, 2.1)."""

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
from pytest_audioretrieval.benchmarks.masb.release.annotations import EXCERPT, Annotation
from pytest_audioretrieval.data.sound_files import by_stem, inside, only_file
from pytest_audioretrieval.errors import AudioError, DataError, RetrievalError, one_line

RATE = 48_000
FRAMES = int(EXCERPT * RATE)
#: Largest difference in length from the annotation, in seconds: encoders pad a track, but in a part or another edit of
#: it the window lies at another place.
SAME_TRACK = 1.0
#: Seconds decoded before the window: an MP3 decoder that starts inside a file is silent or wrong for up to 0.3 s, until
#: it has the frames that later ones refer to.
APPROACH = 1

Track = Callable[[Sequence[Annotation], str], Iterable[Annotation]]


class Cut(NamedTuple):
    """The outcome for each recording.

    Attributes:
        written, kept: names of excerpts that were cut now, or were complete already.
        missing: annotated path of each missing track.
        failed: one line for each excerpt that could not be cut, with its name and track.
    """

    written: tuple[str, ...]
    kept: tuple[str, ...]
    missing: tuple[str, ...]
    failed: tuple[str, ...]


def cut(annotations: Sequence[Annotation], tracks: Path, out: Path, track: Track) -> Cut:
    """Write ``<clip_id>_<axis>.wav`` (16 bit) for every annotation whose track is there.

    A track is searched at its ``jamendo_path`` inside ``tracks``, then as ``<clip_id>.*`` at the top. A complete
    excerpt is kept (remove it to cut it again), an incomplete one is replaced; each is written atomically.

    Args:
        track: wraps the annotations to show progress.

    Raises:
        DataError: ``tracks`` is no folder, a path leaves it, or an excerpt cannot be written.
    """
    if not tracks.is_dir():
        raise DataError(f"{tracks} is no folder", remedy="name the one that holds the tracks")
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
    """Decode the window of a track alone: mean of its channels, soxr HQ to 48 kHz, float32 ``(480000,)``.

    Raises:
        AudioError: the length is not that of the annotated track, or the track is unreadable or silent.
    """
    name = f"{annotation.recording} of {source.name}"
    try:
        with soundfile.SoundFile(source) as file:
            seconds = file.frames / file.samplerate
            if abs(seconds - annotation.track_duration_s) > SAME_TRACK:
                raise AudioError(
                    f"clip {name!r} is of a track of {seconds:.1f} s",
                    expected=f"{annotation.track_duration_s:.1f} s",
                    remedy="give the full track",
                )
            rate, frames = file.samplerate, round(EXCERPT * file.samplerate)
            start = round(annotation.crop_start_s * rate)
            before = min(start, APPROACH * rate)
            file.seek(start - before)
            samples: Samples = file.read(before + frames, dtype="float32", always_2d=True)[before:]
    except (soundfile.SoundFileError, OSError) as error:
        raise AudioError(
            f"clip {name!r} is of an unreadable file ({one_line(error)})", expected="a track", remedy="restore it"
        ) from None
    if len(samples) < frames:
        found = f"{len(samples) / rate:.3f} s from {annotation.crop_start_s:g} s on"
        raise AudioError(f"clip {name!r} has {found}", expected=f"{EXCERPT:g} s", remedy="give the full track")
    return resample(to_mono(check(samples, rate, name=name)), rate, RATE)


def _find(annotation: Annotation, tracks: Path, top: Mapping[str, list[str]]) -> Path | None:
    where = f"track of {annotation.recording}"
    path = inside(tracks, annotation.jamendo_path, where)
    if path.is_file():
        return path
    try:
        name = only_file(top.get(annotation.clip_id, []), tracks)
    except DataError as error:
        raise AudioError(f"{where}: {error.found}", expected=error.expected, remedy=error.remedy) from None
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
        raise DataError(f"{path} cannot be written ({error.strerror})", remedy="name a folder that can") from None
