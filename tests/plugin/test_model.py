"""``--model``, and a user's own ``--model``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.toys import Project, counts

OWN = """
def pytest_addoption(parser):
    parser.addoption("--model", default="mine", help="the user's own")
"""
SAID = "audioretrieval: another plugin or conftest.py defines --model*--retrieval-model alone"


@pytest.fixture
def own(project: Project) -> Project:
    project.pytester.makeconftest(OWN)
    project.pytester.makepyfile(
        test_own="def test_own(request):\n    assert request.config.getoption('model') == 'yes'"
    )
    return project


def test_a_users_own_model_option_works(own: Project) -> None:
    result = own.run("--model", "yes", "test_own.py")
    assert (result.ret, counts(result)) == (0, {"passed": 1})
    result.stdout.no_fnmatch_line(SAID)


def test_ours_then_answers_to_retrieval_model_and_says_so_once(own: Project) -> None:
    result = own.run("--model", "yes", "--retrieval-model", "toy:Other", "--retrieval-record", "new", ".")
    assert (result.ret, counts(result)) == (0, {"passed": 1, "recorded": 3})
    assert list(own.stored()) == ["toys/t2a/toy%3AOther.json"]
    result.stdout.fnmatch_lines([SAID])
    assert sum("another plugin or conftest.py defines --model" in line for line in result.outlines) == 1


@pytest.mark.slow
def test_nor_does_it_stop_pytest_where_warnings_are_errors(own: Project) -> None:
    own.add_ini("filterwarnings = error")
    result = own.run("--model", "yes", "--retrieval-model", "toy:Toy", "--retrieval-record", "new", ".")
    assert (result.ret, counts(result)) == (0, {"passed": 1, "recorded": 3})


def test_the_next_command_then_names_retrieval_model(own: Project) -> None:
    result = own.run("test_toys.py")
    result.stdout.fnmatch_lines(
        ["*record one with: pytest --retrieval-model toy:Toy test_toys.py --retrieval-record new"]
    )


def test_both_names_of_the_option_add_up(project: Project) -> None:
    args = ("--collect-only", "-q", "--model", "a/b", "--retrieval-model", "c/d", "test_toys.py")
    models = {line.split("-")[1] for line in project.run(*args).outlines if "::" in line}
    assert models == {"a/b", "c/d"}


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["required=True", "choices=['s', 'm']", "type=int"])
def test_options_of_others_are_never_parsed_with_values_of_ours(pytester: pytest.Pytester, extra: str) -> None:
    """A user's ``--model`` may admit other values than ours, and another option may be required."""
    name = "--env" if extra.startswith("required") else "--model"
    pytester.makeconftest(f"def pytest_addoption(parser):\n    parser.addoption({name!r}, {extra})\n")
    pytester.makepyfile("def test_nothing(): pass")
    given = {"required=True": "prod", "choices=['s', 'm']": "s", "type=int": "3"}[extra]
    result = pytester.runpytest_subprocess(name, given)
    assert result.ret == 0, result.outlines


@pytest.mark.slow
def test_a_users_own_argument_called_retrieval_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n@pytest.mark.parametrize('retrieval', ['bm25', 'dense'])\ndef test_it(retrieval): pass"
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_forgotten_model_does_not_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(gate): pass")
    result = pytester.runpytest_subprocess()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_it?no-model?*", "no model to judge: name one with --model SPEC*"])


@pytest.mark.slow
@pytest.mark.parametrize("error", ["ModelError", "ConnectionError"])
def test_what_cannot_be_loaded_is_tried_once(error: str, project: Project) -> None:
    """A hub that is down costs its retries once a run, not once a test."""
    project.pytester.makepyfile(
        down=f"""
from pathlib import Path
from pytest_audioretrieval.errors import ModelError

def Down(*, device):
    with Path("tries").open("a") as stream:
        stream.write("x")
    raise {error}("the hub was not reached")
"""
    )
    both = (project.path / "test_toys.py").read_text().replace('directions=["t2a"]', 'directions=["t2a", "a2t"]')
    (project.path / "test_toys.py").write_text(both)
    result = project.run("--model", "down:Down", "test_toys.py")
    assert result.parseoutcomes()["failed"] == 6
    assert (project.path / "tries").read_text() == "x"


def started(folder: Path, *arguments: str) -> str:
    """What ``pytest`` itself says there; unlike ``python -m pytest`` it finds no module of the folder."""
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_module_of_this_folder_that_pytest_does_not_see(tmp_path: Path) -> None:
    (tmp_path / "mine_alone.py").touch()
    said = started(tmp_path, "--model", "mine_alone:Mine", "-k", "margin and t2a")
    assert "ModelError: model 'mine_alone:Mine': No module named 'mine_alone', which is here, but not where" in said
    assert "run `python -m pytest` instead of `pytest`, or set ini pythonpath = ." in said


@pytest.mark.slow
def test_the_path_of_a_model_does_not_move_the_vectors(project: Project, clips: Path) -> None:
    """Without an ini file pytest's rootdir is above both, and so is its own cache."""
    here = project.path / "here"
    here.mkdir()
    (project.path / "tox.ini").unlink()
    (project.path / "toy.py").rename(here / "toy.py")
    asked = ["--model", "toy:Toy", "--retrieval-dataset", str(clips), "--retrieval-record", "new"]
    command = [sys.executable, "-m", "pytest", *asked]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=60)
    assert "10 recorded" in done.stdout, done.stdout
    assert f"rootdir: {here}" not in done.stdout.splitlines()
    assert (here / ".pytest_cache/d/audioretrieval").is_dir()
    assert (here / ".pytest_cache/.gitignore").read_text() == "*\n"
    (here / ".pytest_cache/.gitignore").write_text("the user's")
    subprocess.run(command, cwd=here, capture_output=True, timeout=60)
    assert (here / ".pytest_cache/.gitignore").read_text() == "the user's"


@pytest.mark.slow
def test_the_path_of_a_model_does_not_hide_the_ini_file(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "beside").mkdir()
    (here / "pytest.ini").write_text("[pytest]")
    said = started(here, "--model", "../beside", "--collect-only")
    assert f"so does not read {here / 'pytest.ini'}: write it with '=': --model=../beside" in said
    said = started(here, "--model=../beside", "--collect-only")
    assert "configfile: pytest.ini" in said
    assert "10 tests collected" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "refused"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]", True),
        ("pyproject.toml", "[tool.ruff]", False),
        ("tox.ini", "[pytest]", True),
        ("setup.cfg", "[tool:pytest]", True),
        ("setup.cfg", "[metadata]", False),
    ],
)
def test_nor_a_file_of_others_that_speaks_to_pytest(tmp_path: Path, name: str, text: str, refused: bool) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "beside").mkdir()
    (here / name).write_text(text)
    said = started(here, "--model", "../beside", "--collect-only")
    assert (f"so does not read {here / name}: write it with '=': --model=../beside" in said) is refused
    assert ("10 tests collected" in said) is not refused


@pytest.mark.slow
def test_a_cache_folder_that_cannot_be_made_fails_no_test(project: Project) -> None:
    """The toy keeps no vectors; that a store which cannot says so is tested with the store."""
    project.record()
    shutil.rmtree(project.path / ".pytest_cache", ignore_errors=True)
    (project.path / ".pytest_cache").touch()
    done = project.process()
    assert (done.returncode, " 3 passed" in done.stdout) == (0, True), done.stdout
