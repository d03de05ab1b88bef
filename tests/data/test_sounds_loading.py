"""Loading of built-in sounds: the index of digests, and errors."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.data.sounds import dataset, recipe, render, wording
from pytest_audioretrieval.data.sounds.recipe import Composition
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS
from pytest_audioretrieval.errors import PinError
from pytest_audioretrieval.pinning.pins import load_pins

pytestmark = pytest.mark.slow

PINNED = load_pins().dataset_fingerprint("builtin/sounds")
FOLDER = Path(str(render.FOLDER))


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(clip: Composition) -> None:
        raise AssertionError(f"{clip} was rendered")

    monkeypatch.setattr(dataset, "mix", refuse)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the sounds were loaded once."""
    folder = tmp_path_factory.mktemp("cache")
    dataset.load_sounds(PINNED, cache=folder)
    return folder


def test_loading_twice_gives_the_same_and_its_clips_read_as_rendered(cache: Path) -> None:
    compositions = recipe.compositions("test")
    loaded, again = dataset.load_sounds(PINNED), dataset.load_sounds(PINNED, cache=cache)
    assert loaded == again
    assert loaded.fingerprint == PINNED
    assert [clip.id for clip in loaded.clips] == list(dict.fromkeys(caption.clip for caption in loaded.captions))
    assert [caption.text for caption in loaded.captions] == [
        text for clip in compositions for text in wording.captions(clip, "test")
    ]
    for clip, composition in list(zip(loaded.clips, compositions, strict=True))[:20]:
        wave = clip.read()
        assert (wave.rate, wave.samples.dtype, wave.samples.ndim) == (48_000, np.float32, 2)
        integers = np.round(wave.samples[:, 0] * 32_768).astype(np.int16)
        assert np.array_equal(integers, render.mix(composition))
        assert hashlib.sha256(integers.tobytes()).hexdigest() == clip.digest


@pytest.mark.usefixtures("unrendered")
def test_a_warm_load_renders_nothing(cache: Path) -> None:
    assert dataset.load_sounds(PINNED, cache=cache).fingerprint == PINNED


@pytest.mark.usefixtures("unrendered")
def test_a_cold_load_renders() -> None:
    with pytest.raises(AssertionError, match="was rendered"):
        dataset.load_sounds(PINNED)


def damages(index: bytes) -> dict[str, bytes]:
    digests = json.loads(index)
    return {
        "cut short": index[:100],
        "no text": b"\xff\xfe\x00",
        "one digest short": json.dumps(digests[1:]).encode(),
        "another digest": json.dumps(["0" * 64, *digests[1:]]).encode(),
        "numbers": json.dumps([0] * len(digests)).encode(),
    }


@pytest.mark.parametrize("damage", list(damages(b"[]")))
def test_a_damaged_index_is_rebuilt(cache: Path, tmp_path: Path, damage: str) -> None:
    (name,) = [path.name for path in cache.iterdir()]
    whole = (cache / name).read_bytes()
    (tmp_path / name).write_bytes(damages(whole)[damage])
    assert dataset.load_sounds(PINNED, cache=tmp_path).fingerprint == PINNED
    assert (tmp_path / name).read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_cache_that_cannot_be_written_warns_once_and_works(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = dataset.load_sounds(PINNED, cache=tmp_path / "file" / "below")
    assert loaded.fingerprint == PINNED
    (warning,) = caught
    assert "was not written" in str(warning.message)
    assert str(tmp_path / "file" / "below") in str(warning.message)


def test_a_full_disk_leaves_no_half_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        dataset.load_sounds(PINNED, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("load", [dataset.load_sounds, dataset.load_sounds_single])
def test_other_sounds_than_the_pinned_are_refused(load) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(
        PinError, match=rf"fingerprint is [0-9a-f]{{64}}, expected {'0' * 64} as PINS.json states: reinstall"
    ):
        load("0" * 64)


def test_an_index_does_not_vouch_for_itself(cache: Path) -> None:
    with pytest.raises(PinError):
        dataset.load_sounds("0" * 64, cache=cache)


def test_single_recordings_have_four_phrases_each() -> None:
    loaded = dataset.load_sounds_single(load_pins().dataset_fingerprint("builtin/sounds-single"))
    assert [clip.id for clip in loaded.clips] == list(RECORDINGS)
    assert [caption.text for caption in loaded.captions if caption.clip == "cow"] == list(RECORDINGS["cow"])
    cow, _ = soundfile.read(FOLDER / "cow.flac", dtype="float32")
    read = next(clip for clip in loaded.clips if clip.id == "cow").read()
    assert np.array_equal(read.samples[:, 0], cow)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the recordings that tests may damage."""
    folder = tmp_path / "recordings"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(render, "FOLDER", folder)
    _forget()
    yield folder
    _forget()


def _forget() -> None:
    render.origins.cache_clear()
    render.recording.cache_clear()


def test_a_tampered_recording_is_refused_before_it_is_decoded(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray((copied / "cow.flac").read_bytes())
    content[-1] ^= 1
    (copied / "cow.flac").write_bytes(content)
    monkeypatch.setattr(soundfile, "read", lambda *a, **k: pytest.fail("decoded"))
    with pytest.raises(PinError, match=r"recording cow\.flac: sha256 is .*, expected .*: reinstall"):
        render.recording("cow")


def test_a_recording_with_origins_to_match_still_fails_the_pin(copied: Path) -> None:
    shutil.copy(copied / "dog.flac", copied / "cow.flac")
    rows = render.origins()
    table = (copied / "ORIGINS.csv").read_text().replace(rows["cow"]["sha256"], rows["dog"]["sha256"])
    (copied / "ORIGINS.csv").write_text(table)
    _forget()
    with pytest.raises(PinError, match="fingerprint"):
        dataset.load_sounds(PINNED)


def test_a_missing_recording_is_one_clear_line(copied: Path) -> None:
    (copied / "cow.flac").unlink()
    with pytest.raises(PinError, match=r"recording cow\.flac.* missing: reinstall"):
        render.recording("cow")
    (copied / "ORIGINS.csv").write_text("file,sha256\n")
    _forget()
    with pytest.raises(PinError, match=r"recording dog\.flac.* missing: reinstall"):
        render.recording("dog")
