"""Comparison of one endpoint between two runs, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_audioretrieval.stats import plan
from pytest_audioretrieval.stats.plan import Claim


class Verdict(StrEnum):
    """Verdict on a difference between two runs: the first of these that applies.

    With margin m and one-sided bounds ``low`` and ``high`` they are: identical (every per-query outcome is equal),
    equivalent (-m < low and high < m), improved (0 < low), non_inferior (-m < low), regressed (high < 0) and
    inconclusive (otherwise).

    The order matters: an interval inside (0, m) is ``equivalent`` although it is also better, and a real loss that is
    smaller than m is ``equivalent`` and not ``regressed``. A claim is judged by the bounds, not by this label.

    Source: pinned protocol, "Results" (equivalence margin); docs/explanation/calibration.md.

    >>> from pytest_audioretrieval.stats import Verdict
    >>> [str(verdict) for verdict in Verdict]
    ['identical', 'equivalent', 'improved', 'non_inferior', 'regressed', 'inconclusive']
    """

    IDENTICAL = "identical"  # every per-query outcome is equal
    EQUIVALENT = "equivalent"  # -m < low and high < m
    IMPROVED = "improved"  # 0 < low
    NON_INFERIOR = "non_inferior"  # -m < low
    REGRESSED = "regressed"  # high < 0
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Paired, clustered comparison of one endpoint; differences are signed so that positive is better.

    Source: pinned protocol, "Results" (paired, clustered intervals, margin); docs/explanation/calibration.md (bounds).

    Attributes:
        name: name of the endpoint; empty for a comparison of one endpoint alone.
        new_value, baseline_value: means over the queries, in the metric's own unit and sign.
        difference: mean difference of a query, in the metric's unit.
        low, high: one-sided bounds of the difference, at ``confidence`` each; together they are a two-sided
            ``2 * confidence - 1`` interval.
        plain_low, plain_high: plain two-sided 95 % percentile interval (pinned protocol), only for printing.
        margin: loss that is still accepted, in the metric's unit.
        confidence: of each one-sided bound.
        clusters, queries: how many there are.
        changed: number of queries whose outcome differs.
        p_regressed: bootstrap p-value of "no loss"; at most 1 - ``confidence`` exactly where ``high`` < 0.
        p_regressed_adjusted: the same after Holm's correction over the endpoints that were compared jointly.

    >>> from pytest_audioretrieval.stats import compare
    >>> found = compare([1, 0] * 100, [1, 0] * 100, cluster=range(200), margin=0.03)
    >>> str(found.verdict), found.new_value, found.difference, found.changed, found.p_regressed
    ('identical', 0.5, 0.0, 0, 1.0)
    """

    name: str
    new_value: float
    baseline_value: float
    difference: float
    low: float
    high: float
    plain_low: float
    plain_high: float
    margin: float
    confidence: float
    clusters: int
    queries: int
    changed: int
    p_regressed: float
    p_regressed_adjusted: float

    @property
    def verdict(self) -> Verdict:
        """First verdict that applies, in the order of ``Verdict``."""
        if self.changed == 0:
            return Verdict.IDENTICAL
        if self.holds("equivalent"):
            return Verdict.EQUIVALENT
        if self.holds("superior"):
            return Verdict.IMPROVED
        if self.holds("non_inferior"):
            return Verdict.NON_INFERIOR
        return Verdict.REGRESSED if self.high < 0 else Verdict.INCONCLUSIVE

    def holds(self, claim: Claim) -> bool:
        """Return whether the bounds show a claim.

        Where no outcome changed, ``non_inferior`` and ``equivalent`` are shown whatever the bounds.

        Raises:
            SpecError: an unknown claim.
        """
        smallest = self.smallest_margin(claim)
        return self.low > 0 if smallest is None else self.margin > smallest

    def smallest_margin(self, claim: Claim) -> float | None:
        """Return the margin above which these data show ``claim``; None for ``superior``, which has no margin.

        Raises:
            SpecError: an unknown claim.
        """
        smallest = plan.smallest_margin(claim, self.low, self.high)
        return 0.0 if smallest is not None and self.changed == 0 else smallest

    def clusters_to_settle(self, claim: Claim) -> int | None:
        """Return about how many clusters would show ``claim`` at this spread; None where more would not help.

        Raises:
            SpecError: an unknown claim.
        """
        needed = plan.clusters_needed(
            claim,
            difference=self.difference,
            low=self.low,
            high=self.high,
            margin=self.margin,
            clusters=self.clusters,
        )
        return self.clusters if needed is not None and self.holds(claim) and needed > self.clusters else needed
