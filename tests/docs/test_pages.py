"""Every command that a page shows runs, and prints what is shown below it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.screens import ROOT, STORE, differences, make_project, screens

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWING = [page.relative_to(ROOT).as_posix() for page in PAGES if screens(page.read_text(encoding="utf-8"))]
#: Pages that show the store itself, and so begin with an empty one.
COLD = ("docs/reference/store.md",)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the vectors that earlier pages made: each clip is embedded once a checkpoint."""
    return tmp_path_factory.mktemp("warm")


def test_pages_that_show_screens() -> None:
    tutorials = [page for page in SHOWING if page.startswith("docs/tutorials/")]
    assert tutorials == ["docs/tutorials/backend.md", "docs/tutorials/gate.md", "docs/tutorials/metric.md"]
    assert "README.md" in SHOWING
    assert len(SHOWING) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWING)
def test_screens_are_what_is_printed(name: str, warm: Path, tmp_path: Path) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    make_project(tmp_path, page)
    if name not in COLD:
        shutil.copytree(warm, tmp_path / STORE, dirs_exist_ok=True)
    assert list(differences(page, tmp_path)) == []
    if name not in COLD:
        shutil.copytree(tmp_path / STORE, warm, dirs_exist_ok=True)
