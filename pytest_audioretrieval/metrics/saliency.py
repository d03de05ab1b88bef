"""What share of a query's saliency each group of its tokens has, by what became of the rank: CORA, Appendix I."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.scores import Floats, Ints

#: CORA names no value. Far below any saliency, so that it only keeps a query without any from dividing by 0.
EPSILON = 1e-12
WORSENED, IMPROVED_OR_STABLE = "worsened", "improved/stable"


@dataclass(frozen=True)
class RankGroup:
    """The pairs whose target fell, or those whose target did not (CORA, Table 22).

    Attributes:
        pairs: N.
        mean_rd, mean_margin: means of RankDrop, and of the target's margin under the reformulated query.
        masses: mean of each signed mass.
    """

    pairs: int
    mean_rd: float
    mean_margin: float
    masses: Mapping[str, float]


def normalised(saliency: npt.ArrayLike, epsilon: float = EPSILON) -> Floats:
    """Saliency [T] of one query's tokens over its total absolute saliency, plus ``epsilon``.

    Raises:
        DataError: not a sequence of finite numbers.
    """
    values = np.asarray(saliency, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        found = "values that are not finite" if values.ndim == 1 else f"shape {values.shape}"
        raise DataError(f"saliency has {found}; expected finite numbers, one a token; check the gradients")
    shares: Floats = values / (np.abs(values).sum() + epsilon)
    return shares


def signed_masses(
    saliency: Sequence[npt.ArrayLike], groups: Sequence[Sequence[str]], names: Sequence[str]
) -> dict[str, Floats]:
    """``NAME+`` and ``NAME-`` of P queries, [P] each: absolute normalised saliency of a group's tokens, by its sign.

    All masses of a query add up to 1, or to 0 where it has no saliency at all.

    Args:
        saliency: per query, [T] of its tokens.
        groups: per query, the group of each token, [T].
        names: all groups.

    Raises:
        DataError: lengths that differ, a group that is not among ``names``, or as ``normalised``.
    """
    if len(saliency) != len(groups):
        raise DataError(f"found saliency of {len(saliency)} queries and groups of {len(groups)}; expected as many")
    found = {f"{name}{sign}": np.zeros(len(saliency)) for name in names for sign in "+-"}
    for query, (values, labels) in enumerate(zip(saliency, groups, strict=True)):
        shares = normalised(values)
        if len(shares) != len(labels):
            raise DataError(f"query {query} has {len(shares)} tokens and {len(labels)} groups; expected as many")
        for share, label in zip(shares.tolist(), labels, strict=True):
            if label not in names:
                raise DataError(f"query {query} has the group {label!r}; expected one of {', '.join(names)}")
            found[f"{label}{'+' if share > 0 else '-'}"][query] += abs(share)
    return found


def rank_groups(source_rank: npt.ArrayLike, rank: npt.ArrayLike) -> list[str]:
    """Of each pair [P]: ``worsened`` where rank > source rank, else ``improved/stable``.

    Raises:
        DataError: lengths that differ.
    """
    before, after = np.asarray(source_rank), np.asarray(rank)
    if before.shape != after.shape:
        raise DataError(f"found source ranks {before.shape} and ranks {after.shape}; expected one of each a pair")
    return [WORSENED if worse else IMPROVED_OR_STABLE for worse in (after > before).tolist()]


def by_rank_group(
    source_rank: npt.ArrayLike, rank: npt.ArrayLike, margin: npt.ArrayLike, masses: Mapping[str, Floats]
) -> dict[str, RankGroup]:
    """Means over the pairs of each rank group that has any (CORA, Table 22).

    Args:
        source_rank, rank: of the target, int [P].
        margin: of the target under the reformulated query, [P].
        masses: as ``signed_masses``, [P] each.

    Raises:
        DataError: lengths that differ.
    """
    label = np.array(rank_groups(source_rank, rank))
    drop, margins = np.asarray(rank) - np.asarray(source_rank), np.asarray(margin, dtype=np.float64)
    for name, values in {"margin": margins, **masses}.items():
        if len(values) != len(label):
            raise DataError(f"{name} has {len(values)} entries; expected one for each of {len(label)} pairs")
    found = {}
    for name in (WORSENED, IMPROVED_OR_STABLE):
        rows = label == name
        if rows.any():
            means = {mass: float(values[rows].mean()) for mass, values in masses.items()}
            found[name] = RankGroup(int(rows.sum()), float(drop[rows].mean()), float(margins[rows].mean()), means)
    return found


def sample(strata: Sequence[str], size: int, seed: int) -> Ints:
    """Places, ascending, of up to ``size`` pairs of each stratum, drawn without replacement (CORA, Appendix I).

    Args:
        strata: label of each pair, [P]: dataset, form and rank group.

    Raises:
        SpecError: a size below 1.
    """
    if size < 1:
        raise SpecError(f"size is {size}; expected at least 1 pair a stratum, such as 10")
    rng, labels = np.random.Generator(np.random.PCG64(seed)), np.array(strata, dtype=np.str_)
    drawn = [
        rng.choice(places, min(size, len(places)), replace=False)
        for places in (np.flatnonzero(labels == name) for name in sorted(set(labels.tolist())))
    ]
    return np.sort(np.concatenate(drawn)).astype(np.int64) if drawn else np.empty(0, np.int64)
