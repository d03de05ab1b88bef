"""The claim ``consistent``: within a tolerance of a published figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_audioretrieval.gate.findings import Endpoint, Finding, check_margin, common_fields

if TYPE_CHECKING:
    from pytest_audioretrieval.runs.run import MeasuredRun


def judge_published(measured: MeasuredRun, published: float, source: str, endpoint: Endpoint) -> Finding:
    """Judge whether a value lies within the margin of a published one (pinned protocol, "Processor behavior")."""
    metric = endpoint.metric
    value = metric.value(measured.run.columns)
    holds = abs(value - published) <= check_margin(endpoint.margin)
    return Finding(
        **common_fields(measured, endpoint),
        baseline="published",
        confidence=1.0,
        verdict="consistent" if holds else "inconsistent",
        holds=holds,
        baseline_value=published,
        new_value=value,
        difference=(value - published) * (1 if metric.higher_is_better else -1),
        queries=measured.run.dataset.queries,
        source=source,
    )
