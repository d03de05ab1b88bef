"""Tests of choices between two options against chance, with independent choices and with clusters of choices.

**Independent.** The exact two-sided binomial test and Wilson's interval (MASB, Exp. 1) treat every choice as a new
observation. Two captions of one recording are not two observations: where they are answered alike, test and interval
promise too much; where one is right because the other is wrong, as in mirror pairs, they promise too little.

**Clustered.** Under chance a cluster is as likely to prefer the right options as the wrong ones *by the same amount*.
So its sum of (choice - 1/2) keeps its size and may flip its sign, independently of other clusters and whatever its own
choices have in common. In half units all sums are whole, so the distribution of their total is computed exactly and not
sampled. For clusters of one choice without a tie this is the binomial test.

The interval weighs clusters by a Bayesian bootstrap and adds one cluster of mean size that was never seen, with every
choice wrong for the lower end and right for the upper end (``bootstrap``; Gaffke 2005). For clusters of one choice this
is Clopper and Pearson's interval, up to the noise of the resamples.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import fsum, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.stats.bootstrap import Floats, lower_bound, resample
from pytest_audioretrieval.stats.checks import choices, same_length
from pytest_audioretrieval.stats.clusters import Clusters, group
from pytest_audioretrieval.stats.paired import CONFIDENCE, RESAMPLES, check_settings


@dataclass(frozen=True, slots=True)
class Chance:
    """Test of an accuracy against 1/2, for independent choices and for clusters of choices.

    All p-values and intervals are two-sided.

    Attributes:
        accuracy: right choices plus half the ties, over ``trials``.
        trials, ties, clusters: how many choices, ties and clusters there are.
        successes: right choices plus half the ties as a whole number; half a success is rounded towards chance.
        p_exact: p-value of the binomial test, for independent choices.
        wilson_low, wilson_high: Wilson's interval, for independent choices.
        p_clustered: exact p-value by sign flips of whole clusters.
        clustered_low, clustered_high: interval over resampled clusters.
    """

    accuracy: float
    trials: int
    ties: int
    successes: int
    p_exact: float
    wilson_low: float
    wilson_high: float
    clusters: int
    p_clustered: float
    clustered_low: float
    clustered_high: float


def against_chance(
    correct: npt.ArrayLike,
    cluster: Iterable[Hashable],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Chance:
    """Test choices between two options against chance, which is 1/2.

    The docstring of the module describes the method.

    Source: MASB, Exp. 1 and 4.

    Args:
        correct: [Q], 1 right, 0 wrong, 0.5 at a tie.
        cluster: [Q] labels, any hashable: the recording or track of each choice.
        confidence: of both two-sided intervals.
        resamples: of the clustered interval, at least 100; both p-values are exact.
        seed: of a generator of its own; global random state is neither read nor changed.

    Raises:
        SpecError: an argument out of range.
        DataError: other values than 1, 0 and 0.5, or labels that do not fit.
    """
    one_sided = (1 + confidence) / 2
    check_settings(one_sided, resamples, seed)
    found, clusters = choices("correct", correct), group(cluster)
    trials = same_length({"correct": found, "cluster": clusters.codes})
    halves = int(2 * found.sum())
    successes = (halves + (halves < trials)) // 2
    wilson_low, wilson_high = _wilson(halves / 2 / trials, trials, one_sided)
    low, high = _clustered_interval(found, clusters, one_sided, resamples, seed)
    return Chance(
        accuracy=fsum(found) / trials,
        trials=trials,
        ties=int(np.count_nonzero(found == 0.5)),
        successes=successes,
        p_exact=sign_flip_p(np.repeat([1.0, -1.0], [successes, trials - successes])),
        wilson_low=wilson_low,
        wilson_high=wilson_high,
        clusters=len(clusters.sizes),
        p_clustered=sign_flip_p(clusters.sums(2 * found - 1)),
        clustered_low=low,
        clustered_high=high,
    )


def sign_flip_p(sums: Floats) -> float:
    """Return the share of sign flips of ``sums`` [C], whole numbers, whose total is at least as far from 0."""
    sizes = np.abs(sums[sums != 0]).astype(np.int64)
    total = int(sizes.sum())
    # Probability of each sum, from 0 to total, of the terms that keep a plus sign.
    plus = np.zeros(total + 1)
    plus[0], reached = 1.0, 0
    for size in sizes.tolist():
        grown = np.zeros(reached + size + 1)
        grown[: reached + 1] = plus[: reached + 1] / 2
        grown[size:] += plus[: reached + 1] / 2
        reached += size
        plus[: reached + 1] = grown
    distance = np.abs(2 * np.arange(total + 1) - total)
    return min(1.0, float(plus[distance >= abs(sums.sum())].sum()))


def _wilson(share: float, trials: int, one_sided: float) -> tuple[float, float]:
    """Return Wilson's score interval (1927) of a share that may include half successes."""
    square = NormalDist().inv_cdf(one_sided) ** 2
    centre = share + square / (2 * trials)
    reach = sqrt(square * (share * (1 - share) + square / (4 * trials)) / trials)
    return max(0.0, (centre - reach) / (1 + square / trials)), min(1.0, (centre + reach) / (1 + square / trials))


def _clustered_interval(
    correct: Floats, clusters: Clusters, one_sided: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Return the two-sided interval of the accuracy over resampled clusters."""
    drawn = resample(clusters.sums(correct)[None], clusters.sizes, resamples, seed)
    lower, upper = drawn.means(np.zeros(1)), drawn.means(np.array([drawn.mean_size]))
    return float(lower_bound(lower, one_sided)[0]), -float(lower_bound(-upper, one_sided)[0])
