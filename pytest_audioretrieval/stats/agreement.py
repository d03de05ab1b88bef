"""How far two makers of choices agree beyond what their accuracies alone predict (MASB, Exp. 2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.association import percentiles
from pytest_audioretrieval.stats.bootstrap import PLAIN_RESAMPLES, Floats, plain_means
from pytest_audioretrieval.stats.clusters import group
from pytest_audioretrieval.stats.columns import choices, same_length
from pytest_audioretrieval.stats.paired import CONFIDENCE, check_settings


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cohen's kappa with its two-sided 95 % interval, over so many pairs in so many clusters.

    Attributes:
        kappa: (observed - expected) / (1 - expected); it and its interval are None where both sides always make the
            same choice, because nothing is left to agree on beyond that.
        observed: share of pairs chosen alike.
        expected: the same, if both chose independently at their accuracies.
        ties: pairs on which at least one side ties.
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
    """Cohen's kappa of two vectors of choices: 0 no agreement beyond chance, 1 identical choices (MASB, Exp. 2).

    A tie counts as half of either choice, as it does in an accuracy: what a fair coin would give on average. So a side
    that always ties agrees with no one beyond chance, kappa 0, and neither does a side that always makes one choice.

    The interval is that of percentiles over resampled clusters; a resample without a kappa could have had any, so it
    counts as -1 for the lower end and as 1 for the upper end.

    Args:
        one, other: [P], 1 for the right option, 0 for the wrong one, 0.5 at a tie.
        cluster: [P] labels, any hashable: the recording of each pair. Clusters are resampled, never pairs.

    Raises:
        SpecError: an argument out of range. DataError: other choices, labels that do not fit, or one cluster only.
    """
    check_settings(CONFIDENCE, resamples, seed)
    left, right, clusters = choices("one", one), choices("other", other), group(cluster)
    pairs = same_length({"one": left, "other": right, "cluster": clusters.codes})
    if len(clusters.sizes) < 2:
        raise DataError("all pairs are of one cluster: expected at least 2, because clusters are what is resampled")
    columns = np.stack([left, right, left * right])
    observed, expected = _agreement(columns.mean(axis=1))
    kappa = low = high = None
    if expected < 1:
        kappa = float((observed - expected) / (1 - expected))
        sums = np.stack([clusters.sums(column) for column in columns])
        low, high = percentiles(_kappas(plain_means(sums, clusters.sizes, resamples, seed)), CONFIDENCE)
    ties = int(np.count_nonzero((left == 0.5) | (right == 0.5)))
    return Agreement(kappa, low, high, float(observed), float(expected), pairs, ties, len(clusters.sizes))


def _agreement(means: Floats) -> tuple[Floats, Floats]:
    """Observed and expected agreement from the means of both sides and of their product, [3, ...]."""
    one, other, product = means
    return 1 - one - other + 2 * product, one * other + (1 - one) * (1 - other)


def _kappas(means: Floats) -> Floats:
    """Kappa [B] of resampled ``means`` [3, B]; NaN where both sides always make the same choice."""
    observed, expected = _agreement(means)
    found = np.full(len(expected), np.nan)
    np.divide(observed - expected, 1 - expected, out=found, where=expected < 1)
    return np.asarray(np.clip(found, -1, 1))
