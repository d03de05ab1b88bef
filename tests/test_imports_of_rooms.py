"""Rooms import one way: the contracts of pyproject.toml refuse what is planted, and no file imports in a circle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.draw_architecture import PACKAGE, PICTURE, Graph, imports_of, picture

ROOT = Path(__file__).parents[1]
LINT = Path(sys.executable).with_name("lint-imports")
linted = pytest.mark.skipif(not LINT.exists(), reason="needs import-linter, which make lint has")

ROOMS = "A room imports only from the rooms below it"
CIRCLES = "No folder or file imports in a circle"
PAPERS = "No paper imports from another"
ARRAYS = "Audio, metrics and stats take arrays: they know no pytest, torch or model"

IN_A_FUNCTION = "\n\ndef planted() -> None:\n    import pytest_audioretrieval.plugin.settings\n"
FOR_TYPING = "\n\nif TYPE_CHECKING:\n    from pytest_audioretrieval.commands import store\n"
A_CIRCLE = "\n\ndef planted() -> None:\n    from pytest_audioretrieval.stats import paired\n"
A_PAPER = "\n\ndef planted() -> None:\n    import pytest_audioretrieval.benchmarks.masb\n"
TORCH = "\n\ndef planted() -> None:\n    import torch\n"


def circles(graph: Graph) -> Iterator[list[str]]:
    """Yield the groups of modules that reach each other."""
    reached = {module: _reached(module, graph) for module in graph}
    seen: set[str] = set()
    for module in sorted(graph):
        group = sorted(other for other in reached[module] if module in reached[other])
        if group and module not in seen:
            seen.update(group)
            yield group


def _reached(module: str, graph: Graph) -> set[str]:
    found: set[str] = set()
    ahead = [*graph[module]]
    while ahead:
        other = ahead.pop()
        if other not in found:
            found.add(other)
            ahead.extend(graph[other])
    return found


def test_no_file_imports_in_a_circle() -> None:
    assert list(circles(imports_of(ROOT / PACKAGE))) == []


def test_a_circle_is_found_wherever_the_import_stands(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").write_text("from p import b\n")
    (package / "b.py").write_text("def later():\n    import p.c\n")
    (package / "c.py").write_text("if TYPE_CHECKING:\n    from p.a import Name\n")
    (package / "d.py").write_text("import p.a\n")
    graph = imports_of(package)
    assert graph == {"p": set(), "p.a": {"p.b"}, "p.b": {"p.c"}, "p.c": {"p.a"}, "p.d": {"p.a"}}
    assert list(circles(graph)) == [["p.a", "p.b", "p.c"]]


@linted
@pytest.mark.parametrize(
    ("file", "planted", "contract", "named"),
    [
        ("metrics/ranking.py", IN_A_FUNCTION, ROOMS, "metrics.ranking -> pytest_audioretrieval.plugin.settings"),
        ("gate/judging.py", FOR_TYPING, ROOMS, "gate.judging -> pytest_audioretrieval.commands.store"),
        ("stats/bootstrap.py", A_CIRCLE, CIRCLES, "No cycles are allowed in pytest_audioretrieval.stats"),
        ("benchmarks/cora/__init__.py", A_PAPER, PAPERS, "benchmarks.cora -> pytest_audioretrieval.benchmarks.masb"),
        ("stats/clusters.py", TORCH, ARRAYS, "stats.clusters -> torch"),
    ],
    ids=["in-a-function", "for-typing", "circle", "papers", "torch"],
)
def test_what_is_planted_is_refused(file: str, planted: str, contract: str, named: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__", "builtin"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / PACKAGE / file).open("a") as opened:
        opened.write(planted)
    code, said = _linted(tmp_path)
    assert code == 1, said
    assert f"{contract} BROKEN" in said
    assert named in said


@linted
def test_the_contracts_are_kept() -> None:
    code, said = _linted(ROOT)
    assert code == 0, said
    assert said.count(" KEPT") == 4


def test_the_picture_is_of_these_imports() -> None:
    """The committed picture is the one that `python tools/draw_architecture.py` makes."""
    assert PICTURE.read_text(encoding="utf-8") == picture()


def _linted(folder: Path) -> tuple[int, str]:
    """Return the exit code of lint-imports in ``folder``, and what it prints in one line."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    command = [LINT, "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())
