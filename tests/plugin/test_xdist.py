"""Two processes find what one finds, and write what one writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.plugin.toys import Project, counts

pytestmark = pytest.mark.slow

BOTH = """
import pytest
from pytest_audioretrieval.metrics import hit_rate, margin

@pytest.mark.parametrize("metric", [hit_rate(1), hit_rate(5), hit_rate(10), margin()], ids=str)
def test_not_inferior(gate, metric):
    gate.non_inferior(metric, margin=0.03)
"""
#: A path is given, so that no packaged suite is collected.
MODELS = ("--model", "toy:Toy", "--model", "toy:Other", "test_toys.py")


@pytest.fixture
def both(project: Project) -> Project:
    project.pytester.makepyfile(test_toys=BOTH)
    return project


def rows(lines: list[str]) -> list[str]:
    """Headings and rows of the tables at the end."""
    return [line.rstrip() for line in lines if re.match(r"toy:\w+ on |(R@|margin ).*\]  ", line)]


def findings(path: Path) -> list[dict[str, object]]:
    """Without the group that ``--dist loadgroup`` appends to node ids."""
    found: list[dict[str, object]] = json.loads(path.read_text())["findings"]
    return [finding | {"test": str(finding["test"]).partition("]@")[0].removesuffix("]")} for finding in found]


def test_recording(both: Project) -> None:
    done = both.process("-n2", *MODELS, "--retrieval-record", "new")
    assert (done.returncode, counts(done)) == (0, {"recorded": 16}), done.stdout
    assert done.stdout.count(": new, commit it") == 4
    stored = both.stored()
    assert len(stored) == 4
    (both.path / "baselines").rename(both.path / "two")
    both.run("-n0", *MODELS, "--retrieval-record", "new")
    assert both.stored() == stored


@pytest.mark.parametrize("way", [(), ("--dist", "loadgroup")], ids=["load", "loadgroup"])
def test_judging(both: Project, way: tuple[str, ...]) -> None:
    both.record(*MODELS)
    done = both.process("-n2", *way, *MODELS, "--retrieval-json", "two.json", TOY_WRONG="12")
    both.wrong(12)
    alone = both.run("-n0", *MODELS, "--retrieval-json", "one.json")
    assert done.returncode == alone.ret == 1, done.stdout
    assert counts(done) == counts(alone)
    one = findings(both.path / "one.json")
    assert findings(both.path / "two.json") == one
    assert {finding["verdict"] for finding in one} >= {"regressed"}
    assert len(rows(alone.outlines)) == 4 + 16
    assert rows(done.stdout.splitlines()) == rows(alone.outlines)


def test_cases_of_one_model_and_dataset_are_one_group(both: Project) -> None:
    pytest.importorskip("xdist")
    both.pytester.makeconftest(
        """
        def pytest_collection_finish(session):
            for item in session.items:
                print("GROUP", *(mark.args[0] for mark in item.iter_markers("xdist_group")))
        """
    )
    result = both.run("--collect-only", "-q", *MODELS)
    groups = [line.split()[1:] for line in result.outlines if line.startswith("GROUP")]
    assert sorted(groups) == [["toy:Other-toys"]] * 8 + [["toy:Toy-toys"]] * 8


def test_a_run_recorded_by_one_worker_is_not_judged_by_another(project: Project) -> None:
    """What stood on disk when the run began decides, however late a worker looks."""
    project.pytester.makepyfile(
        test_toys="""
        import pathlib, pytest, time
        from pytest_audioretrieval.metrics import hit_rate

        @pytest.mark.retrieval(directions=["t2a"])
        @pytest.mark.parametrize("turn", [0, 1])
        def test_turns(gate, turn):
            stored = pathlib.Path("baselines/toys/t2a/toy%3AToy.json")
            until = time.monotonic() + 20
            while turn and not stored.exists() and time.monotonic() < until:
                time.sleep(0.01)
            gate.non_inferior(hit_rate(1), margin=0.03)
        """
    )
    done = project.process("-n2", "--retrieval-record", "new")
    assert (done.returncode, counts(done)) == (0, {"recorded": 2}), done.stdout


def test_without_xdist(project: Project) -> None:
    assert counts(project.run("-p", "no:xdist", "--retrieval-record", "new")) == {"recorded": 3}
    assert counts(project.run("-p", "no:xdist")) == {"passed": 3}
