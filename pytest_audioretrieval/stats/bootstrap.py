"""Bounds on a mean paired difference that hold even when few queries change.

The percentile interval of a bootstrap fails where a gate needs it most. With k clusters changed, a resample misses all
of them with probability about e^-k, so the bound is "no change" although a handful of losses were seen.

**Method.** Clusters get Exp(1) weights instead of multinomial counts (Bayesian bootstrap: Rubin 1981), and one cluster
is added that was never seen: an *adverse* one, which loses for the lower bound and gains for the upper bound. Where
that cluster loses as much as can be lost, this is Gaffke's bound (2005; Learned-Miller and Thomas 2019). For one binary
query in each cluster it equals two exact answers: Clopper-Pearson where all changes go one way, and McNemar's
conditional test where the claim is "no loss" (the weight of k clusters is Gamma(k), and P(Gamma(a) < Gamma(b + 1)) is a
binomial tail). Exact answers cost power where changes go both ways and are many. So the adverse cluster loses only as
much as the data allow::

    M  largest |change| of a cluster that was seen
    R  largest conceivable change: every query of a cluster (as large as the average query's) moves by the whole span
    A = min(max(R, M), M + R / D)                   D clusters changed: what was seen, plus what D clusters may hide
    w = max(1/2, (losses + A^3) / (all + A^3))      "losses" and "all" are sums of |cluster change|^3
    adverse change = -w A

w is 1 where all changes are losses (the exact bound) and near 1/2 where gains balance them, which is close to the mid-P
version of the same tests. The powers are third because the bound on the mean of skewed changes is second-order correct
if it is shifted by half their third moment over their second (Hall 1992); w A is never less than that. Unbounded
outcomes need no rule of their own: there every cluster changes, R / D is small, and the worst cluster seen decides.
docs/explanation/calibration.md has the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.float64]

#: Resamples of the plain percentile interval (pinned protocol, "Results").
PLAIN_RESAMPLES = 2_000
#: Number of weights drawn at once: enough for a fast matrix product, few enough to stay in cache.
_BLOCK = 1 << 18
#: Most weights that are kept for the next endpoint of the same run (128 MB); more than that are drawn anew.
_KEPT = 1 << 24

#: Function that fills cluster weights [rows, clusters] from a generator.
_Draw = Callable[[np.random.Generator, Floats], None]


@dataclass(frozen=True, eq=False)
class Resamples:
    """Totals under B draws of cluster weights; all E endpoints share the draws.

    Attributes:
        sums: [E, B], weighted total of the differences.
        sizes: [B], weighted number of queries.
        extra: [B], weight of the unseen cluster.
        mean_size: number of queries of the unseen cluster.
    """

    sums: Floats
    sizes: Floats
    extra: Floats
    mean_size: float

    def means(self, adverse: Floats) -> Floats:
        """Return the mean difference [E, B] if the queries of the unseen cluster change by ``adverse`` [E] together."""
        return (self.sums + adverse[:, None] * self.extra) / (self.sizes + self.mean_size * self.extra)


@dataclass(frozen=True, eq=False)
class Bounds:
    """One-sided bounds of the mean difference, and p-values of "no loss".

    Attributes:
        low, high: [E], bounds at the confidence that was asked for, each.
        p_regressed: [E], share of resamples without a loss.
    """

    low: Floats
    high: Floats
    p_regressed: Floats


def resample(sums: Floats, sizes: Floats, resamples: int, seed: int) -> Resamples:
    """Draw cluster weights and total the differences ``sums`` [E, C] and the queries ``sizes`` [C] under them."""
    columns = np.pad(np.vstack((sums, sizes)), ((0, 1), (0, 1)))
    columns[-1, -1] = 1
    totals = _totals(columns, _exponential, resamples, seed)
    return Resamples(totals[:-2], totals[-2], totals[-1], float(sizes.mean()))


def worst_loss(sums: Floats, sizes: Floats, span: Floats) -> Floats:
    """Return what the unseen cluster loses, [E]; negate ``sums`` [E, C] for what it gains.

    ``span`` [E] is the width of the range of the outcomes. The docstring of the module has the rule.
    """
    changes = np.abs(sums)
    seen = changes.max(axis=1)
    conceivable = span * (sizes @ sizes) / sizes.sum()
    changed = np.maximum(np.count_nonzero(sums, axis=1), 1)
    worst = np.minimum(np.maximum(conceivable, seen), seen + conceivable / changed)
    scale = np.where(worst > 0, worst, 1.0)
    relative = changes / scale[:, None]
    cubes = relative * relative * relative
    losses = np.where(sums < 0, cubes, 0.0).sum(axis=1)
    return np.asarray(worst * np.maximum(0.5, (losses + 1) / (cubes.sum(axis=1) + 1)))


def lower_bound(means: Floats, confidence: float) -> Floats:
    """Return the order statistic of ``means`` [E, B] that the mean exceeds with ``confidence``, [E].

    Its rank is floor((B + 1) * alpha), so that the bound excludes 0 exactly when (b + 1) / (B + 1) <= alpha.
    """
    rank = int((means.shape[1] + 1) * (1 - confidence) + 1e-9) - 1
    return np.asarray(np.partition(means, rank, axis=1)[:, rank])


def bounds(drawn: Resamples, sums: Floats, sizes: Floats, span: Floats, confidence: float) -> Bounds:
    """Return bounds of the mean difference from resamples of ``sums`` [E, C]; negated ``sums`` mirror them exactly."""
    low = lower_bound(drawn.means(-worst_loss(sums, sizes, span)), confidence)
    upper = drawn.means(worst_loss(-sums, sizes, span))
    no_loss = np.count_nonzero(upper >= 0, axis=1)
    return Bounds(low, -lower_bound(-upper, confidence), (no_loss + 1) / (upper.shape[1] + 1))


def plain_means(sums: Floats, sizes: Floats, resamples: int, seed: int) -> Floats:
    """Return mean differences [E, B] over clusters drawn with replacement, from ``sums`` [E, C] and ``sizes`` [C]."""
    totals = _totals(np.vstack((sums, sizes)), _times_drawn, resamples, seed)
    return np.asarray(totals[:-1] / totals[-1])


def plain_interval(sums: Floats, sizes: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the two-sided 95 % percentile interval [E] of 2,000 resamples (pinned protocol, "Results").

    It is printed beside the bounds, and no verdict uses it; the docstring of the module says why.
    """
    means = plain_means(sums, sizes, PLAIN_RESAMPLES, seed)
    return np.quantile(means, 0.025, axis=1), -np.quantile(-means, 0.025, axis=1)


def _exponential(rng: np.random.Generator, weights: Floats) -> None:
    """Fill ``weights`` with Exp(1) numbers."""
    rng.standard_exponential(out=weights)


def _times_drawn(rng: np.random.Generator, weights: Floats) -> None:
    """Fill each row of ``weights`` with the number of times each cluster is drawn."""
    rows, clusters = weights.shape
    drawn = rng.integers(0, clusters, (rows, clusters)) + clusters * np.arange(rows)[:, None]
    weights[:] = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)


def _totals(columns: Floats, draw: _Draw, resamples: int, seed: int) -> Floats:
    """Return the totals [K, B] of ``columns`` [K, C] under ``resamples`` rows of weights, in blocks of rows."""
    totals, start = np.empty((len(columns), resamples)), 0
    # In products this small threads wait for each other, on a busy machine fifty times as long as the work takes. The
    # limit holds for the whole process, so two threads must not be in here at once.
    with threadpool_limits(1, user_api="blas"):
        for weights in _weights(draw, resamples, columns.shape[1], seed):
            totals[:, start : start + len(weights)] = columns @ weights.T
            start += len(weights)
    return totals


def _weights(draw: _Draw, resamples: int, clusters: int, seed: int) -> Iterator[Floats]:
    """Yield weights [rows, clusters] in blocks of rows; the endpoints of a gate share one set where it can be kept."""
    if resamples * clusters <= _KEPT:
        yield from _blocks(_kept_weights(draw, resamples, clusters, seed))
        return
    rng, block = _generator(seed), np.empty((_rows(clusters), clusters))
    for start in range(0, resamples, len(block)):
        part = block[: resamples - start]
        draw(rng, part)
        yield part


@lru_cache(maxsize=2)
def _kept_weights(draw: _Draw, resamples: int, clusters: int, seed: int) -> Floats:
    """Return all weights [B, C], kept for the next call with the same arguments."""
    # They are one array, because the system gives it large pages; small pages cost half as much time as the draws.
    rng, weights = _generator(seed), np.empty((resamples, clusters))
    for part in _blocks(weights):
        draw(rng, part)
    weights.flags.writeable = False
    return weights


def _blocks(weights: Floats) -> Iterator[Floats]:
    """Return views of ``weights`` in blocks of rows."""
    step = _rows(weights.shape[1])
    return (weights[start : start + step] for start in range(0, len(weights), step))


def _rows(clusters: int) -> int:
    """Return the number of rows in a block."""
    return max(1, _BLOCK // clusters)


def _generator(seed: int) -> np.random.Generator:
    """Return a PCG64 generator, whatever the default of numpy is."""
    return np.random.Generator(np.random.PCG64(seed))
