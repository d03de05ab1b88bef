"""Comparison of two runs query by query: one endpoint, or all endpoints of a run under the same resamples."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum, isfinite

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.stats.bootstrap import Bounds, Floats, bounds, plain_interval, resample
from pytest_audioretrieval.stats.checks import numbers
from pytest_audioretrieval.stats.clusters import Clusters, group
from pytest_audioretrieval.stats.multiplicity import holm
from pytest_audioretrieval.stats.verdict import Comparison

CONFIDENCE, RESAMPLES = 0.95, 10_000


@dataclass(frozen=True, eq=False)
class Endpoint:
    """Outcomes of one metric in two runs, and the loss that would be accepted.

    Source: pinned protocol, "Results" (endpoints, paired by query).

    Attributes:
        name: printed and part of error messages.
        new, baseline: [Q], outcome of each query in the metric's own unit.
        margin: loss that is still accepted, above 0, in the metric's unit.
        higher_is_better: whether a greater outcome is a gain.
        bounds: least and greatest outcome that is possible, where the outcomes at hand may not show them.

    >>> from pytest_audioretrieval.stats import Endpoint
    >>> Endpoint("R@1", new=[1, 0, 1], baseline=[1, 1, 1], margin=0.03)
    Endpoint(name='R@1', new=[1, 0, 1], baseline=[1, 1, 1], margin=0.03, higher_is_better=True, bounds=None)
    """

    name: str
    new: npt.ArrayLike
    baseline: npt.ArrayLike
    margin: float
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = None


def compare(
    new: npt.ArrayLike,
    baseline: npt.ArrayLike,
    cluster: Iterable[Hashable],
    *,
    margin: float,
    higher_is_better: bool = True,
    bounds: tuple[float, float] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Compare the outcomes of two runs on the same queries.

    ``Verdict`` has the rules of the verdicts; ``docs/explanation/calibration.md`` has the method of the bounds and how
    often they are wrong.

    Source: pinned protocol, "Results" (paired resamples, clustered by clip).

    Args:
        new, baseline: [Q], outcome of each query in the metric's own unit.
        cluster: [Q] labels, any hashable: the clip of each query. Clusters are resampled, never queries.
        margin: loss that is still accepted, above 0, in the metric's unit.
        higher_is_better: whether a greater outcome is a gain.
        bounds: least and greatest outcome that is possible; by default those at hand, and 0.
        confidence: of each one-sided bound, in (0.5, 1).
        resamples: at least 100; the noise of the bounds shrinks with its square root.
        seed: of a generator of its own; global random state is neither read nor changed.

    Raises:
        SpecError: an argument out of range.
        DataError: outcomes or labels that cannot be compared.

    >>> from pytest_audioretrieval.stats import compare
    >>> baseline = [1, 0] * 100
    >>> new = [0, 0] * 20 + [1, 0] * 80
    >>> found = compare(new, baseline, cluster=range(200), margin=0.03)
    >>> found.difference, str(found.verdict), found.holds("non_inferior")
    (-0.1, 'regressed', False)
    """
    endpoint = Endpoint("", new, baseline, margin, higher_is_better, bounds)
    return compare_jointly([endpoint], cluster, confidence=confidence, resamples=resamples, seed=seed)[0]


def compare_jointly(
    endpoints: Sequence[Endpoint],
    cluster: Iterable[Hashable],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Comparison]:
    """Compare all endpoints of a run under the same resamples.

    The p-values of "regressed" are also corrected over all endpoints (Holm). The bounds of an endpoint are those that
    ``compare`` gives it alone.

    Source: pinned protocol, "Results"; S. Holm (1979).

    Args:
        endpoints: at least one; all have the same Q queries in the same order.
        cluster, confidence, resamples, seed: as in ``compare``.

    Returns:
        One comparison for each endpoint, in the order given.

    Raises:
        SpecError: no endpoints, or an argument out of range.
        DataError: outcomes or labels that cannot be compared.

    >>> from pytest_audioretrieval.stats import Endpoint, compare_jointly
    >>> worse = Endpoint("R@1", new=[0] * 20 + [1] * 80, baseline=[1] * 100, margin=0.03)
    >>> same = Endpoint("R@5", new=[1] * 100, baseline=[1] * 100, margin=0.03)
    >>> [(found.name, str(found.verdict)) for found in compare_jointly([worse, same], cluster=range(100))]
    [('R@1', 'regressed'), ('R@5', 'identical')]
    """
    check_settings(confidence, resamples, seed)
    if not endpoints:
        raise SpecError("no endpoints to compare", expected="at least one", remedy="name a metric")
    pairs = [_outcomes(endpoint) for endpoint in endpoints]
    clusters = _clusters(cluster, [len(new) for new, _ in pairs])
    signed = [new - old if e.higher_is_better else old - new for e, (new, old) in zip(endpoints, pairs, strict=True)]
    sums = np.stack([clusters.sums(difference) for difference in signed])
    span = np.array([_span(endpoint, *pair) for endpoint, pair in zip(endpoints, pairs, strict=True)])
    drawn = resample(sums, clusters.sizes, resamples, seed)
    found = bounds(drawn, sums, clusters.sizes, span, confidence)
    plain = plain_interval(sums, clusters.sizes, seed)
    adjusted = holm(found.p_regressed.tolist())
    return [
        _comparison(endpoint, pair, difference, clusters, confidence, _Resampled(i, found, plain, adjusted))
        for i, (endpoint, pair, difference) in enumerate(zip(endpoints, pairs, signed, strict=True))
    ]


def _span(endpoint: Endpoint, new: Floats, baseline: Floats) -> float:
    """Return the width of the range of possible outcomes, which always includes the outcomes seen."""
    least, greatest = endpoint.bounds or (0.0, 0.0)
    return float(max(greatest, new.max(), baseline.max()) - min(least, new.min(), baseline.min()))


@dataclass(frozen=True, eq=False)
class _Resampled:
    """Bounds, intervals and p-values from resampling, of which ``index`` is the place of one endpoint."""

    index: int
    bounds: Bounds
    plain: tuple[Floats, Floats]
    adjusted: Sequence[float]


def _comparison(
    endpoint: Endpoint,
    pair: tuple[Floats, Floats],
    difference: Floats,
    clusters: Clusters,
    confidence: float,
    resampled: _Resampled,
) -> Comparison:
    """Return the comparison of one endpoint."""
    queries, i = len(difference), resampled.index
    return Comparison(
        name=endpoint.name,
        new_value=fsum(pair[0]) / queries,
        baseline_value=fsum(pair[1]) / queries,
        difference=fsum(difference) / queries,
        low=float(resampled.bounds.low[i]),
        high=float(resampled.bounds.high[i]),
        plain_low=float(resampled.plain[0][i]),
        plain_high=float(resampled.plain[1][i]),
        margin=float(endpoint.margin),
        confidence=confidence,
        clusters=len(clusters.sizes),
        queries=queries,
        changed=int(np.count_nonzero(difference)),
        p_regressed=float(resampled.bounds.p_regressed[i]),
        p_regressed_adjusted=resampled.adjusted[i],
    )


def check_settings(confidence: float, resamples: int, seed: int) -> None:
    """Refuse a confidence, a number of resamples or a seed that is out of range.

    Raises:
        SpecError: one of them is.
    """
    if not _is_number(confidence) or not 0.5 < confidence < 1:
        found = f"confidence is {confidence!r}"
        raise SpecError(found, expected="a number between 0.5 and 1", remedy="pass 0.95, for example")
    if not _is_integer(resamples) or resamples < 100:
        found = f"resamples is {resamples!r}"
        raise SpecError(found, expected="an integer of at least 100", remedy="pass 10000, for example")
    if (resamples + 1) * (1 - confidence) < 1:
        raise SpecError(
            f"{resamples} resamples cannot reach confidence {confidence}",
            expected=f"at least {int(1 / (1 - confidence))}",
            remedy="pass more resamples or a lower confidence",
        )
    if not _is_integer(seed) or seed < 0:
        raise SpecError(f"seed is {seed!r}", expected="an integer of at least 0", remedy=f"pass {SEED}, for example")


def _outcomes(endpoint: Endpoint) -> tuple[Floats, Floats]:
    """Return new and baseline outcomes of an endpoint as float64 [Q], checked."""
    if not _is_number(endpoint.margin) or not (endpoint.margin > 0 and isfinite(endpoint.margin)):
        found = f"{_prefix(endpoint)}margin is {endpoint.margin!r}"
        raise SpecError(found, expected="a finite number above 0", remedy="pass the loss that you accept")
    new = numbers(f"{_prefix(endpoint)}new", endpoint.new, "[Q]")
    old = numbers(f"{_prefix(endpoint)}baseline", endpoint.baseline, "[Q]")
    if len(new) != len(old):
        found = f"{_prefix(endpoint)}{len(new)} new outcomes, {len(old)} of the baseline"
        raise DataError(found, expected="the same queries in both", remedy="evaluate both on the same queries")
    return new, old


def _clusters(labels: Iterable[Hashable], lengths: Sequence[int]) -> Clusters:
    """Return the clusters of the queries, one label for each."""
    clusters = group(labels)
    for length in lengths:
        if length != len(clusters.codes):
            found = f"{len(clusters.codes)} cluster labels for {length} queries"
            raise DataError(found, expected="one label per query", remedy="label each query with its clip")
    return clusters


def _prefix(endpoint: Endpoint) -> str:
    """Return the start of an error message about an endpoint."""
    return f"{endpoint.name}: " if endpoint.name else ""


def _is_number(value: object) -> bool:
    """Return whether ``value`` is a number; a bool is none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    """Return whether ``value`` is an integer; a bool is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
