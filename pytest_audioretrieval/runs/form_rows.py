"""Costs of each reformulation, summed up for reading: one row a form of a run (CORA, Tables 2, 13 and 24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.robustness import ALL

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.runs.columns import Columns


class FormRow(msgspec.Struct, frozen=True):
    """Means over the queries of one form, or of all.

    Attributes:
        source_hit_rate, hit_rate: R@5 of the source queries and in this form.
        mean_rank_drop: MeanRD (eq. 2), with the plain clustered 95 % percentile interval ``low`` to ``high``.
        heavy_tailed: the rank drops' tail index is under 2, so that no interval of their mean is to be trusted.
        worsened: share of pairs whose rank rose.
        rank_loss: mean of log2(rank / source rank).
        tal, hnp, tbmd: means (eq. 6, 7).
        r_move, r_tal, r_tbmd: Pearson correlation with the rank drop; None where one of the two is constant.
    """

    form: str
    source_hit_rate: float
    hit_rate: float
    mean_rank_drop: float
    low: float
    high: float
    heavy_tailed: bool
    worsened: float
    rank_loss: float
    tal: float
    hnp: float
    tbmd: float
    r_move: float | None
    r_tal: float | None
    r_tbmd: float | None


def form_rows(columns: Columns, cluster: Sequence[str]) -> list[FormRow]:
    """Return a row a form, then one over all pairs; none for a run without forms.

    Args:
        columns: of a run of Q queries.
        cluster: label of the resampling unit of each query, [Q].
    """
    import numpy as np

    if not columns.forms:
        return []
    names, forms = list(columns.forms), list(columns.forms.values())
    everything = {
        field: np.concatenate([getattr(form, field) for form in forms]) for field in ("rank", "move", "tal", "hnp")
    }
    rows = [_row(columns, cluster, name, 1, **form._asdict()) for name, form in zip(names, forms, strict=True)]
    over_all = _row(columns, cluster, ALL, len(forms), **everything)
    # One form's tail is that of the mixture, where light forms may hide it.
    heavy = over_all.heavy_tailed or any(row.heavy_tailed for row in rows)
    return [*rows, msgspec.structs.replace(over_all, heavy_tailed=heavy)]


def _row(
    columns: Columns,
    cluster: Sequence[str],
    form: str,
    forms: int,
    rank: npt.NDArray[np.int64],
    move: npt.NDArray[np.float64],
    tal: npt.NDArray[np.float64],
    hnp: npt.NDArray[np.float64],
) -> FormRow:
    import numpy as np

    from pytest_audioretrieval.stats.bootstrap import plain_interval
    from pytest_audioretrieval.stats.clusters import group
    from pytest_audioretrieval.stats.tails import heavy_tailed

    source = np.tile(columns.source_rank, forms)
    drop = (rank - source).astype(np.float64)
    clusters = group([*cluster] * forms)
    low, high = plain_interval(clusters.sums(drop)[None], clusters.sizes, SEED)
    return FormRow(
        form=form,
        source_hit_rate=float((source <= 5).mean()),
        hit_rate=float((rank <= 5).mean()),
        mean_rank_drop=float(drop.mean()),
        low=float(low[0]),
        high=float(high[0]),
        heavy_tailed=heavy_tailed(drop),
        worsened=float((drop > 0).mean()),
        rank_loss=float(np.log2(rank / source).mean()),
        tal=float(tal.mean()),
        hnp=float(hnp.mean()),
        tbmd=float((tal + hnp).mean()),
        r_move=_correlation(move, drop),
        r_tal=_correlation(tal, drop),
        r_tbmd=_correlation(tal + hnp, drop),
    )


def _correlation(signal: npt.NDArray[np.float64], drop: npt.NDArray[np.float64]) -> float | None:
    from pytest_audioretrieval.stats.association import pearson

    try:
        return float(pearson(signal, drop))
    except DataError:  # a constant
        return None
