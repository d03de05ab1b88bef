"""Claims against a stored run: ``non_inferior``, ``equivalent`` and ``superior``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.gate.findings import (
    Compared,
    Endpoint,
    Finding,
    Level,
    check_margin,
    clusters_of,
    common_fields,
)
from pytest_audioretrieval.gate.losing import LostQueries
from pytest_audioretrieval.runs import baselines

if TYPE_CHECKING:
    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.runs.run import MeasuredRun, Run
    from pytest_audioretrieval.stats.verdict import Comparison


def judge(measured: MeasuredRun, baseline: Run, where: str, endpoint: Endpoint, level: Level) -> Finding:
    """Compare a run with a stored one, which lies ``where``, on one metric: paired per query, resampled by cluster.

    Raises:
        BaselineError: the two are not comparable; names the field.
        SpecError: a metric that is no mean over queries, or a wrong margin.
    """
    from pytest_audioretrieval.stats import compare

    metric, claim = endpoint.metric, endpoint.claim
    _check_mean(metric)
    assert claim != "consistent" and claim != "above_chance"  # noqa: PT018  (those are judged elsewhere)
    baselines.refuse_incomparable(measured.run, baseline, where)
    new, old = metric(measured.run.columns), metric(baseline.columns)
    result = compare(
        new,
        old,
        clusters_of(measured.run, metric),
        margin=check_margin(endpoint.margin),
        higher_is_better=metric.higher_is_better,
        bounds=_limits(metric, measured.run),
        **level._asdict(),
    )
    lost = LostQueries(measured, baseline, metric, new - old if metric.higher_is_better else old - new)
    return Finding(
        **common_fields(measured, endpoint),
        baseline=baseline.model.id,
        confidence=level.confidence,
        verdict=str(result.verdict),
        holds=result.holds(claim),
        losers=[] if result.holds(claim) else lost.losers(),
        causes=[] if result.holds(claim) else lost.causes(),
        forms=measured.run.form_rows,
        environment=baselines.environment_differences(measured.run, baseline),
        notes=[*measured.notes, *baselines.precision_notes(measured.run, baseline)],
        source=where,
        **_numbers(result, claim),
    )


def _check_mean(metric: Metric) -> None:
    if metric.statistic != "mean":
        raise SpecError(
            f"{metric} is a {metric.statistic} over queries, and only means are compared",
            remedy="claim mean_rank() or log2_rank(), or read it with Metric.value",
        )


def _limits(metric: Metric, run: Run) -> tuple[float, float] | None:
    """Return the least and greatest value of a query, where those seen may not show them: all may hit, or miss."""
    least, greatest = metric.bounds
    return (0.0, 1.0) if (least, greatest) == (0.0, 1.0) else run.asks.limits(metric, run.dataset.clips)


def _numbers(result: Comparison, claim: Compared) -> dict[str, Any]:
    smallest, needed = result.smallest_margin(claim), result.clusters_to_settle(claim)
    return {
        "baseline_value": float(result.baseline_value),
        "new_value": float(result.new_value),
        "difference": float(result.difference),
        "low": float(result.low),
        "high": float(result.high),
        "plain": (float(result.plain_low), float(result.plain_high)),
        "attainable_margin": None if smallest is None else float(smallest),
        "clusters": int(result.clusters),
        "queries": int(result.queries),
        "changed": int(result.changed),
        "clusters_needed": None if needed is None else int(needed),
        "p_regressed": float(result.p_regressed),
    }
