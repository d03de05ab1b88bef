"""``@pytest.mark.retrieval``: what it says and what it refuses."""

from __future__ import annotations

import pytest

from pytest_audioretrieval.runs.directions import USUAL
from tests.plugin.toys import Project, counts, has_traceback


def collect(project: Project, marker: str, *args: str) -> pytest.RunResult:
    project.pytester.makepyfile(
        test_toys=f"""
        import pytest

        @pytest.mark.retrieval({marker})
        def test_it(gate): ...
        """
    )
    return project.run("--collect-only", "-q", *args)


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("dataset=['toys']", "unknown keyword 'dataset', expected one of models, datasets, directions, baseline"),
        ("margin=0.03", "unknown keyword 'margin', expected one of models, datasets, directions, baseline"),
        ("models='a/b'", "models='a/b', expected a list that is not empty"),
        ("directions=[]", "directions=[], expected a list that is not empty"),
        ("datasets=3", "datasets=3, expected a list that is not empty"),
        ("models={'a/b'}", "models={'a/b'}, expected a list that is not empty"),
        ("models=['a/b', 3]", "models=['a/b', 3], expected strings in the list"),
        ("baseline=['a/b']", "baseline=['a/b'], expected a string"),
        ("directions=['t2t']", "direction is 't2t', expected one of t2a, a2t"),
        ("['toys']", "takes keywords only, found (['toys'],): write datasets=[...]"),
        ("models=['nothing']", "model 'nothing' is no hub id"),
        ("models=[__import__('pathlib').Path('/nowhere')]", "model folder '/nowhere' does not exist"),
    ],
)
def test_a_wrong_marker_is_one_line(project: Project, marker: str, expected: str) -> None:
    result = collect(project, marker)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    said = [line for line in (*result.outlines, *result.errlines) if expected in line]
    assert said
    assert all("test_toys.py::test_it" in line for line in said)
    assert not has_traceback(result)


def test_a_wrong_dataset_of_a_marker(project: Project, clips: object) -> None:
    project.ini(clips="")  # type: ignore[arg-type]
    result = collect(project, "datasets=['sound']")
    result.stdout.fnmatch_lines(["*dataset 'sound' is neither a folder nor a known name: did you mean 'sounds'?*"])


def test_a_marker_of_the_module_is_completed_by_that_of_the_test(project: Project) -> None:
    project.pytester.makepyfile(
        test_toys="""
        import pytest
        pytestmark = pytest.mark.retrieval(directions=["a2t"], models=["m/one"])

        def test_module(gate): ...

        @pytest.mark.retrieval(models=["m/two"])
        def test_own(gate): ...
        """
    )
    assert project.run("--collect-only", "-q").outlines[:2] == [
        "test_toys.py::test_module[m/one-toys-a2t]",
        "test_toys.py::test_own[m/two-toys-a2t]",
    ]


def test_the_marker_is_registered(project: Project) -> None:
    result = project.run("--markers")
    (line,) = (one for one in result.outlines if one.startswith("@pytest.mark.retrieval("))
    assert line.startswith("@pytest.mark.retrieval(models, datasets, directions, baseline): ")
    assert all(repr(direction) in line for direction in USUAL)
    assert counts(project.run("--strict-markers", "--retrieval-record", "new")) == {"recorded": 3}


def test_a_folder_of_a_marker_is_under_the_rootdir(project: Project, clips: object) -> None:
    project.ini(clips="")  # type: ignore[arg-type]
    from tests.plugin.toys import write_clips

    write_clips(project.path / "mine", name="mine", clips=3)
    project.monkeypatch.chdir(project.pytester.mkdir("inner"))
    result = collect(project, "datasets=['mine'], directions=['t2a']", "..")
    assert "test_it[toy:Toy-mine-t2a]" in result.outlines[0]
