"""Atomic sounds: their processing, and errors that name the file."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.atomic_sounds import (
    LEVEL,
    PEAK,
    label_of,
    read_sound,
    read_sounds,
)
from pytest_audioretrieval.errors import AudioError, DataError
from tests.benchmarks.reasonaudio.corpus.tones import LENGTHS, make_sounds, tone, write

SILENCE = np.zeros(24_000)


def rms(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(samples.astype(float) ** 2)))


# What is done


def test_a_folder_is_read_by_label(tmp_path: Path) -> None:
    folder = make_sounds(tmp_path / "s")
    (folder / "plastic-bag.wav").rename(folder / "Plastic_Bag.WAV")
    (folder / "LICENCE").write_text("CC0")
    (folder / ".hidden").write_text("")
    found = read_sounds(folder)
    assert {label: sound.duration for label, sound in found.items()} == {k: round(1000 * v) for k, v in LENGTHS.items()}
    assert list(found) == sorted(found)
    bag = found["plastic-bag"]
    assert bag.path == folder / "Plastic_Bag.WAV"
    assert bag.sha256 == hashlib.sha256(bag.path.read_bytes()).hexdigest()
    assert bag.samples.dtype == np.int16


def test_silence_around_is_cut_and_pauses_are_100_ms(tmp_path: Path) -> None:
    sounds = [SILENCE, tone(0.5), SILENCE, tone(0.3), 0.004 * tone(0.5), tone(0.2), SILENCE]
    found = read_sound(write(tmp_path / "a.wav", np.concatenate(sounds), subtype="FLOAT"), "a")
    assert found.duration == 500 + 100 + 300 + 100 + 200
    assert rms(found.samples[24_000:28_800]) == 0
    assert rms(found.samples[:24_000]) == pytest.approx(rms(found.samples[28_800:43_200]), rel=1e-3)


def test_a_tail_of_minus_40_db_is_still_heard(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", np.concatenate([tone(0.3), 0.011 * tone(0.2), 0.009 * tone(0.2)]), subtype="FLOAT")
    assert read_sound(path, "a").duration == 500


@pytest.mark.parametrize("level", [0.002, 0.1, 1.0])
def test_level_is_that_of_what_is_heard(tmp_path: Path, level: float) -> None:
    paused = np.concatenate([tone(0.5, level=level), SILENCE, tone(0.5, level=level)])
    found = read_sound(write(tmp_path / "a.wav", paused, subtype="FLOAT"), "a").samples
    assert rms(np.delete(found, slice(24_000, 28_800))) == pytest.approx(LEVEL, rel=1e-3)


def test_a_peaky_sound_is_held_at_the_peak(tmp_path: Path) -> None:
    clicks = 0.01 * tone(1.0)
    clicks[::4800] = -0.9
    found = read_sound(write(tmp_path / "a.wav", clicks, subtype="FLOAT"), "a").samples
    assert abs(found.astype(int)).max() == PEAK
    assert rms(found) < LEVEL


@pytest.mark.parametrize(("rate", "ending"), [(16_000, "wav"), (44_100, "flac"), (44_100, "ogg"), (44_100, "mp3")])
def test_other_rates_and_formats(tmp_path: Path, rate: int, ending: str) -> None:
    found = read_sound(write(tmp_path / f"a.{ending}", tone(1.0, pitch=1000, rate=rate), rate=rate), "a")
    assert found.duration == pytest.approx(1000, abs=50)
    middle = found.samples[4800:28_800].astype(float)
    assert np.argmax(np.abs(np.fft.rfft(middle))) == 500  # 1000 Hz in 0.5 s


# What is refused


def bad(tmp_path: Path, name: str, samples: np.ndarray, rate: int = 48_000) -> Path:
    folder = make_sounds(tmp_path / "s")
    return write(folder / name, samples, rate=rate, subtype="FLOAT")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "rate", "found"),
    [
        (np.zeros(48_000), 48_000, "is silent, expected a peak of at least -60 dBFS"),
        (np.full(48_000, 0.5), 48_000, "is silent, expected a peak of at least -60 dBFS"),
        (tone(1.0, level=0.0009), 48_000, "has a peak of -61 dBFS"),
        (tone(0.05), 48_000, "is audible for 0.05 s, expected at least 0.25 s"),
        (np.concatenate([SILENCE, tone(0.2), SILENCE]), 48_000, "is audible for 0.2 s"),
        (tone(600, rate=16_000), 16_000, "lasts 600 s, expected at most 30 s"),
        (tone(1.0, rate=8000), 8000, "has a rate of 8000 Hz, expected at least 16000 Hz"),
        (np.stack([tone(1.0), tone(1.0)], axis=1), 48_000, "has 2 channels, expected 1: mix it to mono first"),
        (np.where(np.arange(48_000) == 7, np.nan, tone(1.0)), 48_000, "found nan at frame 7"),
        (np.where(np.arange(48_000) == 7, np.inf, tone(1.0)), 48_000, "found inf at frame 7"),
        (tone(1.0, level=1.5), 48_000, r"has a sample of 1.5, expected samples in \+-1"),
    ],
    ids=[
        "silent",
        "constant",
        "faint",
        "short",
        "short-heard",
        "ten-minutes",
        "8-khz",
        "stereo",
        "nan",
        "inf",
        "clipped",
    ],
)
def test_a_bad_sound_is_named(tmp_path: Path, samples: np.ndarray, rate: int, found: str) -> None:
    path = bad(tmp_path, "bad.wav", samples, rate)
    with pytest.raises(AudioError, match=re.escape(str(path)) + ".*" + found) as error:
        read_sounds(path.parent)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"no sound", b"RIFF\x00\x00"])
def test_an_unreadable_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = make_sounds(tmp_path / "s") / "bad.wav"
    path.write_bytes(content)
    with pytest.raises(AudioError, match=re.escape(str(path))):
        read_sounds(path.parent)


def test_a_file_that_was_cut_short_is_named(tmp_path: Path) -> None:
    path = bad(tmp_path, "bad.wav", tone(1.0))
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(AudioError, match=r"bad\.wav"):
        read_sounds(path.parent)


def test_two_files_of_one_name(tmp_path: Path) -> None:
    folder = make_sounds(tmp_path / "s")
    soundfile.write(folder / "Dog.flac", tone(1.0), 48_000)
    with pytest.raises(DataError, match=r"dog\.wav and Dog\.flac are both called 'dog': rename or remove one"):
        read_sounds(folder)


def test_two_names_of_one_sound(tmp_path: Path) -> None:
    """A clip without the one could hold it as the other."""
    folder = make_sounds(tmp_path / "s")
    (folder / "hound.wav").symlink_to("dog.wav")
    with pytest.raises(DataError, match=r"hound\.wav and dog\.wav are the same sound: remove one"):
        read_sounds(folder)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_too_few_sounds(tmp_path: Path, count: int) -> None:
    folder = make_sounds(tmp_path / "s")
    for path in sorted(folder.iterdir())[count:]:
        path.unlink()
    with pytest.raises(DataError, match=rf"{folder} holds {count} sounds, expected at least 8: add files"):
        read_sounds(folder)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere is no folder"):
        read_sounds(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["take.aiff", "more", "lost.wav"])
def test_what_is_no_sound_is_not_passed_over(tmp_path: Path, name: str) -> None:
    folder = make_sounds(tmp_path / "s")
    if name == "more":
        (folder / name).mkdir()
    elif name == "lost.wav":
        (folder / name).symlink_to(folder / "nowhere.wav")
    else:
        soundfile.write(folder / name, tone(1.0), 48_000)
    with pytest.raises(DataError, match=re.escape(str(folder / name)) + " is no sound and no note, expected sounds"):
        read_sounds(folder)


@pytest.mark.parametrize("name", ["dog (1)", "dog--big", "-dog", "über", "a-label-of-18-char", "a.b"])
def test_a_name_that_is_no_label(name: str) -> None:
    with pytest.raises(DataError, match=r"expected words of a-z and 0-9, of at most 17 characters in all: rename it"):
        label_of(Path(f"/sounds/{name}.wav"))


def test_labels() -> None:
    assert label_of(Path("Plastic_bag.wav")) == label_of(Path("plastic  BAG.mp3")) == "plastic-bag"
    assert label_of(Path("computer_keyboard.wav")) == "computer-keyboard"
