"""A direction is one class and one line: a sixth one, written here, is measured, stored, read, judged and collected."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from pytest_audioretrieval.errors import BaselineError, SpecError
from pytest_audioretrieval.gate.findings import Endpoint, Level
from pytest_audioretrieval.gate.judging import judge
from pytest_audioretrieval.metrics import hit_rate
from pytest_audioretrieval.runs import baselines, directions, stored
from pytest_audioretrieval.runs.directions.direction import Answered
from pytest_audioretrieval.runs.directions.t2a import T2A
from pytest_audioretrieval.runs.measure import measure
from tests.runs.test_forms import Fake, caption, dataset

#: Scores of clips 0 to 3: a caption finds its clip, and in capitals another one.
VECTORS = {"rain": [0.8, 0.6, 0, 0], "RAIN": [0.6, 0.8, 0, 0], "wind": [0, 0.8, 0.6, 0], "WIND": [0, 0.8, 0.6, 0]}


class Loud(T2A):
    """Captions ask in capitals."""

    name = "loud"
    usual = False
    same_pool = "same clips, asked loudly"

    def ask(self, answerer, dataset) -> Answered:
        captions = tuple(replace(one, text=one.text.upper()) for one in dataset.captions)
        return super().ask(answerer, replace(dataset, captions=captions))


@pytest.fixture
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line."""
    monkeypatch.setitem(directions.DIRECTIONS, "loud", Loud())


@pytest.mark.usefixtures("loud")
def test_it_is_measured_stored_read_and_judged() -> None:
    given = dataset(caption(0, "rain", []), caption(1, "wind", []))
    loud, plain = (measure(Fake(VECTORS), given, name) for name in ("loud", "t2a"))
    assert loud.run.queries.first_hit_rank == [2, 1]
    assert plain.run.queries.first_hit_rank == [1, 1]
    assert loud.run.metrics["R@1"] == 0.5
    again = stored.decode(stored.encode(loud.run).encode(), "x")
    assert again == loud.run
    endpoint = Endpoint(hit_rate(1), "non_inferior", 0.03, "test", "fake")
    finding = judge(loud, again, "x", endpoint, Level(0.95, 200, 0))
    assert (finding.direction, finding.verdict) == ("loud", "identical")
    with pytest.raises(BaselineError, match="its direction is t2a, this run's is loud"):
        judge(loud, plain.run, "x", endpoint, Level(0.95, 200, 0))
    other = msgspec.structs.replace(again, dataset=msgspec.structs.replace(again.dataset, fingerprint="0" * 64))
    with pytest.raises(BaselineError, match="same clips, asked loudly"):
        baselines.refuse_incomparable(loud.run, other, "x")


def test_without_its_line_it_is_nowhere() -> None:
    with pytest.raises(SpecError, match=f"direction is 'loud', expected one of {', '.join(directions.DIRECTIONS)}: "):
        measure(Fake(VECTORS), dataset(caption(0, "rain", [])), "loud")
