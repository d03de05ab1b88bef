"""What the data say of a difference between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_audioretrieval.stats import plan
from pytest_audioretrieval.stats.plan import Claim


class Verdict(StrEnum):
    """Decided in this order, the first that applies; with margin m and one-sided bounds ``low`` and ``high``.

    The order matters: an interval inside (0, m) is ``equivalent`` although it is better too, and a loss that is real
    but smaller than m is ``equivalent``, not ``regressed``. A claim is judged by the bounds, not by this label.
    """

    IDENTICAL = "identical"  # every per-query outcome equal
    EQUIVALENT = "equivalent"  # -m < low and high < m
    IMPROVED = "improved"  # 0 < low
    NON_INFERIOR = "non_inferior"  # -m < low
    REGRESSED = "regressed"  # high < 0
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A paired, clustered comparison of one endpoint. Differences are signed so that positive is better.

    Attributes:
        name: of the endpoint; empty for a comparison made alone.
        new_value, baseline_value: means over the queries, in the metric's own unit and sign.
        difference: mean difference per query.
        low, high: one-sided bounds at ``confidence`` each; together a two-sided ``2 * confidence - 1`` interval.
        plain_low, plain_high: the plain two-sided 95 % percentile interval (pinned protocol), only printed.
        margin: the loss that would still be accepted.
        clusters, queries, changed: how many; ``changed`` counts queries whose outcome differs.
        p_regressed: bootstrap p-value of "no loss"; at most 1 - ``confidence`` exactly where ``high`` < 0.
        p_regressed_adjusted: the same, corrected (Holm) over the endpoints compared jointly.
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
        """See ``Verdict`` for the order of the rules."""
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
        """Whether a claim is shown, by the bounds; nothing changed shows ``non_inferior`` and ``equivalent`` outright.

        Raises:
            SpecError: not a claim.
        """
        smallest = self.smallest_margin(claim)
        return self.low > 0 if smallest is None else self.margin > smallest

    def smallest_margin(self, claim: Claim) -> float | None:
        """These data show ``claim`` at every margin above this one; None for ``superior``, which has no margin."""
        smallest = plan.smallest_margin(claim, self.low, self.high)
        return 0.0 if smallest is not None and self.changed == 0 else smallest

    def clusters_to_settle(self, claim: Claim) -> int | None:
        """Clusters that would show ``claim`` at this margin and spread, about; None where more would not help."""
        needed = plan.clusters_needed(
            claim,
            difference=self.difference,
            low=self.low,
            high=self.high,
            margin=self.margin,
            clusters=self.clusters,
        )
        return self.clusters if needed is not None and self.holds(claim) and needed > self.clusters else needed
