"""Cost of reformulation by form, dataset and model, and by their combinations (CORA, Sections 4.2 and 4.3.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Labels, Pairs, check_varies
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, bounded, table
from pytest_audioretrieval.stats.bootstrap import plain_interval
from pytest_audioretrieval.stats.clusters import group
from pytest_audioretrieval.stats.marginals import marginal, worsened_share
from pytest_audioretrieval.stats.tails import heavy_tailed

_HEAVY = "heavy tail: no interval of that MeanRD can be trusted; judge by rank loss, log2(rank / source rank)"
#: Largest rank that counts as a hit (R@5).
HIT = 5

TITLES: dict[tuple[str, ...], str] = {
    (): "All pairs (CORA, Section 4.3.1)",
    ("form",): "By form (CORA, Figure 1)",
    ("dataset", "form"): "By dataset and form (CORA, Table 2)",
    ("dataset", "model"): "By dataset and model (CORA, Table 3)",
    ("model",): "By model (CORA, Tables 6, 13 and 25)",
    ("dataset",): "By dataset (CORA, Table 24)",
    ("dataset", "model", "form"): "By dataset, model and form (CORA, Tables 14 to 17)",
}
MEASURES = (
    Column("N", "d"),
    Column("source R@5", ".4f"),
    Column("R@5", ".4f"),
    Column("delta R@5", "+.4f"),
    *bounded("MeanRD", "+.3f"),
    Column("worsened", ".4f"),
    Column("rank loss", "+.4f"),
    Column("tail"),
)


def marginal_tables(pairs: Pairs) -> list[Table]:
    """Tabulate Tables 2, 3, 13 to 17 and the means of 24, and Figure 1, on these pairs.

    R@5 and worsened (RD > 0) are shares; rank loss is the mean of log2(rank / source rank); a tail
    is ``heavy`` where no interval of MeanRD can be trusted (``stats.tails``).
    """
    return [marginal_table(pairs, *by) for by in TITLES]


def marginal_table(pairs: Pairs, *by: str) -> Table:
    """Tabulate means for each combination of the labels ``by``, one of the keys of ``TITLES``."""
    return table(TITLES[by], _marginals, pairs, by)


def _marginals(pairs: Pairs, by: tuple[str, ...]) -> Body:
    # Of three labels two may still differ; this table shows the paper's own cells.
    if len(by) < 3:
        check_varies(pairs, *by)
    rows = list(_rows(pairs, by))
    return Body((*map(Column, by), *MEASURES), rows, _HEAVY if any(row[-1] for row in rows) else "")


def _rows(pairs: Pairs, by: tuple[str, ...]) -> Iterator[list[Cell]]:
    labels = [getattr(pairs, label) for label in by]
    before = marginal(pairs.source_rank <= HIT, *labels)
    after = marginal(pairs.rank <= HIT, *labels)
    drop = marginal(pairs.rank_drop, *labels)
    worsened = worsened_share(pairs.rank_drop, *labels)
    loss = marginal(np.log2(pairs.rank / pairs.source_rank), *labels)
    for key, part in pairs.groups(*by):
        rates = before[key].mean, after[key].mean, after[key].mean - before[key].mean
        mean = drop[key].mean, *mean_interval(part.rank_drop, part.clip)
        tail = "heavy" if heavy_tailed(part.rank_drop) else ""
        yield [*key, drop[key].n, *rates, *mean, worsened[key].mean, loss[key].mean, tail]


def mean_interval(values: npt.ArrayLike, clip: Labels) -> tuple[Cell, Cell]:
    """Return the plain 95 % interval of the mean of ``values`` [P] over clips [P]; none for a single clip."""
    clusters = group(clip)
    if len(clusters.sizes) < 2:
        return None, None
    low, high = plain_interval(clusters.sums(np.asarray(values, dtype=np.float64))[None], clusters.sizes, SEED)
    return float(low[0]), float(high[0])
