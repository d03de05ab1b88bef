"""Stored figures of throughput, of which a test says itself which it judges."""

from __future__ import annotations

import pytest

from pytest_audioretrieval import throughput
from tests.doctor.told import Told, doctor
from tests.plugin.toys import Project

SPEED = """
import pytest

@pytest.mark.retrieval(directions=["t2a", "a2t"])
@pytest.mark.parametrize("name", ["query", "frame"])
def test_named(throughput, name):
    throughput.judge(lambda: None, 1, name)

class TestSpeed:
    def test_clip(self, throughput):
        self.judge(lambda: None, 1, "nothing")
        throughput.judge(lambda: "other", what="clip", items=1)

    def judge(self, *_):
        pass
"""
HELPED = "def test_helped(throughput): helper(throughput)"


def figures(told: Told) -> dict[str, tuple[str, str]]:
    return {name: row for (what, name), row in told.rows.items() if what == "figure"}


@pytest.fixture
def speed(project: Project) -> Project:
    """A figure of a clip is stored, none of a query or a frame."""
    project.pytester.makepyfile(test_toys=SPEED)
    ini = project.path / "tox.ini"
    ini.write_text(ini.read_text().replace("-p no:benchmark ", ""))
    stored = project.path / "baselines/throughput/clip/toy%3AToy.json"
    stored.parent.mkdir(parents=True)
    stored.write_text('{"device": "cpu", "protocol": "short-clip", "cost": 2.0}')
    return project


def test_stored_figures_of_throughput_are_looked_for(speed: Project) -> None:
    told = doctor(speed)
    none, command = ("missing", "none is stored"), "pytest --model toy:Toy . --retrieval-record new"
    assert figures(told) == {
        "clip of toy:Toy": ("ok", "baselines/throughput/clip/toy%3AToy.json"),
        "frame of toy:Toy": none,
        "query of toy:Toy": none,
    }
    assert told.next == {("figure", f"{what} of toy:Toy"): command for what in ("frame", "query")}
    assert (told.code, told.last, told.torch) == (1, "2 of 9 missing", False)
    assert told.rows["package", "pytest-benchmark"][0] == "ok"
    assert not any(what == "baseline" for what, _ in told.rows)
    told = doctor(speed, "--retrieval-record", "new")
    assert (told.code, figures(told)["query of toy:Toy"]) == (0, ("ok", "written by this run"))
    assert figures(told)["clip of toy:Toy"] == ("ok", "baselines/throughput/clip/toy%3AToy.json")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--retrieval-device", "mps"], "is not comparable: its device is cpu, this run's is mps"),
        (
            ["--retrieval-protocol", "full-clip"],
            "is not comparable: its protocol is short-clip, this run's is full-clip",
        ),
    ],
)
def test_a_figure_that_is_not_comparable(arguments: list[str], found: str, speed: Project) -> None:
    told = doctor(speed, *arguments)
    assert figures(told)["clip of toy:Toy"] == ("missing", f"baselines/throughput/clip/toy%3AToy.json {found}")
    assert told.next["figure", "clip of toy:Toy"] == throughput.ANEW


def test_a_damaged_figure_and_one_that_only_the_test_knows(speed: Project) -> None:
    (speed.path / "baselines/throughput/clip/toy%3AToy.json").write_text("{}")
    assert figures(doctor(speed))["clip of toy:Toy"][0] == "missing"
    assert doctor(speed, "--retrieval-record", "changed").code == 0
    speed.pytester.makepyfile(test_toys=HELPED)
    assert figures(doctor(speed)) == {
        "toy:Toy": ("ok", "only the test knows which it judges, when it runs: not looked for")
    }


def test_a_name_that_no_figure_has(speed: Project) -> None:
    speed.pytester.makepyfile(test_toys="def test_up(throughput): throughput.judge(print, 1, '../x')")
    told = doctor(speed)
    assert figures(told)["../x of toy:Toy"] == ("missing", "what is '../x'")
    assert told.next["figure", "../x of toy:Toy"].startswith("expected a name of letters")


def test_the_packaged_suite_of_throughput(project: Project) -> None:
    told = doctor(project, "--retrieval-suite", "throughput", "--model", "builtin/tiny-clap-fused-v2")
    assert [state for state, _ in figures(told).values()] == ["missing", "missing"]
    command = "pytest --model builtin/tiny-clap-fused-v2 --retrieval-suite throughput --retrieval-record new"
    assert told.next["figure", "clip of builtin/tiny-clap-fused-v2"] == command
    assert told.next["package", "pytest-benchmark"] == "pip install pytest-benchmark, and run without -p no:benchmark"
    told = doctor(project, "--retrieval-suite", "throughput", "--model", "builtin/tiny-clap-fused")
    assert figures(told)["query of builtin/tiny-clap-fused"] == (
        "ok", "packaged baselines/throughput/query/builtin--tiny-clap-fused.json",
    )  # fmt: skip
