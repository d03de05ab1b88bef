"""The tool that makes the shipped recordings from their originals."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.data.sounds.render import origins, recording
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS
from tools import build_sounds

SOUNDS = Path(__file__).parents[3] / "shared/data/sounds"


@pytest.fixture
def manifest() -> dict[str, dict[str, str]]:
    if not SOUNDS.is_dir():
        pytest.skip("the originals (../shared/data/sounds) are not here")
    with (SOUNDS / "MANIFEST.csv").open(newline="", encoding="utf-8") as stream:
        return {row["path"]: row for row in csv.DictReader(stream)}


def test_every_recording_has_an_original_of_its_own() -> None:
    assert list(build_sounds.ORIGINALS) == list(RECORDINGS)
    assert {name: row["origin"] for name, row in origins().items()} == build_sounds.ORIGINALS


@pytest.mark.parametrize("name", ["cow", "pop", "printer", "choir"])
def test_building_again_gives_the_shipped_recording(
    name: str, manifest: dict[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples may differ by one step of 16 bits, as other versions of decoders and resamplers round otherwise."""
    monkeypatch.setattr(build_sounds, "OUT", tmp_path)
    row = build_sounds._build(SOUNDS, manifest[build_sounds.ORIGINALS[name]], name)
    built, rate = soundfile.read(tmp_path / f"{name}.flac", dtype="int16")
    assert rate == 48_000
    assert built.shape == recording(name).shape
    assert np.abs(built.astype(int) - recording(name)).max() <= 1
    shipped = origins()[name]
    assert {k: v for k, v in row.items() if k != "sha256"} == {k: v for k, v in shipped.items() if k != "sha256"}


@pytest.mark.parametrize(("field", "value"), [("sha256", "0" * 64), ("licence", "CC BY")])
def test_an_original_that_is_not_the_listed_one_or_not_free_is_refused(
    field: str, value: str, manifest: dict[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_sounds, "OUT", tmp_path)
    with pytest.raises(SystemExit, match=r"cow\.mp3: "):
        build_sounds._build(SOUNDS, {**manifest[build_sounds.ORIGINALS["cow"]], field: value}, "cow")
    assert list(tmp_path.iterdir()) == []


def test_shaping_cuts_silence_fades_and_scales() -> None:
    tone = np.concatenate([np.zeros(1_000), 0.1 * np.ones(200_000), np.zeros(500)])
    shaped = build_sounds._shape(tone)
    assert shaped.size == 144_000
    assert (shaped[: 144_000 - 2_400] == 18_000).all()
    assert np.array_equal(shaped[-2_400:], np.round(18_000 * (1 - np.arange(2_400) / 2_399)))
