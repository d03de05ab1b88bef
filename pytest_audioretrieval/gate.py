"""A claim about one endpoint, judged against a stored run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from pytest_audioretrieval import baselines
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.form_rows import FormRow
from pytest_audioretrieval.metrics.robustness import ALL

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.runs import Run, Subject
    from pytest_audioretrieval.stats.verdict import Comparison

Compared = Literal["non_inferior", "equivalent", "superior"]
Claim = Literal["non_inferior", "equivalent", "superior", "consistent"]

#: How many of the queries that lost most a failure shows.
LOSERS = 5


class Loser(msgspec.Struct, frozen=True):
    """A query whose outcome fell: ranks before and after, and what ranks first now."""

    id: str
    shown: str
    before: int
    after: int
    first: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What the data say of one claim; everything a report prints, in plain values.

    Attributes:
        difference: new - baseline, signed so that positive is better.
        low, high: one-sided bounds at ``confidence`` (together the two-sided ``2 * confidence - 1`` interval).
        plain: the plain two-sided 95 % percentile interval of the pinned protocol.
        attainable_margin: the claim holds at every margin above this one; None for ``superior``, which has no margin.
        clusters_needed: clusters that would settle the claim at this spread, None where more would not help.
        changed: queries whose value differs.
        p_regressed: bootstrap p-value of "no loss"; ``p_corrected`` the same, Holm-corrected over the run's endpoints.
        causes: what moved where queries fell, in a word and in figures, of a claim about reformulations.
        forms: a row a reformulation, of a run of direction ``forms``.
        notes: what the dataset's loader counted.
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
    if metric.statistic != "mean":
        raise SpecError(
            f"{metric} is a {metric.statistic} over queries, and only means are compared: "
            "claim mean_rank() or log2_rank(), or read it with Metric.value"
        )
    assert claim != "consistent"  # that is judge_published's
    baselines.refuse_incomparable(subject.run, baseline, where)
    new, old = metric(subject.run.columns), metric(baseline.columns)
    result = compare(
        new,
        old,
        subject.run.queries.cluster,
        margin=check_margin(endpoint.margin),
        higher_is_better=metric.higher_is_better,
        bounds=_limits(metric, subject.run),
        **level._asdict(),
    )
    gained = new - old if metric.higher_is_better else old - new
    asked = _shown_in(metric.form, subject.run)
    return Finding(
        **_head(subject, endpoint),
        baseline=baseline.model.id,
        confidence=level.confidence,
        verdict=str(result.verdict),
        holds=result.holds(claim),
        losers=[] if result.holds(claim) else _losers(subject, baseline, asked, gained),
        causes=[] if result.holds(claim) else _causes(subject, baseline, asked, gained),
        forms=subject.run.form_rows,
        environment=baselines.environment_differences(subject.run, baseline),
        notes=list(subject.notes),
        source=where,
        **_numbers(result, claim),
    )


def _limits(metric: Metric, run: Run) -> tuple[float, float] | None:
    # Of texts, the pool of the other direction, a run knows no number.
    return None if run.direction == "a2t" else metric.limits(run.dataset.clips)


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


def _shown_in(form: str | None, run: Run) -> list[str] | None:
    """The form that each query is shown in, [Q]: ``form``, or of all forms the one that now ranks lowest."""
    if form is None:
        return None
    if form != ALL:
        return [form] * run.dataset.queries
    import numpy as np

    names, forms = list(run.columns.forms), run.columns.forms.values()
    return [names[place] for place in np.argmax([outcomes.rank for outcomes in forms], axis=0)]


def _in_forms(run: Run, field: str, asked: Sequence[str]) -> npt.NDArray[Any]:
    """An outcome of every query in the form that it is shown in, [Q]."""
    import numpy as np

    return np.array([getattr(run.columns.forms[form], field)[query] for query, form in enumerate(asked)])


def _losers(
    subject: Subject, baseline: Run, asked: Sequence[str] | None, gained: npt.NDArray[np.float64]
) -> list[Loser]:
    """The queries whose metric fell most, those that fell furthest in rank first among equals."""
    after, before = (
        (_in_forms(run, "rank", asked) if asked else run.columns.first_hit_rank).tolist()
        for run in (subject.run, baseline)
    )
    fell = [i for i in range(len(after)) if gained[i] < 0]
    fell.sort(key=lambda i: (gained[i], -after[i] / before[i], i))
    lost = []
    for i in fell[:LOSERS]:
        shown = subject.forms[asked[i]] if asked else subject.shown
        lost.append(Loser(subject.run.queries.id[i], shown.query[i], before[i], after[i], shown.first[i]))
    return lost


def _causes(subject: Subject, baseline: Run, asked: Sequence[str] | None, gained: npt.NDArray[np.float64]) -> list[str]:
    """Why targets fell, over the queries that lost: away from the target, or a rival came closer (CORA, eq. 7).

    A margin in a form is that of the caption less both, so that the caption itself may have lost it too.
    """
    fell = gained < 0
    if not asked or not fell.any():
        return []
    away, closer = (
        (_in_forms(subject.run, field, asked) - _in_forms(baseline, field, asked))[fell].mean()
        for field in ("tal", "hnp")
    )
    own = (subject.run.columns.margin - baseline.columns.margin)[fell].mean()
    moved = {
        "the target moved away": away,
        "a rival came closer": closer,
        "the captions themselves lost ground, in whatever form": -own,
    }
    return [
        max(moved, key=moved.__getitem__),
        f"over the {int(fell.sum())} queries that lost: target alignment loss {away:+.4f} (TAL), "
        f"hard negative pull {closer:+.4f} (HNP), margin of the caption itself {own:+.4f}",
    ]
