"""Stored costs of throughput."""

from __future__ import annotations

import pytest

from pytest_audioretrieval.gate import throughput
from tests.commands.doctor.told import Told, doctor
from tests.plugin.toys import Project

pytestmark = pytest.mark.slow

SPEED = """
import pytest

@pytest.mark.retrieval(directions=["t2a", "a2t"])
def test_clip(throughput):
    throughput.judge(lambda: None, 1, "clip")
"""
CLIP = "baselines/throughput/clip/toy%3AToy.json"


def costs(told: Told) -> dict[str, tuple[str, str]]:
    return {name: row for (what, name), row in told.rows.items() if what == "cost"}


@pytest.fixture
def speed(project: Project) -> Project:
    """A cost of a clip is stored, and one of a frame of another model."""
    project.pytester.makepyfile(test_toys=SPEED)
    ini = project.path / "tox.ini"
    ini.write_text(ini.read_text().replace("-p no:benchmark ", ""))
    for name in (CLIP, "baselines/throughput/frame/toy%3AToy2.json"):
        stored = project.path / name
        stored.parent.mkdir(parents=True)
        stored.write_text('{"device": "cpu", "protocol": "short-clip", "cost": 2.0}')
    return project


def test_stored_costs_of_throughput_are_looked_for(speed: Project) -> None:
    told = doctor(speed)
    assert costs(told) == {"clip of toy:Toy": ("ok", CLIP)}
    assert told.rows["package", "pytest-benchmark"][0] == "ok"
    assert not any(what == "baseline" for what, _ in told.rows)
    assert (told.code, told.torch) == (0, False)
    (speed.path / CLIP).unlink()
    told = doctor(speed)
    assert costs(told) == {"toy:Toy": ("missing", "none is stored")}
    assert told.next == {("cost", "toy:Toy"): "pytest --model toy:Toy . --retrieval-record new"}
    assert (told.code, told.last) == (1, "1 of 7 missing")
    told = doctor(speed, "--retrieval-record", "new")
    assert (told.code, costs(told)) == (0, {"toy:Toy": ("ok", "written by this run")})


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
def test_a_cost_that_is_not_comparable(arguments: list[str], found: str, speed: Project) -> None:
    told = doctor(speed, *arguments)
    assert costs(told)["clip of toy:Toy"] == ("missing", f"{CLIP} {found}")
    assert told.next["cost", "clip of toy:Toy"] == throughput.ANEW


def test_a_damaged_cost(speed: Project) -> None:
    (speed.path / CLIP).write_text("{}")
    assert costs(doctor(speed))["clip of toy:Toy"][0] == "missing"
    assert doctor(speed, "--retrieval-record", "new").code == 1
    assert doctor(speed, "--retrieval-record", "changed").code == 0


def test_the_packaged_suite_of_throughput(project: Project) -> None:
    told = doctor(project, "--retrieval-suite", "throughput", "--model", "builtin/tiny-clap-fused-v2")
    assert costs(told) == {"builtin/tiny-clap-fused-v2": ("missing", "none is stored")}
    command = "pytest --model builtin/tiny-clap-fused-v2 --retrieval-suite throughput --retrieval-record new"
    assert told.next["cost", "builtin/tiny-clap-fused-v2"] == command
    assert (
        told.next["package", "pytest-benchmark"]
        == "pip install 'pytest-audioretrieval[throughput]', and run without -p no:benchmark"
    )
    told = doctor(project, "--retrieval-suite", "throughput", "--model", "builtin/tiny-clap-fused")
    assert costs(told)["query of builtin/tiny-clap-fused"] == (
        "ok", "packaged baselines/throughput/query/builtin--tiny-clap-fused.json",
    )  # fmt: skip
