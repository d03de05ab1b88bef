"""Findings: a claim about one endpoint, and what the data say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.gate.losing import LostQuery
from pytest_audioretrieval.runs.form_rows import FormRow

if TYPE_CHECKING:
    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.runs.run import MeasuredRun, Run

Compared = Literal["non_inferior", "equivalent", "superior"]
Claim = Literal["non_inferior", "equivalent", "superior", "consistent", "above_chance"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One claim and its verdict: everything a report prints, in plain values.

    Attributes:
        difference: new - baseline, signed so that positive is better.
        low, high: one-sided bounds at ``confidence`` (together the two-sided ``2 * confidence - 1`` interval); of
            ``above_chance``, whose test is two-sided, the two-sided ``confidence`` interval by cluster.
        plain: the plain two-sided 95 % percentile interval of the pinned protocol.
        attainable_margin: the claim holds at every margin above this one; None for ``superior``, which has no margin.
        clusters_needed: clusters that would settle the claim at this spread, None where more would not help.
        changed: queries whose value differs.
        p_regressed: bootstrap p-value of "no loss"; ``p_corrected`` the same, Holm-corrected over the run's endpoints.
        causes: what moved, or broke, where queries fell, in a word and in figures.
        chance: what chance alone would do, of the claim ``above_chance``; then ``baseline_value`` is 0.5.
        forms: a row a reformulation, of a run of direction ``forms``.
        notes: what the dataset's loader counted, and what another dtype than the baseline's did.
        environment: what differs in the environment, ``key before -> after``.
    """

    test: str
    model: str
    model_spec: str
    baseline: str
    dataset: str
    direction: str
    metric: str
    higher_is_better: bool
    claim: Claim
    margin: float
    confidence: float
    verdict: str
    holds: bool
    baseline_value: float
    new_value: float
    difference: float
    low: float | None = None
    high: float | None = None
    plain: tuple[float, float] | None = None
    attainable_margin: float | None = None
    clusters: int = 0
    queries: int = 0
    changed: int = 0
    clusters_needed: int | None = None
    p_regressed: float | None = None
    p_corrected: float | None = None
    losers: list[LostQuery] = []
    causes: list[str] = []
    chance: list[str] = []
    forms: list[FormRow] = []
    environment: list[str] = []
    notes: list[str] = []
    source: str = ""

    @property
    def run(self) -> tuple[str, str, str, str]:
        """Names that the endpoints of one run share: they are corrected together."""
        return self.model, self.dataset, self.direction, self.baseline


class Endpoint(NamedTuple):
    """One claim about one metric; ``test`` is the claiming test's node id, ``model_spec`` the model as it was typed."""

    metric: Metric
    claim: Claim
    margin: float
    test: str
    model_spec: str


class Level(NamedTuple):
    """Confidence of one bound, number of resamples, and the seed they are drawn with."""

    confidence: float
    resamples: int
    seed: int


def check_margin(margin: float) -> float:
    """Return a margin as a float; ``SpecError`` where it is no positive, finite number."""
    if not isinstance(margin, int | float) or isinstance(margin, bool) or not 0 < margin < float("inf"):
        raise SpecError(
            f"margin is {margin!r}",
            expected="a number above 0, in the metric's own unit",
            remedy="write 0.03 for 3 points",
        )
    return float(margin)


def common_fields(measured: MeasuredRun, endpoint: Endpoint) -> dict[str, Any]:
    """Return the fields of a finding that say who was judged on what."""
    return {
        "test": endpoint.test,
        "model": measured.run.model.id,
        "model_spec": endpoint.model_spec,
        "dataset": measured.run.dataset.name,
        "direction": measured.run.direction,
        "metric": str(endpoint.metric),
        "higher_is_better": endpoint.metric.higher_is_better,
        "claim": endpoint.claim,
        "margin": endpoint.margin,
    }


def clusters_of(run: Run, metric: Metric) -> list[str]:
    """Return the label of the resampling unit of every query that has a value, [Q]."""
    return [run.queries.cluster[query] for query in metric.queries(run.columns)]
