"""The site: it builds without a warning, its reference is complete, and paths named in the code lead to its pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs import generated
from pytest_audioretrieval.plugin.settings import OPTIONS
from pytest_audioretrieval.stats.verdict import Verdict
from tests.docs.screens import ROOT
from tools.draw_architecture import PACKAGE

DOCS = ROOT / "docs"
CODE = [path for room in ("pytest_audioretrieval", "suites", "bench", "tools") for path in (ROOT / room).rglob("*.py")]


@pytest.mark.slow
def test_it_builds_offline_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", str(DOCS), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "https_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for page in DOCS.rglob("*.md"):
        if "_generated" not in page.parts:
            assert (tmp_path / page.relative_to(DOCS).with_suffix(".html")).exists()


def test_every_option_has_a_row() -> None:
    rows = generated.options().splitlines()[2:]
    assert [row.split()[1].strip("`") for row in rows] == [option.switch for option in OPTIONS]
    assert (
        "| `--retrieval-resamples N` | `retrieval_resamples` | `10000` | bootstrap resamples of the clusters |" in rows
    )


def test_every_command_has_its_help() -> None:
    titles = re.findall(r"^### (.+)$", generated.commands(), flags=re.M)
    assert {"doctor", "pins add", "pins list", "pins verify", "store info", "cora", "masb check"} <= set(titles)
    assert "[datasets/]ID@COMMIT" in generated.commands()


def test_the_table_of_verdicts_stands_in_the_order_of_the_rules() -> None:
    """The first verdict that fits is the one given."""
    page = (DOCS / "reference/verdicts.md").read_text(encoding="utf-8")
    table = page.partition("first verdict of this table that fits is the one given:\n\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w+) \|", table, flags=re.M) == ["verdict", *Verdict]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_the_pages_at_the_top_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert link.startswith("https://") or (ROOT / link).exists(), link


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_a_page_names_exist(page: str) -> None:
    """Paths in backticks that end in ``.py`` or ``/`` are of the package or of the repository; NAME stands for any."""
    named = re.findall(r"`([\w/.]+(?:\.py|/))`", (ROOT / page).read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not _exists(name) and "NAME" not in name] == []


def test_files_that_any_page_names_in_a_room_exist() -> None:
    rooms = "|".join(path.name for path in [*ROOT.iterdir(), *(ROOT / PACKAGE).iterdir()] if path.is_dir())
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        named = re.findall(rf"`((?:{rooms})/[\w/.-]+\.py)`", page.read_text(encoding="utf-8"))
        assert [name for name in named if not _exists(name) and "NAME" not in name] == [], page


def test_modules_that_a_page_imports_exist() -> None:
    for page in DOCS.rglob("*.md"):
        for module in re.findall(r"^ *from (pytest_audioretrieval[\w.]*) import", page.read_text("utf-8"), flags=re.M):
            assert find_spec(module) is not None, (page, module)


def test_pages_that_the_code_names_exist() -> None:
    named = {page for path in CODE for page in re.findall(r"docs/[\w/.-]+\.(?:md|csv|svg)", path.read_text("utf-8"))}
    assert named
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []


def _exists(name: str) -> bool:
    return any((top / name).exists() for top in (ROOT, ROOT / PACKAGE))
