"""A suite may ask in a direction that the package does not know: markers, ids, baselines and the table follow."""

from __future__ import annotations

import pytest

from pytest_audioretrieval.runs import directions
from tests.plugin.toys import Project, counts
from tests.runs.test_a_sixth_direction import Loud

SUITE = """
import pytest
from pytest_audioretrieval.metrics import hit_rate

@pytest.mark.retrieval(directions=["loud"])
def test_it(gate):
    gate.non_inferior(hit_rate(1), margin=0.9)
"""


def test_it_is_recorded_and_judged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(directions.DIRECTIONS, "loud", Loud())
    project.pytester.makepyfile(test_toys=SUITE)
    assert counts(project.run("--retrieval-record", "new")) == {"recorded": 1}
    assert list(project.stored()) == ["toys/loud/toy%3AToy.json"]
    result = project.run("-v")
    assert counts(result) == {"passed": 1}
    result.stdout.fnmatch_lines(["*test_it[[]toy:Toy-toys-loud[]] PASSED*", "toy:Toy on toys loud"])


def test_a_name_without_a_direction_is_one_line(project: Project) -> None:
    project.pytester.makepyfile(test_toys=SUITE)
    expected = f"one of {', '.join(directions.DIRECTIONS)}"
    result = project.run()
    result.stdout.fnmatch_lines([f"*marker retrieval: direction is 'loud', expected {expected}: correct the name"])
