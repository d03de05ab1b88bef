"""Does a model read which sound an attribute belongs to, or only which words are there? (MASB)

Accuracy is gated against the baseline and against chance; ``sensitivity`` is how far a caption moves when its
attributes are swapped, as a share of that and of how far a paraphrase moves it.
"""

from __future__ import annotations

import pytest

from pytest_audioretrieval.metrics import accuracy, sensitivity

PROPERTIES = ("timbre", "role", "order", "loudness", "duration")
MIRRORED = tuple(f"mirror-{name}" for name in PROPERTIES)

pytestmark = pytest.mark.retrieval(datasets=["binding"])


@pytest.fixture
def part(request, dataset, retrieval_target):
    """A slice, where the dataset has it."""
    items = retrieval_target.asks.items(dataset)
    there = dict.fromkeys(item.slice for item in items if getattr(item, "slice", ""))
    if request.param not in there:
        pytest.skip(f"{dataset.name} has no {request.param}: there are {', '.join(there) or 'none'}")
    return request.param


@pytest.mark.retrieval(directions=["choice"])
@pytest.mark.parametrize("part", PROPERTIES + MIRRORED, indirect=True)
def test_accuracy_kept(gate, part):
    gate.non_inferior(accuracy().within(part), margin=0.05)


@pytest.mark.retrieval(directions=["choice"])
@pytest.mark.parametrize("part", PROPERTIES + MIRRORED, indirect=True)
def test_above_chance(gate, part):
    gate.above_chance(accuracy().within(part))


@pytest.mark.retrieval(directions=["texts"])
@pytest.mark.parametrize("part", PROPERTIES, indirect=True)
def test_text_sensitivity_kept(gate, part):
    gate.non_inferior(sensitivity().within(part), margin=0.05)
