"""Provisional: paired, clustered bootstrap with one adverse cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Comparison:
    difference: float
    low: float
    high: float
    plain_low: float
    plain_high: float
    new_value: float
    baseline_value: float
    clusters: int
    queries: int
    changed: int
    margin: float
    p_regressed: float
    clusters_needed: int | None

    @property
    def verdict(self) -> str:
        m = self.margin
        if not self.changed:
            return "identical"
        if -m < self.low and self.high < m:
            return "equivalent"
        if self.low > 0:
            return "improved"
        if self.low > -m:
            return "non_inferior"
        if self.high < 0:
            return "regressed"
        return "inconclusive"

    @property
    def attainable_margin(self) -> float:
        return max(0.0, -self.low)

    def holds(self, claim: str) -> bool:
        m = self.margin
        if claim == "non_inferior":
            return self.low > -m or not self.changed
        if claim == "equivalent":
            return -m < self.low and self.high < m or not self.changed
        return self.low > 0


def compare(new: Any, baseline: Any, cluster: Any, *, margin: float, higher_is_better: bool = True, confidence: float = 0.95, resamples: int = 10_000, seed: int = 20261028) -> Comparison:
    d = (np.asarray(new, float) - np.asarray(baseline, float)) * (1 if higher_is_better else -1)
    _, code = np.unique(np.asarray(cluster), return_inverse=True)
    s, n = np.bincount(code, d), np.bincount(code)
    rng = np.random.Generator(np.random.PCG64(seed))
    w = rng.multinomial(len(n), np.full(len(n), 1 / len(n)), size=resamples)
    plain = (w @ s) / (w @ n)
    extra = rng.binomial(len(n) + 1, 1 / (len(n) + 1), size=resamples)
    worst = min(-np.abs(d).max(), 0.0) if d.any() else 0.0
    low = np.quantile((w @ s + extra * worst) / (w @ n + extra), 1 - confidence)
    high = np.quantile((w @ s - extra * worst) / (w @ n + extra), confidence)
    lo, hi = np.quantile(plain, [0.025, 0.975])
    return Comparison(float(d.mean()), float(low), float(high), float(lo), float(hi), float(np.mean(new)), float(np.mean(baseline)), len(n), len(d), int((d != 0).sum()), margin, float(((plain >= 0).sum() + 1) / (resamples + 1)), None)
