"""Matrix of environments: ``nox --list`` names them, ``nox -s "newest-3.11(workers=2)" -- tests/metrics`` runs one.

Without arguments after ``--`` a session runs all tests. The variable TORCH chooses the torch of the sessions
``newest``, such as ``TORCH=torch==2.13.0``, because its builds differ by gigabytes; by default it is the newest one.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import nox
from packaging.requirements import Requirement

nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["newest", "oldest", "without_torch", "wheel"]

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TORCH = os.environ.get("TORCH", "torch")
#: Dependencies that metrics and statistics do without, because they bring torch or serve models alone.
MODELS = {"torch", "transformers", "safetensors", "huggingface-hub"}
#: The tests share the cores between processes, not between threads.
ENVIRONMENT = {"OMP_NUM_THREADS": "1"}
PROJECT = nox.project.load_toml("pyproject.toml")["project"]


@nox.session(python=PYTHONS)
@nox.parametrize("workers", [0, 2])
def newest(session: nox.Session, workers: int) -> None:
    """Run the tests with the newest of all dependencies, in one process or two."""
    session.install(TORCH)
    session.install("--editable", ".[all]", *(["pytest-xdist"] if workers else []))
    _test(session, *(["-n", str(workers), "--dist", "loadfile"] if workers else []))


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest dependencies that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", "--editable", ".[all]", _lowest("pytest-xdist"))
    _test(session, "-n", "2", "--dist", "loadfile")


@nox.session(python=PYTHONS[0])
def without_torch(session: nox.Session) -> None:
    """Run the tests of metrics and statistics where there is no torch."""
    needed = [one for one in PROJECT["dependencies"] if Requirement(one).name not in MODELS]
    extras = PROJECT["optional-dependencies"]
    session.install(*needed, *extras["analysis"], *extras["testing"])
    session.install("--no-deps", "--editable", ".")
    session.run("python", "-c", "import importlib.util as found; assert found.find_spec('torch') is None")
    session.run("pytest", *(session.posargs or ["tests/metrics", "tests/stats"]), env=ENVIRONMENT)


@nox.session(python=PYTHONS[0])
def wheel(session: nox.Session) -> None:
    """Build the distribution, check it, and gate from it in a folder of its own."""
    session.install(TORCH)
    session.install("build", "hatchling", "twine")
    folder = Path(session.create_tmp())
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"))
    session.run("twine", "check", "--strict", *map(str, (folder / "dist").iterdir()))
    (built,) = (folder / "dist").glob("*.whl")
    session.install(str(built))
    with TemporaryDirectory() as elsewhere, session.chdir(elsewhere):
        session.run("pytest", "--model", "builtin/tiny-clap-fused", env=ENVIRONMENT)


def _test(session: nox.Session, *arguments: str) -> None:
    session.run("pytest", *arguments, *session.posargs, env=ENVIRONMENT)


def _lowest(name: str) -> str:
    """Return the requirement of a development tool as pyproject.toml states it."""
    return next(one for one in PROJECT["optional-dependencies"]["dev"] if Requirement(one).name == name)
