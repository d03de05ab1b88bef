"""Does a model reason about what it hears: negation, order, overlap, duration, and all of them mixed? (ReasonAudio)"""

from __future__ import annotations

import pytest

from pytest_audioretrieval.metrics import accuracy, hit_rate, ndcg

TASKS = ("negation", "order", "overlap", "duration", "mix")

pytestmark = pytest.mark.retrieval(datasets=["reasoning"])


@pytest.fixture
def task(request, dataset, retrieval_target):
    """A slice, where the dataset has it: a release may come without choices."""
    items = retrieval_target.asks.items(dataset)
    there = dict.fromkeys(item.slice for item in items if getattr(item, "slice", ""))
    if request.param not in there:
        pytest.skip(
            f"{dataset.name} {retrieval_target.direction} has no {request.param}: has {', '.join(there) or 'none'}"
        )
    return request.param


@pytest.mark.retrieval(directions=["t2a"])
@pytest.mark.parametrize("metric", [hit_rate(1), ndcg(10)], ids=str)
@pytest.mark.parametrize("task", TASKS, indirect=True)
def test_found(gate, task, metric):
    gate.non_inferior(metric.within(task), margin=0.05)


@pytest.mark.retrieval(directions=["choice"])
@pytest.mark.parametrize("task", TASKS, indirect=True)
def test_chosen_of_two(gate, task):
    gate.non_inferior(accuracy().within(task), margin=0.05)
