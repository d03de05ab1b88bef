"""Lines of pip that messages and pages name: each extra exists, and they are written in one way."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
TEXTS = [
    ROOT / "README.md",
    *(ROOT / "docs").rglob("*.md"),
    *(path for folder in ("pytest_audioretrieval", "suites") for path in (ROOT / folder).rglob("*.py")),
]
LINE = re.compile(r"pip install '?([\w.-]+)\[(\w+)\]")


def test_every_extra_that_is_named_exists() -> None:
    named = {found for path in TEXTS for found in LINE.findall(path.read_text(encoding="utf-8"))}
    ours = {extra for project, extra in named if project == "pytest-audioretrieval"}
    assert ours == {"all", "analysis", "hub", "testing", "throughput"}
    assert {project for project, _ in named} <= {"pytest-audioretrieval", "mteb"}


def test_one_extra_brings_each_of_them() -> None:
    """``all`` holds what the other extras for users hold, and ``dev`` builds on it."""
    assert [re.split(r"[>=]", one)[0] for one in EXTRAS["testing"]] == ["hypothesis"]
    assert [re.split(r"[>=]", one)[0] for one in EXTRAS["throughput"]] == ["pytest-benchmark"]
    assert "scipy" in [re.split(r"[>=]", one)[0] for one in EXTRAS["analysis"]]
    assert EXTRAS["all"] == ["pytest-audioretrieval[analysis,hub,testing,throughput]"]
    assert EXTRAS["dev"][0] == "pytest-audioretrieval[all,docs]"
