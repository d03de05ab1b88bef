"""A claim about one endpoint, judged against a stored run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.gate.losing import Loser, Lost
from pytest_audioretrieval.runs import baselines
from pytest_audioretrieval.runs.form_rows import FormRow
from pytest_audioretrieval.runs.run import TWO_OPTIONS

if TYPE_CHECKING:
    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.runs.run import Run, Subject
    from pytest_audioretrieval.stats.chance import Chance
    from pytest_audioretrieval.stats.verdict import Comparison

Compared = Literal["non_inferior", "equivalent", "superior"]
Claim = Literal["non_inferior", "equivalent", "superior", "consistent", "above_chance"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What the data say of one claim; everything a report prints, in plain values.

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
    losers: list[Loser] = []
    causes: list[str] = []
    chance: list[str] = []
    forms: list[FormRow] = []
    environment: list[str] = []
    notes: list[str] = []
    source: str = ""

    @property
    def run(self) -> tuple[str, str, str, str]:
        """What the endpoints of one run share: they are corrected together."""
        return self.model, self.dataset, self.direction, self.baseline


class Endpoint(NamedTuple):
    """What is claimed of which metric, by whom: the test's node id and the model's spec as it was typed."""

    metric: Metric
    claim: Claim
    margin: float
    test: str
    model_spec: str


class Level(NamedTuple):
    """How sure: the confidence of one bound, resamples, and the seed they are drawn with."""

    confidence: float
    resamples: int
    seed: int


def check_margin(margin: float) -> float:
    """A margin is a positive number below any possible difference; anything else is a ``SpecError``."""
    if not isinstance(margin, int | float) or isinstance(margin, bool) or not 0 < margin < float("inf"):
        raise SpecError(f"margin is {margin!r}: expected a number above 0, in the metric's own unit (0.03 is 3 points)")
    return float(margin)


def judge(subject: Subject, baseline: Run, where: str, endpoint: Endpoint, level: Level) -> Finding:
    """Compare a run with a stored one, that lies ``where``, on one metric (paired per query, resampled by cluster).

    Raises:
        BaselineError: the two are not comparable; names the field.
        SpecError: a metric that is no mean over queries, or a wrong margin.
    """
    from pytest_audioretrieval.stats import compare

    metric, claim = endpoint.metric, endpoint.claim
    _check_mean(metric)
    assert claim != "consistent"  # that is judge_published's
    assert claim != "above_chance"  # that is judge_chance's
    baselines.refuse_incomparable(subject.run, baseline, where)
    new, old = metric(subject.run.columns), metric(baseline.columns)
    result = compare(
        new,
        old,
        _clusters(subject.run, metric),
        margin=check_margin(endpoint.margin),
        higher_is_better=metric.higher_is_better,
        bounds=_limits(metric, subject.run),
        **level._asdict(),
    )
    lost = Lost(subject, baseline, metric, new - old if metric.higher_is_better else old - new)
    return Finding(
        **_head(subject, endpoint),
        baseline=baseline.model.id,
        confidence=level.confidence,
        verdict=str(result.verdict),
        holds=result.holds(claim),
        losers=[] if result.holds(claim) else lost.losers(),
        causes=[] if result.holds(claim) else lost.causes(),
        forms=subject.run.form_rows,
        environment=baselines.environment_differences(subject.run, baseline),
        notes=[*subject.notes, *baselines.precision_notes(subject.run, baseline)],
        source=where,
        **_numbers(result, claim),
    )


def _check_mean(metric: Metric) -> None:
    if metric.statistic != "mean":
        raise SpecError(
            f"{metric} is a {metric.statistic} over queries, and only means are compared: "
            "claim mean_rank() or log2_rank(), or read it with Metric.value"
        )


def _clusters(run: Run, metric: Metric) -> list[str]:
    return [run.queries.cluster[query] for query in metric.queries(run.columns)]


def _limits(metric: Metric, run: Run) -> tuple[float, float] | None:
    """Least and greatest value a query can have, where those seen may not show them: all hits may be misses alike."""
    least, greatest = metric.bounds
    if (least, greatest) == (0.0, 1.0):
        return 0.0, 1.0
    # Of texts, the pool of the other direction, a run knows no number.
    return None if run.direction == "a2t" else metric.limits(run.dataset.clips)


def judge_chance(subject: Subject, endpoint: Endpoint, level: Level) -> Finding:
    """Whether choices are right more often than half the time, corrected (Holm) over the slices of the run.

    The verdict rests on the clustered p-value, two-sided at 1 - confidence, so that "above" errs half as often: choices
    of one cluster are not independent. What stands beside it treats them as if they were, as MASB does.

    Raises:
        SpecError: a metric, or a direction, whose chance level is not known.
    """
    from pytest_audioretrieval.stats.chance import against_chance
    from pytest_audioretrieval.stats.multiplicity import holm

    metric, columns = endpoint.metric, subject.run.columns
    _check_chance(metric, subject.run.direction)
    metric.queries(columns)  # refuses a slice that is not there
    parts: list[str | None] = [None] if metric.slice is None else [*dict.fromkeys(columns.slices)]
    family = [replace(metric, slice=part) for part in parts]
    found = [against_chance(m(columns), _clusters(subject.run, m), **level._asdict()) for m in family]
    place = parts.index(metric.slice)
    one, corrected = found[place], holm([chance.p_clustered for chance in found])[place]
    sure = corrected <= 1 - level.confidence
    side = "above_chance" if one.accuracy > 0.5 else "below_chance"
    return Finding(
        **_head(subject, endpoint),
        baseline="chance",
        confidence=level.confidence,
        verdict=side if sure else "inconclusive",
        holds=sure and one.accuracy > 0.5,
        baseline_value=0.5,
        new_value=one.accuracy,
        difference=one.accuracy - 0.5,
        low=one.clustered_low - 0.5,
        high=one.clustered_high - 0.5,
        clusters=one.clusters,
        queries=one.trials,
        p_corrected=corrected,
        chance=_chance_lines(one, corrected, len(parts), level),
        notes=list(subject.notes),
    )


def _check_chance(metric: Metric, direction: str) -> None:
    if metric.chance != 0.5:
        raise SpecError(f"{metric} has no chance level of one half: claim accuracy() above chance")
    if direction not in TWO_OPTIONS:
        raise SpecError(
            f"direction {direction} has no chance level of one half, because all of a pool are ranked: "
            f"claim above chance in direction {' or '.join(TWO_OPTIONS)}"
        )


def _chance_lines(found: Chance, corrected: float, slices: int, level: Level) -> list[str]:
    percent = f"{100 * level.confidence:g} %"
    return [
        f"clustered: {percent} interval [{found.clustered_low:.3f}, {found.clustered_high:.3f}], "
        f"p {found.p_clustered:.2g}, {corrected:.2g} after Holm's correction over {slices} slices",
        f"as if independent: {percent} interval [{found.wilson_low:.3f}, {found.wilson_high:.3f}] (Wilson), "
        f"p {found.p_exact:.2g} (exact binomial); {found.ties} ties, each counted one half",
    ]


def judge_published(subject: Subject, published: float, source: str, endpoint: Endpoint) -> Finding:
    """Whether a value lies within the margin of a published one (pinned protocol, "Processor behavior")."""
    metric = endpoint.metric
    value = metric.value(subject.run.columns)
    holds = abs(value - published) <= check_margin(endpoint.margin)
    return Finding(
        **_head(subject, endpoint),
        baseline="published",
        confidence=1.0,
        verdict="consistent" if holds else "inconsistent",
        holds=holds,
        baseline_value=published,
        new_value=value,
        difference=(value - published) * (1 if metric.higher_is_better else -1),
        queries=subject.run.dataset.queries,
        source=source,
    )


def _head(subject: Subject, endpoint: Endpoint) -> dict[str, Any]:
    """What a finding says of who was judged on what."""
    return {
        "test": endpoint.test,
        "model": subject.run.model.id,
        "model_spec": endpoint.model_spec,
        "dataset": subject.run.dataset.name,
        "direction": subject.run.direction,
        "metric": str(endpoint.metric),
        "higher_is_better": endpoint.metric.higher_is_better,
        "claim": endpoint.claim,
        "margin": endpoint.margin,
    }


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
