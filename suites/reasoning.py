"""Does a model reason about what it hears: negation, order, overlap, duration, and all of them mixed? (ReasonAudio)"""

from __future__ import annotations

import pytest

from pytest_audioretrieval.metrics import accuracy, hit_rate, ndcg

TASKS = ("negation", "order", "overlap", "duration", "mix")

pytestmark = pytest.mark.retrieval(datasets=["reasoning"])


@pytest.mark.retrieval(directions=["t2a"])
@pytest.mark.parametrize("metric", [hit_rate(1), ndcg(10)], ids=str)
@pytest.mark.parametrize("task", TASKS)
def test_found(gate, task, metric):
    gate.non_inferior(metric.within(task), margin=0.05)


@pytest.mark.retrieval(directions=["choice"])
@pytest.mark.parametrize("task", TASKS)
def test_chosen_of_two(gate, task):
    gate.non_inferior(accuracy().within(task), margin=0.05)
