"""Datasets and layouts that packages register by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.base.registered import DATASETS, LAYOUTS
from pytest_audioretrieval.data import registry
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.errors import DataError

LOADING = Loading(None, Tracker())


def named(loading: Loading) -> str:
    """Return the loaded dataset, as the function that a package registers does."""
    return f"named, offline {loading.offline}"


def laid_out(folder: Path, loading: Loading) -> str:
    """Return the dataset of a folder, as the function that a package registers does."""
    return f"laid out in {folder.name}"


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {DATASETS: {"mine": "named"}, LAYOUTS: {"theirs": "laid_out"}}

    def found(group: str, own: frozenset[str] = frozenset()) -> dict[str, EntryPoint]:
        return {name: EntryPoint(name, f"{__name__}:{value}", group) for name, value in points[group].items()}

    monkeypatch.setattr(registry, "registered", found)


def folder(path: Path, layout: str) -> Path:
    path.mkdir()
    (path / "dataset.toml").write_text(f'name = "clips"\nlicence = "CC0-1.0"\nlayout = "{layout}"\n')
    return path


@pytest.mark.usefixtures("registered")
def test_a_registered_name_is_loaded_by_its_function() -> None:
    found = registry.source("mine", Path())
    assert (found.name, found.load(LOADING)) == ("mine", "named, offline False")


@pytest.mark.usefixtures("registered")
def test_a_registered_layout_reads_the_folder(tmp_path: Path) -> None:
    found = registry.source(str(folder(tmp_path / "a", "theirs")), Path())
    assert (found.name, found.folder, found.load(LOADING)) == ("clips", tmp_path / "a", "laid out in a")


@pytest.mark.usefixtures("registered")
def test_a_layout_that_nobody_registers_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        registry.source(str(folder(tmp_path / "a", "their")), Path())
    assert str(caught.value) == (
        f"{tmp_path / 'a' / 'dataset.toml'}: layout is 'their', expected one of captions, hub, theirs: "
        "did you mean 'theirs'? correct it"
    )


def test_the_papers_register_theirs() -> None:
    assert {"binding", "reasoning"} <= set(registry.known_datasets())
