"""``--retrieval-suite``: packaged suites, from any folder, without paths."""

from __future__ import annotations

import pytest

from tests.plugin.toys import Project

pytestmark = pytest.mark.slow


@pytest.fixture
def empty(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty folder; other plugins only cost time."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:benchmark -p no:hypothesispytest")
    return pytester


def listed(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_captions_from_an_empty_folder(empty: pytest.Pytester) -> None:
    result = empty.runpytest_inprocess("--collect-only", "-q", "--retrieval-suite", "captions")
    assert result.ret == 0
    names = listed(result)
    assert len(names) == 10
    assert "suites/captions.py::test_not_inferior[R@1-builtin/tiny-clap-fused-sounds-t2a]" in names
    assert "suites/captions.py::test_separation_not_inferior[margin-builtin/tiny-clap-fused-sounds-a2t]" in names


def test_a_model_alone_collects_captions(empty: pytest.Pytester) -> None:
    names = listed(empty.runpytest_inprocess("--collect-only", "-q", "--model", "a/b"))
    assert len(names) == 10
    assert all(name.startswith("suites/captions.py::") for name in names)


def test_several_suites_each_once(empty: pytest.Pytester) -> None:
    args = [word for name in ("captions", "protocol", "captions") for word in ("--retrieval-suite", name)]
    names = listed(empty.runpytest_inprocess("--collect-only", "-q", *args))
    assert len(names) == len(set(names))
    assert {name.partition("::")[0] for name in names} == {"suites/captions.py", "suites/protocol.py"}


def test_an_unknown_suite_shows_the_nearest(empty: pytest.Pytester) -> None:
    result = empty.runpytest_inprocess("--retrieval-suite", "caption")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: --retrieval-suite 'caption': did you mean 'captions'? there are binding, captions, *"]
    )


def test_a_path_keeps_suites_away(project: Project) -> None:
    names = listed(project.run("--collect-only", "-q", "--model", "toy:Toy", "test_toys.py"))
    assert {name.partition("::")[0] for name in names} == {"test_toys.py"}


def test_none_in_the_ini_file_keeps_suites_away(project: Project) -> None:
    project.add_ini("retrieval_suite = none")
    names = listed(project.run("--collect-only", "-q", "--model", "toy:Toy"))
    assert {name.partition("::")[0] for name in names} == {"test_toys.py"}


def test_a_suite_runs_on_the_users_clips(project: Project) -> None:
    result = project.run("--retrieval-suite", "captions", "--retrieval-record", "new")
    assert result.ret == 0
    assert sorted(project.stored()) == ["toys/a2t/toy%3AToy.json", "toys/t2a/toy%3AToy.json"]
    result = project.run("--retrieval-suite", "captions")
    assert result.ret == 0
    assert sum(line.endswith(" identical") for line in result.outlines) == 10


def test_the_protocol_suite_passes_on_a_model_that_is_measurable(project: Project) -> None:
    result = project.run("--retrieval-suite", "protocol")
    assert result.ret == 0, result.outlines


def test_the_protocol_suite_sees_what_is_wrong(project: Project) -> None:
    """Vectors that depend on the batch, and one vector for two clips."""
    project.pytester.makepyfile(
        crooked="""
import numpy as np
from toy import Toy, unit

class Crowded(Toy):
    def embed_audio(self, windows, protocol):
        rows = super().embed_audio(windows, protocol)
        return rows if len(windows) == 1 else unit(list(rows[::-1]))

class Twins(Toy):
    def embed_audio(self, windows, protocol):
        return super().embed_audio([np.zeros_like(w) + min(float(w.mean()), 39 / 64) for w in windows], protocol)

class Long(Toy):
    def embed_audio(self, windows, protocol):
        return 2 * super().embed_audio(windows, protocol)

class Collapsed(Toy):
    def embed_audio(self, windows, protocol):
        return unit([np.eye(32)[0] + 1e-3 * row for row in super().embed_audio(windows, protocol)])
"""
    )

    def failed(model: str) -> set[str]:
        result = project.run("--retrieval-suite", "protocol", "--model", f"crooked:{model}")
        return {line.split("::")[1].split("[")[0] for line in result.outlines if line.startswith(("FAILED", "ERROR "))}

    assert failed("Crowded") == {"test_ranks_do_not_depend_on_how_clips_are_embedded"}
    assert failed("Twins") == {"test_different_clips_have_different_vectors"}
    assert "test_vectors_are_finite_and_unit" in failed("Long")
    assert failed("Collapsed") == {"test_vectors_are_not_collapsed"}


def test_an_id_of_a_packaged_suite_can_be_pasted(project: Project) -> None:
    project.record("--retrieval-suite", "captions")
    wanted = "suites/captions.py::test_not_inferior[R@1-toy:Toy-toys-t2a]"
    result = project.run("--model", "toy:Toy", wanted)
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 1}
    unknown = project.run("--model", "toy:Toy", "suites/captoins.py::test_x")
    unknown.stderr.fnmatch_lines(["*did you mean 'captions'?*"])


def test_the_header_names_the_suite_nobody_asked_for(project: Project) -> None:
    said = "audioretrieval: packaged suite captions (a suite of your own runs when its path is given)"
    assert said in project.run("--model", "toy:Toy", "--collect-only").outlines
    assert said not in project.run("--model", "toy:Toy", "--collect-only", "test_toys.py").outlines
