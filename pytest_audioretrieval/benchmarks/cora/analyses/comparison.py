"""Comparison of two query sets over the same items (CORA, Appendices A.5 and M)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.benchmarks.cora.analyses.associations import CORRELATIONS, Correlations
from pytest_audioretrieval.benchmarks.cora.analyses.marginals import HIT
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Floats, Pairs
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, bounded, table
from pytest_audioretrieval.stats.bootstrap import PLAIN_RESAMPLES, plain_means
from pytest_audioretrieval.stats.clusters import group


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference in MeanRD between two query sets, on the items that both have.

    Attributes:
        new, baseline: MeanRD of each.
        difference: new - baseline; below 0 the new set loses fewer ranks.
        low, high: its plain 95 % interval over clips, from the same draws for both sets.
        improved, worsened, unchanged: number of items whose MeanRD over models and forms is lower, higher, the same.
        only_new, only_baseline: number of items left out because the other set lacks them.
    """

    new: float
    baseline: float
    difference: float
    low: float
    high: float
    improved: int
    worsened: int
    unchanged: int
    only_new: int
    only_baseline: int


def compare_query_sets(
    new: Pairs, baseline: Pairs, *, resamples: int = PLAIN_RESAMPLES, seed: int = SEED
) -> Difference:
    """Compare MeanRD on shared items; the sets may have different forms (CORA, Appendices A.5 and M).

    Args:
        new, baseline: measured with the same models, from the same source captions, among the same candidates.

    Raises:
        DataError: the models differ, no item is shared, the numbers of candidates differ, or there is only one clip.
    """
    items = set(new.item.tolist()), set(baseline.item.tolist())
    ours, theirs = _on(new, items[1]), _on(baseline, items[0])
    _check(new, baseline, ours, theirs)
    drawn = [_resampled(pairs, resamples, seed) for pairs in (ours, theirs)]
    means = float(ours.rank_drop.mean()), float(theirs.rank_drop.mean())
    low, high = np.quantile(drawn[0] - drawn[1], (0.025, 0.975))
    change = np.sign(_item_means(ours) - _item_means(theirs))
    return Difference(
        new=means[0],
        baseline=means[1],
        difference=means[0] - means[1],
        low=float(low),
        high=float(high),
        improved=int((change < 0).sum()),
        worsened=int((change > 0).sum()),
        unchanged=int((change == 0).sum()),
        only_new=len(items[0] - items[1]),
        only_baseline=len(items[1] - items[0]),
    )


def query_set_table(sets: Mapping[str, Pairs]) -> Table:
    """Tabulate each query set by itself (CORA, Table 26; Tables 11 and 12 have the same columns)."""
    return table("Query preprocessing (CORA, Table 26)", _alone, sets)


def difference_table(sets: Mapping[str, Pairs]) -> Table:
    """Tabulate the difference of each query set to the first one (CORA, Appendices A.5 and M)."""
    title = "What query preprocessing changes, items counted by their MeanRD (CORA, Appendix M)"
    return table(title, _against_first, sets)


def form_table(sets: Mapping[str, Pairs]) -> Table:
    """Tabulate MeanRD and R@5 of each query set by form (CORA, Appendix M)."""
    return table("Query preprocessing by form (CORA, Appendix M)", _by_form, sets)


def _alone(sets: Mapping[str, Pairs]) -> Body:
    found = Correlations()
    rows = [
        (name, len(pairs.levels("form")), *_means(pairs), *found.signals(pairs, name)) for name, pairs in sets.items()
    ]
    columns = (Column("queries"), Column("forms", "d"), *_MEANS, *CORRELATIONS)
    return Body(columns, rows, found.note)


def _against_first(sets: Mapping[str, Pairs]) -> Body:
    (first, baseline), *others = sets.items()
    rows = []
    for name, pairs in others:
        found = compare_query_sets(pairs, baseline)
        counts = (found.improved, found.worsened, found.unchanged, found.only_new, found.only_baseline)
        rows.append((name, found.difference, found.low, found.high, *counts))
    headings = ("improved", "worsened", "unchanged", "only here", f"only {first}")
    counted = [Column(heading, "d") for heading in headings]
    return Body((Column("queries"), *bounded("MeanRD difference", "+.3f"), *counted), rows, f"against {first}")


def _by_form(sets: Mapping[str, Pairs]) -> Body:
    parts = [(form, name, part) for name, pairs in sets.items() for (form,), part in pairs.groups("form")]
    # A stable sort: within a form the sets keep their order.
    rows = [(form, name, *_means(part)) for form, name, part in sorted(parts, key=lambda found: found[0])]
    return Body((Column("form"), Column("queries"), *_MEANS), rows)


_MEANS = (Column("N", "d"), Column("R@5", ".4f"), Column("MeanRD", "+.3f"))


def _means(pairs: Pairs) -> tuple[Cell, Cell, Cell]:
    return len(pairs), float((pairs.rank <= HIT).mean()), float(pairs.rank_drop.mean())


def _on(pairs: Pairs, items: set[str]) -> Pairs:
    return pairs.where(np.array([item in items for item in pairs.item.tolist()], dtype=bool))


def _check(new: Pairs, baseline: Pairs, ours: Pairs, theirs: Pairs) -> None:
    models = new.levels("model"), baseline.levels("model")
    if models[0] != models[1]:
        raise DataError(
            f"models are {', '.join(models[0])} and {', '.join(models[1])}",
            expected="the same for both sets",
            remedy="measure both with the same",
        )
    if not len(ours):
        raise DataError(
            f"the query sets share no item: one has {new.levels('item')[0]!r}, "
            f"the other {baseline.levels('item')[0]!r}",
            expected="the ids of the same source captions",
            remedy="spell the ids alike",
        )
    sizes = [dict(zip(pairs.item.tolist(), pairs.pool.tolist(), strict=True)) for pairs in (ours, theirs)]
    other = next((item for item, size in sizes[0].items() if sizes[1][item] != size), None)
    if other is not None:
        raise DataError(
            f"{other!r} is one of {sizes[0][other]} candidates and of {sizes[1][other]}",
            expected="the same candidates",
            remedy="rank the same clips",
        )
    if len(ours.levels("clip")) < 2:
        raise DataError(
            "all pairs are of one clip", expected="at least 2, because clips are resampled", remedy="add clips"
        )


def _resampled(pairs: Pairs, resamples: int, seed: int) -> Floats:
    """Return MeanRD [B] of resampled clips; sets that ask for the same clips share the draws."""
    clusters = group(pairs.clip)
    sums = clusters.sums(pairs.rank_drop.astype(np.float64))
    return np.asarray(plain_means(sums[None], clusters.sizes, resamples, seed)[0])


def _item_means(pairs: Pairs) -> Floats:
    """Return MeanRD of each item, items sorted."""
    _, item = np.unique(pairs.item, return_inverse=True)
    return np.asarray(np.bincount(item, pairs.rank_drop) / np.bincount(item))
