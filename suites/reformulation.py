"""Does the same clip stay found when its caption is asked as a command, a question, ...? (CORA)

Margins in each metric's own unit: points of R@5, octaves of rank (0.25: 19 % further down), cosine.
"""

from __future__ import annotations

import pytest

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.metrics import form_hit_rate, rank_loss, rank_spread, tbmd, worst_hit_rate, worst_rank_loss

pytestmark = pytest.mark.retrieval(datasets=["sounds"], directions=["forms"])


@pytest.mark.parametrize("metric", [*(form_hit_rate(form, 5) for form in FORMS), worst_hit_rate(5)], ids=str)
def test_found_in_every_form(gate, metric):
    gate.non_inferior(metric, margin=0.03)


@pytest.mark.parametrize("metric", [*map(rank_loss, FORMS), worst_rank_loss(), rank_spread()], ids=str)
def test_rank_kept_in_every_form(gate, metric):
    gate.non_inferior(metric, margin=0.25)


@pytest.mark.parametrize("metric", [*map(tbmd, FORMS)], ids=str)
def test_boundary_kept_in_every_form(gate, metric):
    gate.non_inferior(metric, margin=0.02)
