"""Does a model still find the clip a caption describes, and the captions of a clip?

Margins are in the metric's own unit: 0.03 of a rate is 3 points, as in the pinned protocol's equivalence margin.
"""

from __future__ import annotations

import pytest

from pytest_audioretrieval.metrics import hit_rate, map_at, margin

pytestmark = pytest.mark.retrieval(datasets=["sounds"], directions=["t2a", "a2t"])


@pytest.mark.parametrize("metric", [hit_rate(1), hit_rate(5), hit_rate(10), map_at(10)], ids=str)
def test_not_inferior(gate, metric):
    gate.non_inferior(metric, margin=0.03)


@pytest.mark.parametrize("metric", [margin()], ids=str)
def test_separation_not_inferior(gate, metric):
    gate.non_inferior(metric, margin=0.02)
