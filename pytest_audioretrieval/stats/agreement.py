"""Agreement of two models' choices beyond what their accuracies alone predict (MASB, Exp. 2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.stats.association import percentile_interval
from pytest_audioretrieval.stats.bootstrap import PLAIN_RESAMPLES, Floats, plain_means
from pytest_audioretrieval.stats.checks import choices, same_length
from pytest_audioretrieval.stats.clusters import check_two_clusters, group
from pytest_audioretrieval.stats.paired import CONFIDENCE, check_settings


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cohen's kappa with its two-sided 95 % interval.

    Attributes:
        kappa: (observed - expected) / (1 - expected), from -1 to 1. Kappa and its interval are None where both sides
            always make the same choice, because no agreement beyond that can be seen.
        low, high: ends of the interval.
        observed: share of pairs on which both sides choose alike.
        expected: the same share if both chose independently at their accuracies.
        pairs, clusters: how many there are.
        ties: number of pairs on which at least one side ties.
    """

    kappa: float | None
    low: float | None
    high: float | None
    observed: float
    expected: float
    pairs: int
    ties: int
    clusters: int


def cohen_kappa(
    one: npt.ArrayLike,
    other: npt.ArrayLike,
    cluster: Iterable[Hashable],
    *,
    resamples: int = PLAIN_RESAMPLES,
    seed: int = SEED,
) -> Agreement:
    """Return Cohen's kappa of two vectors of choices: 0 is no agreement beyond chance, 1 identical choices.

    A tie counts as half of either choice, as it does in an accuracy: this is what a fair coin gives on average. So
    kappa is 0 for a side that always ties, and for one that always makes the same choice.

    The interval holds the middle 95 % of the kappas over resampled clusters. A resample in which kappa is undefined
    could have any value, so it counts as -1 for the lower end and as 1 for the upper end.

    Source: MASB, Exp. 2.

    Args:
        one, other: [P], 1 for the right option, 0 for the wrong one, 0.5 at a tie.
        cluster: [P] labels, any hashable: the recording of each pair. Clusters are resampled, never pairs.
        resamples: at least 100.
        seed: of a generator of its own; global random state is neither read nor changed.

    Raises:
        SpecError: an argument out of range.
        DataError: other values than 1, 0 and 0.5, labels that do not fit, or only one cluster.
    """
    check_settings(CONFIDENCE, resamples, seed)
    left, right, clusters = choices("one", one), choices("other", other), group(cluster)
    pairs = same_length({"one": left, "other": right, "cluster": clusters.codes})
    check_two_clusters(clusters)
    columns = np.stack([left, right, left * right])
    observed, expected = _agreement(columns.mean(axis=1))
    kappa = low = high = None
    if expected < 1:
        kappa = float((observed - expected) / (1 - expected))
        sums = np.stack([clusters.sums(column) for column in columns])
        low, high = percentile_interval(_kappas(plain_means(sums, clusters.sizes, resamples, seed)), CONFIDENCE)
    ties = int(np.count_nonzero((left == 0.5) | (right == 0.5)))
    return Agreement(kappa, low, high, float(observed), float(expected), pairs, ties, len(clusters.sizes))


def _agreement(means: Floats) -> tuple[Floats, Floats]:
    """Return observed and expected agreement from the means of both sides and of their product, [3, ...]."""
    one, other, product = means
    return 1 - one - other + 2 * product, one * other + (1 - one) * (1 - other)


def _kappas(means: Floats) -> Floats:
    """Return kappa [B] of resampled ``means`` [3, B]; NaN where both sides always make the same choice."""
    observed, expected = _agreement(means)
    found = np.full(len(expected), np.nan)
    np.divide(observed - expected, 1 - expected, out=found, where=expected < 1)
    return np.asarray(np.clip(found, -1, 1))
