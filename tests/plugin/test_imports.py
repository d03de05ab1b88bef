"""What a run costs that does not use the plugin, and what a run must not import. Each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.toys import Project, skip_without_xdist

pytestmark = pytest.mark.slow

HEAVY = ("numpy", "scipy", "torch", "transformers", "soundfile", "rich", "msgspec")

#: Ends by printing which heavy modules were imported.
PROBE = f"""
import sys, pytest
code = pytest.main(sys.argv[1:])
print("LOADED", *(name for name in {HEAVY!r} if name in sys.modules))
raise SystemExit(code)
"""


def loaded(project: Project, *args: str) -> list[str]:
    skip_without_xdist(args)
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *args], cwd=project.path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("LOADED")).split()[1:]


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    code = f"import pytest_audioretrieval.plugin, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["alone", "xdist"])
def test_a_run_that_does_not_use_it_imports_nothing_heavy(project: Project, args: list[str]) -> None:
    project.pytester.makepyfile(test_trivial="def test_trivial(): pass")
    project.pytester.makeini("[pytest]\naddopts = -p no:benchmark -p no:hypothesispytest\n")
    assert loaded(project, "test_trivial.py", *args) == []


def test_collecting_imports_no_arrays(project: Project) -> None:
    assert not {"numpy", "scipy", "torch", "soundfile"} & set(loaded(project, "--collect-only", "-q"))


def test_tests_of_the_plugin_do_without_transformers() -> None:
    """Its import takes as long as all others together; in a process that runs other tests too it may be there."""
    code = "import tests.plugin.toys, sys; print('numpy' in sys.modules, 'transformers' in sys.modules)"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
