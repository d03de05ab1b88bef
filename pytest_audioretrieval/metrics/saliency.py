"""Shares of a query's saliency by group of tokens and by change of the target's rank: CORA, Appendix I."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.scores import Floats, Ints

#: CORA names no value. This one is far below any saliency; it only keeps a query without saliency from dividing by 0.
EPSILON = 1e-12
WORSENED, IMPROVED_OR_STABLE = "worsened", "improved/stable"


@dataclass(frozen=True)
class RankGroup:
    """Means over the pairs whose target fell, or over those whose target did not (CORA, Table 22).

    Attributes:
        pairs: number of pairs.
        mean_rd: mean rank drop.
        mean_margin: mean margin of the target under the reformulated query.
        masses: mean of each signed mass, by its name.
    """

    pairs: int
    mean_rd: float
    mean_margin: float
    masses: Mapping[str, float]


def normalised(saliency: npt.ArrayLike, epsilon: float = EPSILON) -> Floats:
    """Return the saliency [T] of one query's tokens, divided by its total absolute saliency plus ``epsilon``.

    Source: CORA, Appendix I.

    Raises:
        DataError: values that are no sequence of finite numbers.
    """
    values = np.asarray(saliency, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        found = "values that are not finite" if values.ndim == 1 else f"shape {values.shape}"
        raise DataError(
            f"saliency has {found}", expected="finite numbers, one for each token", remedy="check the gradients"
        )
    shares: Floats = values / (np.abs(values).sum() + epsilon)
    return shares


def signed_masses(
    saliency: Sequence[npt.ArrayLike], groups: Sequence[Sequence[str]], names: Sequence[str]
) -> dict[str, Floats]:
    """Return the absolute normalised saliency of each group of tokens, by its sign, for P queries.

    All masses of a query add up to 1, or to 0 where it has no saliency at all.

    Source: CORA, Appendix I.

    Args:
        saliency: for each query the saliency of its tokens, [P][T].
        groups: for each query the group of each of its tokens, [P][T].
        names: names of all groups.

    Returns:
        ``NAME+`` and ``NAME-`` of each group, float64 [P].

    Raises:
        DataError: lengths that differ, a group that is not among ``names``, or saliency that ``normalised`` refuses.
    """
    if len(saliency) != len(groups):
        raise DataError(
            f"saliency is of {len(saliency)} queries and groups of {len(groups)}",
            expected="the same number",
            remedy="align them",
        )
    found = {f"{name}{sign}": np.zeros(len(saliency)) for name in names for sign in "+-"}
    for query, (values, labels) in enumerate(zip(saliency, groups, strict=True)):
        shares = normalised(values)
        if len(shares) != len(labels):
            raise DataError(
                f"query {query} has {len(shares)} tokens and {len(labels)} groups",
                expected="one group for each token",
                remedy="align them",
            )
        for share, label in zip(shares.tolist(), labels, strict=True):
            if label not in names:
                raise DataError(
                    f"query {query} has the group {label!r}",
                    expected=f"one of {', '.join(names)}",
                    remedy="use these groups",
                )
            found[f"{label}{'+' if share > 0 else '-'}"][query] += abs(share)
    return found


def rank_groups(source_rank: npt.ArrayLike, rank: npt.ArrayLike) -> list[str]:
    """Return the rank group of each pair [P]: ``worsened`` where rank > source rank, else ``improved/stable``.

    Source: CORA, Appendix I.

    Raises:
        DataError: lengths that differ.
    """
    before, after = np.asarray(source_rank), np.asarray(rank)
    if before.shape != after.shape:
        raise DataError(
            f"source ranks have shape {before.shape} and ranks {after.shape}",
            expected="one of each for each pair",
            remedy="align them",
        )
    return [WORSENED if worse else IMPROVED_OR_STABLE for worse in (after > before).tolist()]


def by_rank_group(
    source_rank: npt.ArrayLike, rank: npt.ArrayLike, margin: npt.ArrayLike, masses: Mapping[str, Floats]
) -> dict[str, RankGroup]:
    """Return means over the pairs of each rank group that has any.

    Source: CORA, Table 22.

    Args:
        source_rank, rank: int [P], rank of the target under the source query and under the reformulated query.
        margin: [P], margin of the target under the reformulated query.
        masses: the result of ``signed_masses``, [P] each.

    Raises:
        DataError: lengths that differ.
    """
    label = np.array(rank_groups(source_rank, rank))
    drop, margins = np.asarray(rank) - np.asarray(source_rank), np.asarray(margin, dtype=np.float64)
    for name, values in {"margin": margins, **masses}.items():
        if len(values) != len(label):
            raise DataError(
                f"{name} has {len(values)} entries",
                expected=f"one for each of {len(label)} pairs",
                remedy="align it with the ranks",
            )
    found = {}
    for name in (WORSENED, IMPROVED_OR_STABLE):
        rows = label == name
        if rows.any():
            means = {mass: float(values[rows].mean()) for mass, values in masses.items()}
            found[name] = RankGroup(int(rows.sum()), float(drop[rows].mean()), float(margins[rows].mean()), means)
    return found


def sample(strata: Sequence[str], size: int, seed: int) -> Ints:
    """Draw up to ``size`` pairs of each stratum without replacement, and return their places in ascending order.

    Source: CORA, Appendix I.

    Args:
        strata: [P], label of each pair, made of dataset, form and rank group.

    Raises:
        SpecError: a size below 1.
    """
    if size < 1:
        raise SpecError(f"size is {size}", expected="at least 1 pair in each stratum", remedy="pass 10, for example")
    rng, labels = np.random.Generator(np.random.PCG64(seed)), np.array(strata, dtype=np.str_)
    drawn = [
        rng.choice(places, min(size, len(places)), replace=False)
        for places in (np.flatnonzero(labels == name) for name in sorted(set(labels.tolist())))
    ]
    return np.sort(np.concatenate(drawn)).astype(np.int64) if drawn else np.empty(0, np.int64)
