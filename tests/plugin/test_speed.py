"""Fixture ``throughput``: recorded, told, and failed by what is stored; times are of loops whose ratio is known."""

from __future__ import annotations

import json
import re

import pytest

from pytest_audioretrieval.plugin.throughput_needs import NO_BENCHMARK
from tests.plugin.toys import Project, counts

pytestmark = pytest.mark.slow

SPEED = """
import os
import pytest

@pytest.mark.retrieval(directions=["t2a"])
def test_speed(throughput):
    steps = int(os.environ.get("STEPS", "200_000"))
    throughput.judge(lambda: [sum(range(steps)) for _ in range(2)], 2, "clip")
"""
STORED = "throughput/clip/toy%3AToy.json"


@pytest.fixture
def timed(project: Project) -> Project:
    # Set where these tests run under -n; pytest-benchmark would take the project's own run for a worker's and not time.
    project.monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    project.pytester.makepyfile(test_toys=SPEED)
    ini = project.path / "tox.ini"
    ini.write_text(ini.read_text().replace("-p no:benchmark ", ""))
    assert counts(project.run("--retrieval-record", "new")) == {"recorded": 1}
    return project


def test_what_is_recorded_is_judged_and_told(timed: Project) -> None:
    assert list(timed.stored()) == [STORED]
    stored = json.loads(timed.stored()[STORED])
    assert (stored["device"], stored["protocol"]) == ("cpu", "short-clip")
    # A tenth of the work would pass by far, whatever the machine does meanwhile.
    timed.monkeypatch.setenv("STEPS", "20_000")
    done = timed.run()
    assert counts(done) == {"passed": 1}
    said = re.search(
        r"^a clip of toy:Toy takes \S+ of the reference workload, (\S+) times the (\S+) in baselines/" + STORED + "$",
        done.stdout.str(),
        re.MULTILINE,
    )
    assert said is not None
    assert float(said[1]) < 0.5
    assert float(said[2]) == pytest.approx(stored["cost"], rel=0.01)


def test_ten_times_the_work_fails(timed: Project) -> None:
    timed.monkeypatch.setenv("STEPS", "2_000_000")
    done = timed.run()
    assert counts(done) == {"failed": 1}
    done.stdout.re_match_lines(
        [r"a clip of toy:Toy takes .* expected at most 1.5 times: find what became slower, or .*"]
    )


def test_nothing_stored_is_a_command_that_stores(timed: Project) -> None:
    (timed.path / "baselines" / STORED).unlink()
    timed.run().stdout.fnmatch_lines(
        ["no cost of a clip of toy:Toy is stored: record it with: pytest --model toy:Toy . --retrieval-record new"]
    )


def test_without_the_plugin_it_is_skipped_and_says_so(timed: Project) -> None:
    done = timed.run("-p", "no:benchmark", "-rs")
    assert counts(done) == {"skipped": 1}
    done.stdout.fnmatch_lines([f"*: {NO_BENCHMARK}".replace("[", "[[]")])


def test_changed_records_what_would_fail_and_nothing_else(timed: Project) -> None:
    before = timed.stored()[STORED]
    timed.monkeypatch.setenv("STEPS", "20_000")
    assert counts(timed.run("--retrieval-record", "changed")) == {"passed": 1}
    assert timed.stored()[STORED] == before
    timed.monkeypatch.setenv("STEPS", "2_000_000")
    assert counts(timed.run("--retrieval-record", "changed")) == {"recorded": 1}
    assert json.loads(timed.stored()[STORED])["cost"] > 2 * json.loads(before)["cost"]
    (timed.path / "baselines" / STORED).write_text("{}")
    assert counts(timed.run("--retrieval-record", "new")) == {"failed": 1}
    assert counts(timed.run("--retrieval-record", "changed")) == {"recorded": 1}


def test_a_name_that_leaves_the_baselines_is_refused(timed: Project) -> None:
    timed.pytester.makepyfile(test_toys=SPEED.replace('"clip"', '"../../clip"'))
    done = timed.run("--retrieval-record", "all")
    assert counts(done) == {"failed": 1}
    done.stdout.fnmatch_lines(["SpecError: what is '../../clip', expected a name of letters, digits, '-' and '_'*"])
    assert list(timed.stored()) == [STORED]


def test_two_tests_of_one_figure_record_it_once(timed: Project) -> None:
    timed.pytester.makepyfile(test_toys=SPEED + SPEED.replace("test_speed", "test_again").partition("import pytest")[2])
    assert counts(timed.run("--retrieval-record", "all")) == {"recorded": 2}


def test_a_second_figure_in_one_test_is_refused_before_it_is_timed(timed: Project) -> None:
    again = '    throughput.judge(lambda: open("timed", "w"), 1, "query")\n'
    timed.pytester.makepyfile(test_toys=SPEED + again)
    done = timed.run()
    assert counts(done) == {"failed": 1}
    done.stdout.fnmatch_lines(["SpecError: query is judged after clip, expected one cost a test: give each its own"])
    assert not (timed.path / "timed").exists()


def test_one_take_is_no_figure(timed: Project) -> None:
    """xdist switches pytest-benchmark off: a first take is cold, and was recorded as the cost."""
    done = timed.run("--benchmark-disable", "--retrieval-record", "all", "-rs")
    assert counts(done) == {"skipped": 1}
    done.stdout.fnmatch_lines(["*throughput needs repeated takes: run without -n*"])
