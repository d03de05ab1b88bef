"""MeanRD of policies that choose one form of each item (CORA, Section 4.3.2, Table 4)."""

from __future__ import annotations

import numpy as np

from pytest_audioretrieval.benchmarks.cora.analyses.marginals import mean_interval
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Ints, Pairs
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.table import Body, Column, Table, bounded, table
from pytest_audioretrieval.stats.features import interaction
from pytest_audioretrieval.stats.policies import selection_policies

_NAMES = {
    "average": "average over forms",
    "min_move": "smallest move",
    "min_tal": "smallest TAL (oracle)",
    "min_tbmd": "smallest TBMD (oracle)",
    "best_rank": "best rank (oracle)",
}


def policy_table(pairs: Pairs) -> Table:
    """Tabulate the policies of Table 4 over all items under all models; of equal forms the first counts."""
    return table("Choosing one form of each item (CORA, Table 4)", _policies, pairs)


def _policies(pairs: Pairs) -> Body:
    at = _by_item(pairs)
    policies = selection_policies(pairs.rank_drop[at], pairs.move[at], pairs.tal[at], pairs.tbmd[at])
    clip = pairs.clip[at[:, 0]]
    rows = [
        (_NAMES[name], len(at), policy.mean_rank_drop, *mean_interval(policy.rank_drop, clip))
        for name, policy in policies.items()
    ]
    return Body((Column("policy"), Column("N", "d"), *bounded("MeanRD", "+.3f")), rows)


def _by_item(pairs: Pairs) -> Ints:
    """Return the positions among ``pairs`` of the forms of each item under each model, [I, F].

    Raises:
        DataError: an item does not have each form once.
    """
    order = {form: code for code, form in enumerate(dict.fromkeys(pairs.form.tolist()))}
    form = np.array([order[name] for name in pairs.form.tolist()])
    item = np.unique(interaction(pairs.model, pairs.item), return_inverse=True)[1]
    counts = np.zeros((item.max() + 1, len(order)), dtype=np.int64)
    np.add.at(counts, (item, form), 1)
    wrong = np.count_nonzero((counts != 1).any(axis=1))
    if wrong:
        raise DataError(
            f"{wrong} of {len(counts)} items lack one of {', '.join(order)} or have it twice",
            expected="complete items",
            remedy="leave the others out",
        )
    return np.lexsort((form, item)).reshape(counts.shape)
