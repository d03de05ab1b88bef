"""Excerpts of tracks whose samples reveal their place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from pytest_audioretrieval.benchmarks.masb.release.annotations import Annotation, load_annotations
from pytest_audioretrieval.benchmarks.masb.release.excerpts import Cut, cut
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.masb.release_files import ANNOTATIONS, annotation, write

SECONDS = 30


def untracked(items: Sequence[Annotation], what: str) -> Sequence[Annotation]:
    assert what == "cutting excerpts"
    return items


def one(tmp_path: Path, **changes: str) -> tuple[Annotation, ...]:
    return load_annotations(write(tmp_path / "one.csv", [annotation("101", "O", "tuba", "kazoo", **changes)]))


def numbered(rate: int, *, step: int = 7919) -> npt.NDArray[np.int16]:
    """Return 16-bit samples of which no two 10 s are equal; all are even, so the mean of two is exact."""
    numbers = np.arange(SECONDS * rate, dtype=np.int64) * step
    return ((numbers % 32_768) * 2 - 32_768).astype(np.int16)


def chirp(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a chirp of 200 Hz at 0 s that rises by 40 Hz each second."""
    found: npt.NDArray[np.float64] = 0.5 * np.sin(2 * np.pi * (200 * times + 20 * times**2))
    return found


def track(path: Path, samples: npt.NDArray[Any], rate: int, **how: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate, **how)
    return path


def excerpt(path: Path) -> npt.NDArray[np.int16]:
    info = soundfile.info(path)
    assert (info.samplerate, info.channels, info.frames, info.subtype) == (48_000, 1, 480_000, "PCM_16")
    samples: npt.NDArray[np.int16] = soundfile.read(path, dtype="int16")[0]
    return samples


def test_sample_by_sample_where_nothing_is_resampled(tmp_path: Path) -> None:
    left, right = numbered(48_000), numbered(48_000, step=104_729)
    track(tmp_path / "tracks/01/101.mp3", np.stack([left, right], axis=1), 48_000, format="WAV")
    done = cut(one(tmp_path), tmp_path / "tracks", tmp_path / "out", untracked)
    assert done == Cut(("101_O.wav",), (), (), ())
    window = slice(348_000, 828_000)  # 7.25 s
    mean = (left[window].astype(int) + right[window]) // 2
    np.testing.assert_array_equal(excerpt(tmp_path / "out/101_O.wav"), mean)


@pytest.mark.parametrize("start", ["0.0", "13.650056612258664", "20.0"])
def test_starts_at_its_second_at_another_rate(tmp_path: Path, start: str) -> None:
    """An excerpt one sample of the track away would differ by 0.08 at 1.2 kHz."""
    track(tmp_path / "tracks/01/101.flac", chirp(np.arange(SECONDS * 44_100) / 44_100), 44_100)
    cut(one(tmp_path, start=start, jamendo_path="01/101.flac"), tmp_path / "tracks", tmp_path / "out", untracked)
    first = round(float(start) * 44_100) / 44_100
    expected = chirp(first + np.arange(480_000) / 48_000)
    middle = slice(1_000, -1_000)  # a resampler rings where a sound begins in the midst of it
    found = excerpt(tmp_path / "out/101_O.wav") / 32_768
    np.testing.assert_allclose(found[middle], expected[middle], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"bitrate_mode": "VARIABLE", "compression_level": 0.9}], ids=["usual", "variable"])
@pytest.mark.parametrize("start", ["0.3", "7.25", "19.99"])
def test_an_mp3_is_entered_without_a_gap(tmp_path: Path, start: str, how: dict[str, Any]) -> None:
    """The reference is the whole file decoded at once; decoding from the window on would spoil its first 0.1 s."""
    sound = chirp(np.arange(SECONDS * 48_000) / 48_000)
    path = track(tmp_path / "tracks/01/101.mp3", sound, 48_000, format="MP3", **how)
    cut(one(tmp_path, start=start), tmp_path / "tracks", tmp_path / "out", untracked)
    first = round(float(start) * 48_000)
    found = excerpt(tmp_path / "out/101_O.wav") / 32_768
    np.testing.assert_allclose(found, soundfile.read(path)[0][first : first + 480_000], atol=1e-4)


def test_reads_the_window_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    track(tmp_path / "tracks/01/101.mp3", numbered(8_000), 8_000, format="WAV")
    asked: list[int] = []
    read = soundfile.SoundFile.read

    def counting(file: Any, frames: int = -1, **how: Any) -> Any:
        asked.append(frames)
        return read(file, frames, **how)

    monkeypatch.setattr(soundfile.SoundFile, "read", counting)
    cut(one(tmp_path), tmp_path / "tracks", tmp_path / "out", untracked)
    assert asked == [88_000], "and the second before it, which lets a decoder settle"


def test_missing_tracks_are_listed_once_and_others_found_at_the_top(tmp_path: Path) -> None:
    found = load_annotations(write(tmp_path / "a.csv", ANNOTATIONS))
    track(tmp_path / "tracks/202.ogg", chirp(np.arange(SECONDS * 8_000) / 8_000), 8_000)
    done = cut(found, tmp_path / "tracks", tmp_path / "out", untracked)
    assert done == Cut(("202_R.wav",), (), ("01/101.mp3",), ())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["202_R.wav"]


def test_whole_excerpts_are_kept_and_broken_ones_replaced(tmp_path: Path) -> None:
    found = load_annotations(write(tmp_path / "a.csv", ANNOTATIONS[:2]))
    track(tmp_path / "tracks/01/101.mp3", numbered(8_000), 8_000, format="WAV")
    out = tmp_path / "out"
    assert cut(found, tmp_path / "tracks", out, untracked).written == ("101_T.wav", "101_O.wav")
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / "101_T.wav").write_bytes(first["101_T.wav"][:-10_000])
    soundfile.write(out / "101_O.wav", np.zeros(48_000), 48_000)
    assert cut(found[:1], tmp_path / "tracks", out, untracked) == Cut(("101_T.wav",), (), (), ())
    assert cut(found, tmp_path / "tracks", out, untracked) == Cut(("101_O.wav",), ("101_T.wav",), (), ())
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first
    (tmp_path / "tracks/01/101.mp3").unlink()
    assert cut(found, tmp_path / "tracks", out, untracked) == Cut((), ("101_T.wav", "101_O.wav"), (), ())


def test_another_length_than_annotated_is_another_track(tmp_path: Path) -> None:
    """In a part of the track the window would lie elsewhere, or nowhere."""
    track(tmp_path / "tracks/101.2min.wav", numbered(8_000)[: 28 * 8_000], 8_000)
    done = cut(one(tmp_path), tmp_path / "tracks", tmp_path / "out", untracked)
    assert done.failed == (
        "clip '101_O of 101.2min.wav' is of a track of 28.0 s, expected 30.0 s: give the full track",
    )
    assert (done.written, done.missing, (tmp_path / "out").exists()) == ((), (), False)


def test_a_track_that_ends_within_the_window_is_named(tmp_path: Path) -> None:
    track(tmp_path / "tracks/101.wav", numbered(8_000)[: int(29.5 * 8_000)], 8_000)
    done = cut(one(tmp_path, start="20"), tmp_path / "tracks", tmp_path / "out", untracked)
    assert done.failed == ("clip '101_O of 101.wav' has 9.500 s from 20 s on, expected 10 s: give the full track",)


def test_unreadable_and_ambiguous_tracks_are_named(tmp_path: Path) -> None:
    found = load_annotations(write(tmp_path / "a.csv", ANNOTATIONS[1:]))
    (tmp_path / "tracks").mkdir()
    (tmp_path / "tracks/101.mp3").write_bytes(b"no sound at all")
    for ending in ("wav", "flac"):
        track(tmp_path / f"tracks/202.{ending}", numbered(8_000), 8_000)
    done = cut(found, tmp_path / "tracks", tmp_path / "out", untracked)
    unreadable, ambiguous = done.failed
    assert unreadable.startswith("clip '101_O of 101.mp3' is of an unreadable file (")
    assert unreadable.endswith("), expected a track: restore it")
    assert ambiguous == (
        f"track of 202_R: {tmp_path / 'tracks'}: 202.flac and 202.wav are files of one recording: keep one"
    )


@pytest.mark.parametrize("path", ["../101.mp3", "/etc/passwd", "01/../../101.mp3"])
def test_a_path_never_leaves_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "tracks").mkdir()
    track(tmp_path / "101.mp3", numbered(8_000), 8_000, format="WAV")
    with pytest.raises(DataError, match=r"track of 101_O: audio path .* leaves .*tracks: use a path inside"):
        cut(one(tmp_path, jamendo_path=path), tmp_path / "tracks", tmp_path / "out", untracked)


def test_no_folder_of_tracks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"tracks is no folder: name the one that holds the tracks"):
        cut(one(tmp_path), tmp_path / "tracks", tmp_path / "out", untracked)
