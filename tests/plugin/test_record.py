"""``--retrieval-record``: what is written, when, and what it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audioretrieval.plugin.recording import Recorder
from pytest_audioretrieval.runs import baselines
from tests.plugin.toys import CAPTIONS, CLIPS, Project, counts

STORED = "toys/t2a/toy%3AToy.json"


def test_a_missing_baseline_fails_and_says_how_to_record_it(project: Project) -> None:
    result = project.run()
    assert (result.ret, counts(result)) == (1, {"failed": 3})
    result.stdout.fnmatch_lines(
        [
            "BaselineError: no baseline of toy:Toy on toys t2a in baselines: record one with: "
            "pytest --model toy:Toy . --retrieval-record new"
        ]
    )


def test_the_command_it_gives_records(project: Project) -> None:
    line = next(line for line in project.run().outlines if line.startswith("BaselineError"))
    result = project.run(*line.partition("pytest ")[2].split())
    assert counts(result) == {"recorded": 3}


def test_recorded_is_not_passed(project: Project) -> None:
    result = project.run("--retrieval-record", "new", "-v")
    assert (result.ret, counts(result)) == (0, {"recorded": 3})
    result.stdout.fnmatch_lines(["*R@1-toy:Toy-toys-t2a] RECORDED*"])
    result.stdout.fnmatch_lines([f"recorded baselines/{STORED}: new, commit it"])
    result.stdout.no_fnmatch_line("*PASSED*")


def test_what_is_recorded_is_a_run(project: Project) -> None:
    project.run("--retrieval-record", "new")
    run = baselines.read(project.path / "baselines" / STORED)
    assert (run.model.id, run.dataset.name, run.direction) == ("toy:Toy", "toys", "t2a")
    assert (run.dataset.clips, run.dataset.queries) == (CLIPS, CLIPS * CAPTIONS)
    assert run.queries.cluster[:3] == ["clips/01.wav", "clips/01.wav", "clips/02.wav"]
    assert run.queries.first_hit_rank == [1] * (CLIPS * CAPTIONS)
    assert run.metrics["R@1"] == run.metrics["map@10"] == run.metrics["median_rank"] == 1
    assert list(project.stored()) == [STORED]


@pytest.mark.slow
def test_what_was_recorded_is_judged_identical_next(project: Project) -> None:
    project.run("--retrieval-record", "new")
    result = project.run()
    assert (result.ret, counts(result)) == (0, {"passed": 3})
    assert sum(line.endswith(" identical") for line in result.outlines) == 3


def test_new_writes_missing_ones_only(project: Project) -> None:
    project.record()
    before = project.stored()
    project.wrong(12)
    result = project.run("--retrieval-record", "new")
    assert counts(result)["failed"] == 3
    assert project.stored() == before


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "outcome"), [(0, {"passed": 3}), (12, {"recorded": 3})])
def test_changed_writes_what_changed(project: Project, wrong: int, outcome: dict[str, int]) -> None:
    project.record()
    before = project.stored()
    project.wrong(wrong)
    result = project.run("--retrieval-record", "changed")
    assert (result.ret, counts(result)) == (0, outcome)
    assert (project.stored() == before) == (wrong == 0)


def test_changed_writes_missing_ones_too(project: Project) -> None:
    assert counts(project.run("--retrieval-record", "changed")) == {"recorded": 3}
    assert list(project.stored()) == [STORED]


def test_all_writes_the_same_bytes_again(project: Project) -> None:
    project.record()
    before = project.stored()
    assert counts(project.run("--retrieval-record", "all")) == {"recorded": 3}
    assert project.stored() == before


@pytest.mark.slow
def test_a_damaged_baseline_is_replaced_by_changed_alone(project: Project) -> None:
    project.record()
    path = project.path / "baselines" / STORED
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    result = project.run("--retrieval-record", "new")
    result.stdout.fnmatch_lines([f"BaselineError: *{STORED}: no readable run: *"])
    assert result.ret == 1
    assert counts(project.run("--retrieval-record", "changed")) == {"recorded": 3}
    assert path.read_bytes() == whole


def test_a_link_to_nowhere_of_another_model_matters_to_nobody(project: Project) -> None:
    link = project.path / "baselines/toys/t2a/toy%3AOther.json"
    link.parent.mkdir(parents=True)
    link.symlink_to("nowhere")
    assert counts(project.run("--retrieval-record", "new")) == {"recorded": 3}
    assert counts(project.run()) == {"passed": 3}
    project.run("--retrieval-baseline", "toy:Third").stdout.fnmatch_lines(["*; there are toy:Toy: record one with*"])


@pytest.mark.slow
def test_a_link_to_nowhere_is_named_where_its_run_is_asked_for(project: Project) -> None:
    link = project.path / "baselines" / STORED
    link.parent.mkdir(parents=True)
    link.symlink_to("annex/toy.json")
    said = f"BaselineError: {link} is a link to annex/toy.json, which is no file here: fetch that, or remove the link"
    for arguments in ([], ["--retrieval-record", "new"]):
        done = project.run(*arguments)
        assert counts(done) == {"failed": 3}
        done.stdout.fnmatch_lines([said])
    assert link.is_symlink()
    assert counts(project.run("--retrieval-record", "changed")) == {"recorded": 3}
    assert not link.is_symlink()
    assert counts(project.run()) == {"passed": 3}


@pytest.mark.slow
def test_a_model_judged_against_another_is_recorded_under_its_own_name(project: Project) -> None:
    """What the marker compares with must not decide whether this model's own run is stored."""
    project.record()
    project.pytester.makepyfile(
        test_toys="""
        import pytest
        from pytest_audioretrieval.metrics import hit_rate

        @pytest.mark.retrieval(models=["toy:Other"], directions=["t2a"], baseline="toy:Toy")
        def test_upgrade(gate):
            gate.non_inferior(hit_rate(1), margin=0.03)
        """
    )
    assert counts(project.run()) == {"passed": 1}
    assert counts(project.run("--retrieval-record", "new")) == {"recorded": 1}
    assert sorted(project.stored()) == ["toys/t2a/toy%3AOther.json", STORED]


def test_a_path_that_cannot_hold_baselines_fails_the_test(project: Project) -> None:
    (project.path / "taken").write_text("a regular file")
    result = project.run("--retrieval-record", "new", "--retrieval-baselines", "taken/inside")
    assert (result.ret, counts(result)) == (1, {"failed": 3})
    result.stdout.fnmatch_lines(["BaselineError: *toy%3AToy.json was not written (Not a directory)*"])
    result.stdout.no_fnmatch_line("*recorded taken*")


FULL = """
import resource, pytest

@pytest.fixture(autouse=True)
def full_disk():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield resource.setrlimit(resource.RLIMIT_FSIZE, (600, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
"""


@pytest.mark.slow
def test_a_full_disk_fails_the_test_and_leaves_the_old_baseline(project: Project) -> None:
    project.record()
    before = project.stored()
    project.pytester.makeconftest(FULL)
    done = project.process(
        "--retrieval-record", "changed", TOY_WRONG="12", TOY_LOG="/dev/null", PYTHONDONTWRITEBYTECODE="1"
    )
    assert done.returncode == 1, done.stdout
    assert counts(done) == {"failed": 3}
    assert "toy%3AToy.json was not written (File too large), what stood there before is intact" in done.stdout
    assert project.stored() == before


@pytest.mark.slow
def test_a_run_that_another_worker_writes_between_two_looks_is_not_judged(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.record()
    path = project.path / "baselines" / STORED
    content, look = path.read_bytes(), Recorder.written_now
    path.unlink()

    def looked(recorder: Recorder, path: Path) -> bool:
        found = look(recorder, path)
        path.write_bytes(content)
        return found

    monkeypatch.setattr(Recorder, "written_now", looked)
    assert counts(project.run("--retrieval-record", "new")) == {"recorded": 3}


def test_record_and_baseline_exclude_each_other(project: Project) -> None:
    result = project.run("--retrieval-record", "new", "--retrieval-baseline", "toy:Other")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --retrieval-record and --retrieval-baseline exclude each other: *"])


def test_junit_calls_recorded_tests_skipped(project: Project) -> None:
    project.run("--retrieval-record", "new", "--junitxml", "out.xml")
    content = (project.path / "out.xml").read_text()
    assert 'skipped="3"' in content
    assert f"recorded baselines/{STORED}" in content
