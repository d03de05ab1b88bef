"""The wheel holds all that the package reads, and works where there is no checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BUILTIN = ROOT / "pytest_audioretrieval/models/builtin"
RECORDINGS = ROOT / "pytest_audioretrieval/data/sounds/recordings"

CAPTIONS = ("--retrieval-suite", "captions", "--model", "builtin/tiny-clap-fused")

SUITE = """
import pytest
from pytest_audioretrieval.metrics import hit_rate

@pytest.mark.retrieval(directions=["t2a"])
def test_not_inferior(gate):
    gate.non_inferior(hit_rate(1), margin=0.03)
"""

IMPORTED = """
from importlib.metadata import distribution
import pytest_audioretrieval
from pytest_audioretrieval import load_dataset
from pytest_audioretrieval.base.shipped import shipped

found = distribution("pytest-audioretrieval")
print(pytest_audioretrieval.__file__)
print(shipped("PINS.json"))
print(found.locate_file(""))
print([point.value for point in found.entry_points if point.group == "pytest11"])
print(len(load_dataset("sounds-single").clips))
"""


def done(*command: str | Path, cwd: Path, **environment: str) -> str:
    """What a command prints; it has to succeed."""
    found = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is installed."""
    folder = tmp_path_factory.mktemp("site")
    done("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, wheel, cwd=folder)
    return folder


def write_clips(folder: Path) -> None:
    """A dataset of three of the recordings."""
    folder.mkdir()
    lines = []
    for name in ("cow", "door", "pop"):
        shutil.copy(RECORDINGS / f"{name}.flac", folder)
        lines.append(json.dumps({"audio": f"{name}.flac", "captions": [f"the sound of a {name}"]}))
    (folder / "captions.jsonl").write_text("\n".join(lines))
    (folder / "dataset.toml").write_text('name = "three"\nlicence = "CC0-1.0"\n')


def run(*arguments: str, site: Path, cwd: Path) -> str:
    """pytest with the plugin of ``site`` and no other, in front of any installed checkout."""
    return done(
        "-m",
        "pytest",
        "-p",
        "pytest_audioretrieval.plugin",
        *arguments,
        cwd=cwd,
        PYTHONPATH=str(site),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )


def test_it_holds_what_the_package_reads_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"pytest_audioretrieval/base/_shipped/{path}" for path in ("__init__.py", "PINS.json")}
    for top in ("suites", "baselines"):
        paths = [path for path in (ROOT / top).rglob("*") if path.suffix in (".py", ".json")]
        shipped |= {f"pytest_audioretrieval/base/_shipped/{path.relative_to(ROOT).as_posix()}" for path in paths}
    files = [*BUILTIN.rglob("*.*"), *RECORDINGS.iterdir(), *(ROOT / "pytest_audioretrieval").rglob("*.py")]
    shipped |= {path.relative_to(ROOT).as_posix() for path in (*files, ROOT / "pytest_audioretrieval/py.typed")}
    packed = {name for name in names if ".dist-info/" not in name}
    assert packed == shipped
    assert {"captions.py", "protocol.py"} <= {Path(name).name for name in packed if "/base/_shipped/suites/" in name}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_index_would_take_it(wheel: Path, tmp_path: Path) -> None:
    """The description of the project can be rendered, and the metadata are whole."""
    pytest.importorskip("twine")
    assert "PASSED" in done("-m", "twine", "check", "--strict", wheel, cwd=tmp_path, NO_COLOR="1")


def test_what_is_imported_is_what_was_installed(site: Path, tmp_path: Path) -> None:
    package, pins, distribution, points, clips = done("-c", IMPORTED, cwd=tmp_path, PYTHONPATH=str(site)).splitlines()
    assert Path(package) == site / "pytest_audioretrieval/__init__.py"
    assert Path(pins) == site / "pytest_audioretrieval/base/_shipped/PINS.json"
    assert Path(distribution) == site
    assert points == "['pytest_audioretrieval.plugin']"
    assert int(clips) == len(list(RECORDINGS.glob("*.flac")))


def test_its_suite_is_collected_from_an_empty_folder(site: Path, tmp_path: Path) -> None:
    out = run("--collect-only", "-q", *CAPTIONS, site=site, cwd=tmp_path)
    ids = re.findall(r"^\S+::\S+$", out, flags=re.M)
    assert len(ids) == 10
    assert ids[0] == "suites/captions.py::test_not_inferior[R@1-builtin/tiny-clap-fused-sounds-t2a]"
    assert {id.partition("::")[0] for id in ids} == {"suites/captions.py"}
    assert list(tmp_path.iterdir()) == []


def test_its_entry_point_loads_it(site: Path, tmp_path: Path) -> None:
    out = done("-m", "pytest", "--help", cwd=tmp_path, PYTHONPATH=str(site))
    assert "--retrieval-suite" in out


def test_a_suite_named_like_ours_may_stand_beside_it(site: Path, tmp_path: Path) -> None:
    """Modules of the same name in two packages called ``suites`` would shadow one another."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/__init__.py").touch()
    (tmp_path / "suites/test_own.py").write_text("from suites.test_own import __name__ as n\ndef test(): assert n")
    out = run("--collect-only", "-q", "suites", *CAPTIONS, site=site, cwd=tmp_path)
    assert "suites/test_own.py::test" in out
    assert "suites/captions.py::test_not_inferior" in out


def test_it_records_and_judges_where_there_is_no_checkout(site: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(SUITE)
    write_clips(tmp_path / "clips")
    arguments = ("--model", "builtin/tiny-clap-unfused", "--retrieval-dataset", "clips", "test_mine.py")
    assert "1 recorded" in run(*arguments, "--retrieval-record", "new", site=site, cwd=tmp_path)
    out = run(*arguments, site=site, cwd=tmp_path)
    assert "1 passed" in out
    assert "identical" in out
