"""Lookup of datasets by name, and the layouts that a folder may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audioretrieval.data.registry import known_datasets, source
from pytest_audioretrieval.errors import DataError, SpecError


def folder(path: Path, name: str, layout: str) -> Path:
    path.mkdir()
    (path / "dataset.toml").write_text(f'name = "{name}"\nlicence = "CC0-1.0"\nlayout = "{layout}"\n')
    return path


def test_registered_datasets_are_known_beside_the_rooms_own() -> None:
    known = known_datasets()
    assert {"sounds", "sounds-single", "binding", "reasoning", "audiocaps"} <= set(known)
    assert all(found.folder is None for found in known.values())


@pytest.mark.parametrize("layout", ["captions", "masb", "reasonaudio"])
def test_a_folder_is_known_by_the_name_in_its_settings(tmp_path: Path, layout: str) -> None:
    found = source("own", folder(tmp_path / "own", "mine", layout).parent)
    assert (found.name, found.folder) == ("mine", (tmp_path / "own").resolve())


def test_an_unknown_layout_shows_the_nearest(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", "mine", "reasonaudi")
    with pytest.raises(DataError) as caught:
        source("own", tmp_path)
    assert (caught.value.found, caught.value.expected, caught.value.remedy) == (
        f"{own / 'dataset.toml'}: layout is 'reasonaudi'",
        "one of captions, hub, masb, reasonaudio",
        "did you mean 'reasonaudio'? correct it",
    )


def test_the_name_of_a_known_dataset_is_taken(tmp_path: Path) -> None:
    folder(tmp_path / "own", "reasoning", "captions")
    with pytest.raises(DataError, match=r"own: name 'reasoning' is that of a built-in dataset: give yours another"):
        source("own", tmp_path)


def test_an_unknown_name_shows_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^dataset 'bindin' is neither a folder nor a known name: did you mean 'bindi"):
        source("bindin", tmp_path)
