"""How strongly two quantities go together over pairs, with intervals that know which pairs share a clip.

**Interval.** Percentiles over resampled clusters, all pairs of a cluster together; pairs of one clip are far from
independent. Pearson needs five sums a cluster. Spearman is ranked afresh in every resample (a cluster drawn twice
counts twice), which is the exact bootstrap of the coefficient; resampling the ranks of the full sample would bootstrap
another statistic. A resample in which one side is constant could have any correlation, so it counts as -1 for the
lower end and as 1 for the upper end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.stats.bootstrap import PLAIN_RESAMPLES, Floats, plain_means
from pytest_audioretrieval.stats.clusters import Clusters, group
from pytest_audioretrieval.stats.columns import column, numbers, same_length
from pytest_audioretrieval.stats.paired import CONFIDENCE, check_settings

Method = Literal["pearson", "spearman"]

#: Below this share of its square a variance is rounding, not spread.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Association:
    """A correlation ``r`` with its two-sided interval, over so many pairs in so many clusters."""

    r: float
    low: float
    high: float
    pairs: int
    clusters: int


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's r of ``x`` and ``y`` [P].

    Raises:
        DataError: not finite numbers of one length, or a constant, which has no correlation.
    """
    left, right = _pairs(x, y)
    return float(np.clip(_unit("x", left) @ _unit("y", right), -1, 1))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rho of ``x`` and ``y`` [P]: Pearson's r of their ranks, equal values sharing their average rank.

    Raises:
        DataError: as ``pearson``.
    """
    return pearson(*(_middle_ranks(_levels(values), np.ones(len(values)))[0] for values in _pairs(x, y)))


def associate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    cluster: Iterable[Hashable],
    *,
    method: Method = "pearson",
    confidence: float = CONFIDENCE,
    resamples: int = PLAIN_RESAMPLES,
    seed: int = SEED,
) -> Association:
    """Correlate ``x`` and ``y`` [P], with a percentile interval over resampled clusters (see the module's text).

    Args:
        cluster: [P] labels, any hashable: the clip of each pair. Clusters are resampled, never pairs.
        confidence: of the two-sided interval, in (0.5, 1).

    Raises:
        SpecError: an argument out of range. DataError: as ``pearson``, or labels that do not fit, or one cluster only.
    """
    check_settings(confidence, resamples, seed)
    if method not in get_args(Method):
        raise SpecError(f"method is {method!r}: expected one of {', '.join(get_args(Method))}")
    left, right = _pairs(x, y)
    clusters = group(cluster)
    same_length({"x": left, "cluster": clusters.codes})
    if len(clusters.sizes) < 2:
        raise DataError("all pairs are of one cluster: expected at least 2, because clusters are what is resampled")
    estimate, redraw = (pearson, _pearson_resamples) if method == "pearson" else (spearman, _spearman_resamples)
    r = estimate(left, right)
    low, high = percentiles(redraw(left, right, clusters, resamples, seed), confidence)
    return Association(r, low, high, len(left), len(clusters.sizes))


def partial_correlation(x: npt.ArrayLike, y: npt.ArrayLike, controls: Mapping[str, npt.ArrayLike]) -> float:
    """Pearson's r of what is left of ``x`` and ``y`` [P] after least squares on ``controls`` (CORA, Appendix H).

    Args:
        controls: columns [P]; text enters as one indicator per label, numbers as they are, and an intercept is added.
            Controls may determine each other, as dataset and pool size do.

    Raises:
        DataError: as ``pearson``; also a side that the controls determine, so that nothing is left of it.
    """
    sides = _pairs(x, y)
    design = _design(len(sides[0]), controls)
    given = np.column_stack([_unit(name, values) for name, values in zip("xy", sides, strict=True)])
    left_over = given - design @ np.linalg.lstsq(design, given)[0]
    for name, length in zip("xy", np.linalg.norm(left_over, axis=0), strict=True):
        if length < _ROUNDING**0.5:
            raise DataError(f"the controls determine {name}: nothing is left to correlate; leave that control out")
    return pearson(left_over[:, 0], left_over[:, 1])


def _pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    left, right = numbers("x", x), numbers("y", y)
    same_length({"x": left, "y": right})
    return left, right


def _unit(name: str, values: Floats) -> Floats:
    """``values`` centred and scaled to length 1."""
    # Scaled first, so that the squares of huge and of tiny values neither overflow nor vanish.
    scaled = values / (np.abs(values).max() or 1.0)
    centred = scaled - scaled.mean()
    length = np.linalg.norm(centred)
    if not length:
        raise DataError(
            f"{name} has one value in all {len(values)} pairs: expected two or more; a constant has no correlation"
        )
    return np.asarray(centred / length)


def _levels(values: Floats) -> npt.NDArray[np.intp]:
    return np.unique(values, return_inverse=True)[1]


def _middle_ranks(levels: npt.NDArray[np.intp], weights: Floats) -> tuple[Floats, float]:
    """Average ranks [P] among pairs that count ``weights`` times, less their mean, and the sum of their squares."""
    totals = np.bincount(levels, weights)
    upper = np.cumsum(totals)
    ranks = upper - totals / 2 - upper[-1] / 2
    return ranks[levels], float(totals @ (ranks * ranks))


def _pearson_resamples(x: Floats, y: Floats, clusters: Clusters, resamples: int, seed: int) -> Floats:
    """Pearson's r [B] over clusters drawn with replacement; NaN where one side is constant."""
    left, right = _unit("x", x), _unit("y", y)
    products = (left, right, left * left, right * right, left * right)
    sums = np.stack([clusters.sums(values) for values in products])
    mean_x, mean_y, square_x, square_y, product = plain_means(sums, clusters.sizes, resamples, seed)
    spread_x, spread_y = square_x - mean_x * mean_x, square_y - mean_y * mean_y
    defined = (spread_x > _ROUNDING * square_x) & (spread_y > _ROUNDING * square_y)
    found = np.full(resamples, np.nan)
    np.divide(product - mean_x * mean_y, np.sqrt(np.abs(spread_x * spread_y)), out=found, where=defined)
    return np.asarray(np.clip(found, -1, 1))


def _spearman_resamples(x: Floats, y: Floats, clusters: Clusters, resamples: int, seed: int) -> Floats:
    """Spearman's rho [B] over clusters drawn with replacement, ranked afresh; NaN where one side is constant."""
    rng, count = np.random.Generator(np.random.PCG64(seed)), len(clusters.sizes)
    levels_x, levels_y = _levels(x), _levels(y)
    found = np.full(resamples, np.nan)
    for draw in range(resamples):
        times = np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)[clusters.codes]
        ranks_x, square_x = _middle_ranks(levels_x, times)
        ranks_y, square_y = _middle_ranks(levels_y, times)
        if square_x and square_y:
            found[draw] = (times * ranks_x) @ ranks_y / (square_x * square_y) ** 0.5
    return np.asarray(np.clip(found, -1, 1))


def percentiles(found: Floats, confidence: float) -> tuple[float, float]:
    """Two-sided interval from resamples [B] of a value in [-1, 1]; a NaN is -1 for its lower end, 1 for its upper."""
    tail = (1 - confidence) / 2
    low, high = np.nan_to_num(found, nan=-1.0), np.nan_to_num(found, nan=1.0)
    return float(np.quantile(low, tail)), -float(np.quantile(-high, tail))


def _design(pairs: int, controls: Mapping[str, npt.ArrayLike]) -> Floats:
    """Columns [P, K] of an intercept, an indicator per label, and centred numbers of like size."""
    columns = {name: column(name, values) for name, values in controls.items()}
    same_length({"x": range(pairs), **columns})
    parts = [np.ones((pairs, 1))]
    for values in columns.values():
        parts.append(_indicators(values) if isinstance(values, list) else _standardised(values))
    return np.hstack(parts)


def _indicators(values: Sequence[str]) -> Floats:
    levels, codes = np.unique(np.array(values), return_inverse=True)
    return np.eye(len(levels))[codes]


def _standardised(values: Floats) -> Floats:
    centred = values - values.mean()
    return np.asarray(centred / (centred.std() or 1.0))[:, None]
