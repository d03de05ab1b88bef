"""Controls for the anchor and for content changes in the association of TAL with RankDrop (CORA, Appendix G)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pytest_audioretrieval.benchmarks.cora.analyses.associations import CORRELATIONS, Correlations
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Pairs
from pytest_audioretrieval.benchmarks.cora.analyses.pools import Pool
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.reformulate.wrapper import wrapped
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.table import Body, Column, Table, joined, table

SOURCE = "source query to its forms"
_ANCHOR = "statement"


def statement_anchor(pool: Pool) -> Pool:
    """Return the pool with the statement as source query and the other forms as its reformulations.

    Items without a statement and another form are left out.

    Raises:
        DataError: no item has a statement and another form.
    """
    queries = pool.queries
    items = [
        replace(item, source=item.forms[_ANCHOR], forms={f: text for f, text in item.forms.items() if f != _ANCHOR})
        for item in queries.items
        if _ANCHOR in item.forms and len(item.forms) > 1
    ]
    if not items:
        raise DataError(
            f"{queries.name}: no item has a statement and another form",
            remedy="add them to use the statement as anchor",
        )
    forms = tuple(form for form in queries.forms if form != _ANCHOR)
    return replace(pool, queries=replace(queries, items=tuple(items), forms=forms))


def content_fixed(pool: Pool) -> Pool:
    """Return the pool with the unchanged source caption in the frame of each form (``data.reformulate.wrapper``).

    Raises:
        DataError: a caption has no letter or digit.
    """
    items = tuple(
        replace(item, forms={str(form): text for form, text in wrapped(item.source).items()})
        for item in pool.queries.items
    )
    return replace(pool, queries=replace(pool.queries, items=items, forms=FORMS))


CONTROLS: dict[str, Callable[[Pool], Pool]] = {
    "statement to the other forms": statement_anchor,
    "source query to its content-fixed wrappers": content_fixed,
}


def controls(pools: Sequence[Pool]) -> tuple[dict[str, list[Pool]], list[str]]:
    """Return the pools of each control, by its name, and the reasons why missing ones cannot be asked."""
    found, reasons = {}, []
    for name, change in CONTROLS.items():
        try:
            found[name] = [change(pool) for pool in pools]
        except DataError as error:
            reasons.append(f"no {name}: {error}")
    return found, reasons


def anchor_table(sets: Mapping[str, Pairs], reasons: Sequence[str] = ()) -> Table:
    """Tabulate Table 20 over the pairs of each anchor or control."""
    return table("Anchor and content controls (CORA, Table 20)", _anchors, sets, reasons)


def _anchors(sets: Mapping[str, Pairs], reasons: Sequence[str]) -> Body:
    found = Correlations()
    rows = [(name, len(pairs), *found.signals(pairs, name)) for name, pairs in sets.items()]
    return Body((Column("control"), Column("N", "d"), *CORRELATIONS), rows, joined(*reasons, found.note))
