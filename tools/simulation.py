"""Simulated runs with a known true difference, and error rates of their bounds: cells of the calibration grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from itertools import product
from zlib import crc32

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.stats import bootstrap

Floats = npt.NDArray[np.float64]

#: Number of trials that share cluster sizes and resamples; both are redrawn often, so that their noise averages out.
GROUP = 100
RESAMPLES = 1_000
#: Cluster sizes of the "unequal" layout and their probabilities.
UNEQUAL = ((1, 2, 3, 5, 10), (0.3, 0.2, 0.2, 0.2, 0.1))
#: Candidates of the outcome "rank", and the tail index of the places that a query falls: under 2, no variance exists.
POOL, PLACES = 566, 1.8
OCTAVES = float(np.log2(POOL))


def octaves(chance: Floats) -> Floats:
    """Return log2 of a query's rank after a fall from the first place by a Pareto number of places.

    The rank is at most the last one.
    """
    return np.log2(np.minimum(1 + chance ** (-1 / PLACES), POOL))


#: Mean size of one query's change, by outcome.
MEAN_CHANGE = {
    "binary": 1.0,
    "ap": 0.25,
    "rank": float(octaves((np.arange(100_000) + 0.5) / 100_000).mean()),
    "margin": 2 * 3**0.5 / np.pi,
    "exponential": 1.0,
    "lognormal": np.exp(0.72),
}
#: Spread of the outcome "symmetric": cosine margins move by some hundredths from one checkpoint to the next.
SYMMETRIC_SCALE = 0.02


@dataclass(frozen=True)
class Cell:
    """One cell of the calibration grid.

    Attributes:
        outcome: ``binary``: a hit lost or gained. ``ap``: a share of the span (uniform, cubed) lost or gained by some.
            ``rank``: some fall or rise by a Pareto number of places in a pool of 566, in octaves (log2).
            ``margin``: every query moves by |Student t, 3 degrees|. ``exponential``, ``lognormal`` (sigma 1.2): with
            other tails. ``symmetric``: Student t, 3 degrees, around the true difference.
        clusters: number of clusters.
        queries: number of queries in each, or ``unequal``.
        margin: minus the true mean difference, so that certifying ``non_inferior`` at it is an error.
        gain: probability that a query gains (``binary``, ``ap``, ``rank``), or that its move is upwards (heavy tails).
        rho: correlation of two queries of a cluster.
        drop: minus the true mean difference where it is not the margin.
    """

    outcome: str
    clusters: int
    queries: str
    margin: float
    gain: float
    rho: float
    drop: float | None = None

    @property
    def true(self) -> float:
        return -self.margin if self.drop is None else -self.drop


@dataclass(frozen=True)
class Tally:
    """Rates over trials, in per cent.

    Attributes:
        identical: nothing changed.
        certified: the bounds show ``non_inferior``, whether or not anything changed.
        plain, whole, seen: the same with the plain percentile; with an adverse cluster that loses all that can be lost;
            with one that loses as much as the worst observed cluster.
        covered: the two-sided 95 % interval holds the true difference.
        equivalent, regressed: the bounds show it.
        lost: the upper bound is below 0.
    """

    identical: float
    certified: float
    plain: float
    whole: float
    seen: float
    covered: float
    equivalent: float
    regressed: float
    lost: float


def grid() -> Iterator[Cell]:
    """Return all cells: hits, precisions, margins and ranks with margins of their own unit, and other tails.

    Other tails have one margin.
    """
    layouts = [("1", 0.0), *product(("3", "5", "unequal"), (0.0, 0.3, 0.7))]
    sides = list(product((50, 200, 957, 1045), layouts))
    margins = dict.fromkeys(("binary", "ap", "margin"), (0.005, 0.01, 0.03)) | {"rank": (0.03, 0.1, 0.25)}
    for outcome, sizes in margins.items():
        for (clusters, (queries, rho)), margin, gain in product(sides, sizes, (0.0, 0.01, 0.05, 0.2)):
            yield Cell(outcome, clusters, queries, margin, gain, rho)
    for outcome, (clusters, (queries, rho)) in product(("symmetric", "exponential", "lognormal"), sides):
        yield Cell(outcome, clusters, queries, 0.01, 0.0, rho)


def run(cell: Cell, trials: int, resamples: int = RESAMPLES) -> Tally:
    """Simulate ``trials`` comparisons of a cell, rounded up to whole groups.

    The cell has its own seed, so the result is always the same.
    """
    rng = np.random.default_rng(crc32(repr(astuple(cell)).encode()))
    groups = [_group(cell, rng, resamples) for _ in range(-(-trials // GROUP))]
    return Tally(**{f.name: 100 * float(np.mean([g[f.name] for g in groups])) for f in fields(Tally)})


def _group(cell: Cell, rng: np.random.Generator, resamples: int) -> dict[str, npt.NDArray[np.bool_]]:
    sizes = layout(cell, rng)
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(differences(cell, sizes, GROUP, rng), starts, axis=1)
    size, span, seed = sizes.astype(np.float64), np.full(GROUP, _span(cell)), int(rng.integers(1 << 31))
    drawn = bootstrap.resample(sums, size, resamples, seed)
    found = bootstrap.bounds(drawn, sums, size, span, 0.95)
    wide = bootstrap.bounds(drawn, sums, size, span, 0.975)
    plain = bootstrap.lower_bound(bootstrap.plain_means(sums, size, resamples, seed), 0.95)
    all_it_can = span * (size @ size) / size.sum()
    most_seen = np.where(sums.any(axis=1), np.abs(sums).max(axis=1), all_it_can)
    whole, seen = (bootstrap.lower_bound(drawn.means(-loss), 0.95) for loss in (all_it_can, most_seen))
    certified = found.low > -cell.margin
    return {
        "identical": np.asarray(~sums.any(axis=1)),
        "certified": certified,
        "plain": plain > -cell.margin,
        "whole": whole > -cell.margin,
        "seen": seen > -cell.margin,
        "covered": (wide.low <= cell.true) & (cell.true <= wide.high),
        "equivalent": certified & (found.high < cell.margin),
        "regressed": ~certified & (found.high < 0),
        "lost": found.high < 0,
    }


def _span(cell: Cell) -> float:
    return OCTAVES if cell.outcome == "rank" else 1.0


def layout(cell: Cell, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the number of queries of each cluster, [C]."""
    if cell.queries == "unequal":
        return rng.choice(UNEQUAL[0], p=UNEQUAL[1], size=cell.clusters)
    return np.full(cell.clusters, int(cell.queries))


def differences(cell: Cell, sizes: npt.NDArray[np.int64], trials: int, rng: np.random.Generator) -> Floats:
    """Return per-query differences [trials, Q] with mean ``cell.true`` and correlation ``cell.rho`` in a cluster."""
    if cell.outcome in ("binary", "ap", "rank"):
        return _sparse(cell, sizes, trials, rng)
    if cell.outcome == "symmetric":
        return cell.true + SYMMETRIC_SCALE * _alike(lambda shape: rng.standard_t(3, shape), cell, sizes, trials, rng)

    def moves(shape: tuple[int, int]) -> Floats:
        return _change(cell.outcome, shape, rng) * np.where(rng.random(shape) < cell.gain, 1, -1)

    unit = -cell.true / ((1 - 2 * cell.gain) * MEAN_CHANGE[cell.outcome])
    return np.asarray(unit * _alike(moves, cell, sizes, trials, rng))


def _sparse(cell: Cell, sizes: npt.NDArray[np.int64], trials: int, rng: np.random.Generator) -> Floats:
    """Draw queries as lost, gained or unchanged, with correlated odds of their cluster (Dirichlet)."""
    lost = cell.gain - cell.true / MEAN_CHANGE[cell.outcome]
    chance = rng.random((trials, int(sizes.sum())), dtype=np.float32)
    if cell.rho:
        odds = [rng.standard_gamma(p * (1 / cell.rho - 1), (trials, len(sizes))) for p in (lost, cell.gain)]
        total = sum(odds) + rng.standard_gamma((1 - lost - cell.gain) * (1 / cell.rho - 1), odds[0].shape)
        to_lose, to_move = (np.repeat(part / total, sizes, axis=1) for part in (odds[0], sum(odds)))
    else:
        to_lose, to_move = lost, lost + cell.gain
    moved = (chance < to_move) * 1.0 - 2.0 * (chance < to_lose)
    if cell.outcome != "binary":
        moved *= _alike(lambda shape: _change(cell.outcome, shape, rng), cell, sizes, trials, rng)
    return moved


def _change(outcome: str, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    if outcome == "ap":
        return rng.random(shape) ** 3
    if outcome == "rank":
        return octaves(1 - rng.random(shape))
    if outcome == "margin":
        return np.abs(rng.standard_t(3, shape))
    return rng.exponential(1.0, shape) if outcome == "exponential" else rng.lognormal(0.0, 1.2, shape)


def _alike(
    draw: Callable[[tuple[int, int]], Floats],
    cell: Cell,
    sizes: npt.NDArray[np.int64],
    trials: int,
    rng: np.random.Generator,
) -> Floats:
    """Draw values [trials, Q]; a query has its cluster's value with probability sqrt(rho).

    So a share rho of all pairs within a cluster is equal.
    """
    own = draw((trials, int(sizes.sum())))
    if not cell.rho:
        return own
    shared = np.repeat(draw((trials, len(sizes))), sizes, axis=1)
    return np.where(rng.random(own.shape) < cell.rho**0.5, shared, own)
