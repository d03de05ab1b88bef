"""Compare two runs query by query: one endpoint, or all endpoints of a run under the same resamples."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum, isfinite

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.stats.bootstrap import Bounds, Floats, bounds, plain_interval, resample
from pytest_audioretrieval.stats.clusters import Clusters, group
from pytest_audioretrieval.stats.columns import numbers
from pytest_audioretrieval.stats.multiplicity import holm
from pytest_audioretrieval.stats.verdict import Comparison

CONFIDENCE, RESAMPLES = 0.95, 10_000


@dataclass(frozen=True, eq=False)
class Endpoint:
    """One metric of two runs: per-query outcomes ``new`` and ``baseline`` [Q] and the loss that would be accepted.

    ``bounds`` are the least and greatest outcome there can be, where the outcomes at hand may not show them.
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
    """Compare per-query outcomes of two runs on the same queries (verdicts: ``verdict``; method: ``bootstrap``).

    Args:
        new, baseline: [Q], outcomes per query in the metric's own unit.
        cluster: [Q] labels, any hashable: the clip each query is about. Clusters are resampled, never queries.
        margin: above 0, in the metric's unit.
        bounds: least and greatest outcome there can be; by default those at hand, and 0.
        confidence: of each one-sided bound, in (0.5, 1).
        resamples: at least 100; the bounds' own noise shrinks with their square root.
        seed: of a generator of its own; global random state is neither read nor changed.

    Raises:
        SpecError: an argument out of range. DataError: outcomes or labels that cannot be compared.
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
    """Compare all endpoints of a run: the same resamples for each, p-values of "regressed" corrected over them.

    Arguments, errors and numbers are those of ``compare``; an endpoint's own bounds do not depend on its company.
    """
    check_settings(confidence, resamples, seed)
    if not endpoints:
        raise SpecError("no endpoints to compare: expected at least one")
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
        _comparison(endpoint, pair, difference, clusters, confidence, _Figures(i, found, plain, adjusted))
        for i, (endpoint, pair, difference) in enumerate(zip(endpoints, pairs, signed, strict=True))
    ]


def _span(endpoint: Endpoint, new: Floats, baseline: Floats) -> float:
    """Width of the range that outcomes may take; what was seen is never outside of it."""
    least, greatest = endpoint.bounds or (0.0, 0.0)
    return float(max(greatest, new.max(), baseline.max()) - min(least, new.min(), baseline.min()))


@dataclass(frozen=True, eq=False)
class _Figures:
    """What resampling found for endpoint ``index``."""

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
    figures: _Figures,
) -> Comparison:
    queries, i = len(difference), figures.index
    return Comparison(
        name=endpoint.name,
        new_value=fsum(pair[0]) / queries,
        baseline_value=fsum(pair[1]) / queries,
        difference=fsum(difference) / queries,
        low=float(figures.bounds.low[i]),
        high=float(figures.bounds.high[i]),
        plain_low=float(figures.plain[0][i]),
        plain_high=float(figures.plain[1][i]),
        margin=float(endpoint.margin),
        confidence=confidence,
        clusters=len(clusters.sizes),
        queries=queries,
        changed=int(np.count_nonzero(difference)),
        p_regressed=float(figures.bounds.p_regressed[i]),
        p_regressed_adjusted=figures.adjusted[i],
    )


def check_settings(confidence: float, resamples: int, seed: int) -> None:
    if not _is_number(confidence) or not 0.5 < confidence < 1:
        raise SpecError(f"confidence is {confidence!r}: expected a number between 0.5 and 1, such as 0.95")
    if not _is_integer(resamples) or resamples < 100:
        raise SpecError(f"resamples is {resamples!r}: expected an integer of at least 100, such as 10000")
    if (resamples + 1) * (1 - confidence) < 1:
        raise SpecError(
            f"{resamples} resamples cannot reach confidence {confidence}: expected at least {int(1 / (1 - confidence))}"
        )
    if not _is_integer(seed) or seed < 0:
        raise SpecError(f"seed is {seed!r}: expected an integer of at least 0")


def _outcomes(endpoint: Endpoint) -> tuple[Floats, Floats]:
    if not _is_number(endpoint.margin) or not (endpoint.margin > 0 and isfinite(endpoint.margin)):
        raise SpecError(f"{_of(endpoint)}margin is {endpoint.margin!r}: expected a finite number above 0")
    new = numbers(f"{_of(endpoint)}new", endpoint.new, "[Q]")
    old = numbers(f"{_of(endpoint)}baseline", endpoint.baseline, "[Q]")
    if len(new) != len(old):
        raise DataError(
            f"{_of(endpoint)}{len(new)} new outcomes, {len(old)} of the baseline: expected the same queries in both"
        )
    return new, old


def _clusters(labels: Iterable[Hashable], lengths: Sequence[int]) -> Clusters:
    clusters = group(labels)
    for length in lengths:
        if length != len(clusters.codes):
            raise DataError(f"{len(clusters.codes)} cluster labels for {length} queries: expected one label per query")
    return clusters


def _of(endpoint: Endpoint) -> str:
    return f"{endpoint.name}: " if endpoint.name else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
