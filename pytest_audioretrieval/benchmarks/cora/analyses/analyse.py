"""All of CORA's analyses of several models on several datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_audioretrieval.benchmarks.cora.analyses.anchors import SOURCE, anchor_table, controls
from pytest_audioretrieval.benchmarks.cora.analyses.associations import association_tables, hard_negative_table
from pytest_audioretrieval.benchmarks.cora.analyses.marginals import marginal_tables
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import measure
from pytest_audioretrieval.benchmarks.cora.analyses.policies import policy_table
from pytest_audioretrieval.benchmarks.cora.analyses.pools import QueriedDataset, pools
from pytest_audioretrieval.benchmarks.cora.analyses.prediction import prediction_tables
from pytest_audioretrieval.benchmarks.cora.analyses.preprocessing import (
    NONE,
    Rewrite,
    canonicalized,
    preprocessing_tables,
)
from pytest_audioretrieval.report.tables.table import Table

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.answerer import Answerer


def analyse(
    answerers: Sequence[Answerer],
    given: Sequence[QueriedDataset],
    *,
    pooled: bool = False,
    canonicalizers: Mapping[str, Rewrite] | None = None,
) -> list[Table]:
    """Measure all models and tabulate, one table an analysis; a table that does not apply says why.

    Args:
        answerers: one a model (``embedding.assembly.Answerers``).
        given: one a dataset (``pools.with_queries``).
        pooled: rank the clips of all datasets together (CORA, Section 4.1).
        canonicalizers: by name; without any, the tables of Appendix M are left out.

    Raises:
        RetrievalError: a model cannot be measured.
    """
    asked = pools(given, pooled=pooled)
    pairs = measure(answerers, asked)
    controlled, reasons = controls(asked)
    anchored = {SOURCE: pairs, **{name: measure(answerers, changed) for name, changed in controlled.items()}}
    rewritten = {
        name: measure(answerers, [canonicalized(pool, rewrite) for pool in asked])
        for name, rewrite in (canonicalizers or {}).items()
    }
    return [
        *marginal_tables(pairs),
        *association_tables(pairs),
        policy_table(pairs),
        *prediction_tables(pairs),
        hard_negative_table(pairs),
        anchor_table(anchored, reasons),
        *(preprocessing_tables({NONE: pairs, **rewritten}) if rewritten else ()),
    ]
