"""Correlations over pairs, with intervals that take into account which pairs share a clip.

**Interval.** Percentiles over resampled clusters. All pairs of a cluster are drawn together, because pairs of one clip
are far from independent. Pearson's r needs five sums for each cluster. For Spearman's rho every resample is ranked anew
(a cluster that is drawn twice counts twice), which is the exact bootstrap of the coefficient; resampling the ranks of
the full sample would bootstrap another statistic. A resample in which one side is constant could have any correlation,
so it counts as -1 for the lower end and as 1 for the upper end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import DataError, SpecError, did_you_mean
from pytest_audioretrieval.stats.bootstrap import PLAIN_RESAMPLES, Floats, plain_means
from pytest_audioretrieval.stats.checks import labels_or_numbers, numbers, same_length
from pytest_audioretrieval.stats.clusters import Clusters, check_two_clusters, group
from pytest_audioretrieval.stats.paired import CONFIDENCE, check_settings

Method = Literal["pearson", "spearman"]

#: A variance below this share of the mean square is rounding, not spread.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Association:
    """Correlation with its two-sided interval over resampled clusters.

    Source: CORA, section 4.3.1 (Pearson's r of a signal and RankDrop).

    Attributes:
        r: the correlation, from -1 to 1.
        low, high: ends of the interval.
        pairs, clusters: how many there are.

    >>> from pytest_audioretrieval.stats import associate
    >>> found = associate([1, 2, 3, 4], [1, 3, 2, 4], cluster=["a", "a", "b", "b"])
    >>> round(found.r, 6), found.pairs, found.clusters
    (0.8, 4, 2)
    """

    r: float
    low: float
    high: float
    pairs: int
    clusters: int


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return Pearson's r of ``x`` and ``y`` [P], from -1 to 1.

    Source: CORA, section 4.3.1.

    Raises:
        DataError: values that are no finite numbers, different lengths, or a constant, which has no correlation.

    >>> from pytest_audioretrieval.stats import pearson
    >>> round(pearson([1, 2, 3, 100], [1, 2, 3, 4]), 4)
    0.785
    """
    left, right = _pairs(x, y)
    return float(np.clip(_unit("x", left) @ _unit("y", right), -1, 1))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return Spearman's rho of ``x`` and ``y`` [P]: Pearson's r of their ranks, from -1 to 1.

    Equal values share their average rank.

    Source: CORA, section 4.4 and Table 5.

    Raises:
        DataError: values that are no finite numbers, different lengths, or a constant, which has no correlation.

    >>> from pytest_audioretrieval.stats import spearman
    >>> round(spearman([1, 2, 3, 100], [1, 2, 3, 4]), 4)
    1.0
    """
    return pearson(*(_average_ranks(_levels(values), np.ones(len(values)))[0] for values in _pairs(x, y)))


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
    """Correlate ``x`` and ``y`` [P], with a percentile interval over resampled clusters.

    The docstring of the module describes the interval.

    Source: CORA, section 4.3.1; clusters as in the pinned protocol, "Results".

    Args:
        x, y: [P], numbers in any unit.
        cluster: [P] labels, any hashable: the clip of each pair. Clusters are resampled, never pairs.
        method: ``pearson`` or ``spearman``.
        confidence: of the two-sided interval, in (0.5, 1).
        resamples: at least 100.
        seed: of a generator of its own; global random state is neither read nor changed.

    Raises:
        SpecError: an argument out of range.
        DataError: values that ``pearson`` refuses, labels that do not fit, or only one cluster.

    >>> from pytest_audioretrieval.stats import associate
    >>> tal, rank_drop = [0.1, 0.2, 0.4, 0.3, 0.5, 0.7], [0, 2, 5, 3, 4, 9]
    >>> found = associate(tal, rank_drop, cluster=["a", "a", "b", "b", "c", "c"], method="spearman")
    >>> round(found.r, 4), found.low <= found.r <= found.high
    (0.9429, True)
    """
    check_settings(confidence, resamples, seed)
    if method not in get_args(Method):
        known = get_args(Method)
        remedy = f"{did_you_mean(str(method), known)}choose one"
        raise SpecError(f"method is {method!r}", expected=f"one of {', '.join(known)}", remedy=remedy)
    left, right = _pairs(x, y)
    clusters = group(cluster)
    same_length({"x": left, "cluster": clusters.codes})
    check_two_clusters(clusters)
    estimate, redraw = (pearson, _pearson_resamples) if method == "pearson" else (spearman, _spearman_resamples)
    r = estimate(left, right)
    low, high = percentile_interval(redraw(left, right, clusters, resamples, seed), confidence)
    return Association(r, low, high, len(left), len(clusters.sizes))


def partial_correlation(x: npt.ArrayLike, y: npt.ArrayLike, controls: Mapping[str, npt.ArrayLike]) -> float:
    """Return Pearson's r of the residuals of ``x`` and ``y`` [P] after least squares on ``controls``.

    Source: CORA, Appendix H.

    Args:
        x, y: [P], numbers in any unit.
        controls: columns [P] by name. Text enters as one indicator for each label, numbers as they are, and an
            intercept is added. Controls may determine each other, as dataset and pool size do.

    Raises:
        DataError: values that ``pearson`` refuses, or a side that the controls determine, because no residual is left.

    >>> from pytest_audioretrieval.stats import partial_correlation
    >>> dataset = ["Clotho", "Clotho", "Clotho", "MACS", "MACS", "MACS"]
    >>> round(partial_correlation([1, 2, 3, 11, 12, 13], [3, 2, 1, 14, 12, 13], {"dataset": dataset}), 4)
    -0.75
    """
    sides = _pairs(x, y)
    design = _design(len(sides[0]), controls)
    given = np.column_stack([_unit(name, values) for name, values in zip("xy", sides, strict=True)])
    left_over = given - design @ np.linalg.lstsq(design, given, rcond=None)[0]
    for name, length in zip("xy", np.linalg.norm(left_over, axis=0), strict=True):
        if length < _ROUNDING**0.5:
            raise DataError(
                f"the controls determine {name}",
                expected="residuals to correlate",
                remedy="leave out the control that determines it",
            )
    return pearson(left_over[:, 0], left_over[:, 1])


def _pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return both sides as float64 [P], checked."""
    left, right = numbers("x", x), numbers("y", y)
    same_length({"x": left, "y": right})
    return left, right


def _unit(name: str, values: Floats) -> Floats:
    """Return ``values`` centred and scaled to length 1."""
    # Scaled first, so that the squares of huge and of tiny values neither overflow nor vanish.
    scaled = values / (np.abs(values).max() or 1.0)
    centred = scaled - scaled.mean()
    length = np.linalg.norm(centred)
    if not length:
        raise DataError(
            f"{name} has one value in all {len(values)} pairs",
            expected="two or more, because a constant has no correlation",
            remedy="leave it out",
        )
    return np.asarray(centred / length)


def _levels(values: Floats) -> npt.NDArray[np.intp]:
    """Return the place of each value among the sorted distinct values."""
    return np.unique(values, return_inverse=True)[1]


def _average_ranks(levels: npt.NDArray[np.intp], weights: Floats) -> tuple[Floats, float]:
    """Return centred average ranks [P] of pairs that count ``weights`` times, and the sum of the ranks' squares."""
    totals = np.bincount(levels, weights)
    upper = np.cumsum(totals)
    ranks = upper - totals / 2 - upper[-1] / 2
    return ranks[levels], float(totals @ (ranks * ranks))


def _pearson_resamples(x: Floats, y: Floats, clusters: Clusters, resamples: int, seed: int) -> Floats:
    """Return Pearson's r [B] over clusters drawn with replacement; NaN where one side is constant."""
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
    """Return Spearman's rho [B] over clusters drawn with replacement, ranked anew; NaN where one side is constant."""
    rng, count = np.random.Generator(np.random.PCG64(seed)), len(clusters.sizes)
    levels_x, levels_y = _levels(x), _levels(y)
    found = np.full(resamples, np.nan)
    for draw in range(resamples):
        times = np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)[clusters.codes]
        ranks_x, square_x = _average_ranks(levels_x, times)
        ranks_y, square_y = _average_ranks(levels_y, times)
        if square_x and square_y:
            found[draw] = (times * ranks_x) @ ranks_y / (square_x * square_y) ** 0.5
    return np.asarray(np.clip(found, -1, 1))


def percentile_interval(found: Floats, confidence: float) -> tuple[float, float]:
    """Return the two-sided interval of resamples [B] of a value in [-1, 1].

    A NaN counts as -1 for the lower end and as 1 for the upper end.
    """
    tail = (1 - confidence) / 2
    low, high = np.nan_to_num(found, nan=-1.0), np.nan_to_num(found, nan=1.0)
    return float(np.quantile(low, tail)), -float(np.quantile(-high, tail))


def _design(pairs: int, controls: Mapping[str, npt.ArrayLike]) -> Floats:
    """Return columns [P, K]: an intercept, an indicator for each label, and standardised numbers."""
    columns = {name: labels_or_numbers(name, values) for name, values in controls.items()}
    same_length({"x": range(pairs), **columns})
    parts = [np.ones((pairs, 1))]
    for values in columns.values():
        parts.append(_indicators(values) if isinstance(values, list) else _standardised(values))
    return np.hstack(parts)


def _indicators(values: Sequence[str]) -> Floats:
    """Return one column of 0 and 1 for each label."""
    levels, codes = np.unique(np.array(values), return_inverse=True)
    return np.eye(len(levels))[codes]


def _standardised(values: Floats) -> Floats:
    """Return one column with mean 0 and standard deviation 1."""
    centred = values - values.mean()
    return np.asarray(centred / (centred.std() or 1.0))[:, None]
