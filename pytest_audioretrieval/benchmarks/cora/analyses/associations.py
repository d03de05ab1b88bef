"""Correlations of the diagnostic signals with RankDrop (CORA, Section 4.3.1, Appendices A.3.2, F and J)."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Pairs, check_varies
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, bounded, table
from pytest_audioretrieval.stats.association import Method, associate

#: The paper's signals: heading -> column of ``Pairs``; tables by label and set show three of them.
ALL_SIGNALS = {"move": "move", "TAL": "tal", "HNP": "hnp", "TBMD": "tbmd"}
SIGNALS = {name: column for name, column in ALL_SIGNALS.items() if name != "HNP"}
CORRELATIONS = tuple(column for name in SIGNALS for column in bounded(f"r({name},RD)", "+.3f"))

_DEFINITIONS = {
    "reformulated query's, fixed (eq. 9)": "tbmd_reformulated_hn",
    "source query's, fixed (eq. 10)": "tbmd_source_hn",
    "each query's own (eq. 6)": "tbmd",
}


class Correlations:
    """Correlations with RankDrop as table cells, and the reasons why some of them are empty."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def cells(self, pairs: Pairs, what: str, signal: str, method: Method = "pearson") -> tuple[Cell, Cell, Cell]:
        """Return the coefficient and its clustered 95 % interval; ``what`` names it where there is none."""
        try:
            found = associate(getattr(pairs, signal), pairs.rank_drop, pairs.clip, method=method)
        except DataError as error:
            self.reasons.append(f"{what}: {error}")
            return None, None, None
        return found.r, found.low, found.high

    def signals(self, pairs: Pairs, label: str) -> list[Cell]:
        """Return Pearson's r of each of ``SIGNALS``: the cells of ``CORRELATIONS``."""
        named = {f"{name} (x) with RankDrop (y) of {label}": signal for name, signal in SIGNALS.items()}
        return [cell for what, signal in named.items() for cell in self.cells(pairs, what, signal)]

    @property
    def note(self) -> str:
        if not self.reasons:
            return ""
        return f"no correlation in {len(self.reasons)} places, the first is {self.reasons[0]}"


def association_tables(pairs: Pairs) -> list[Table]:
    """Tabulate all signals over all pairs, and three by dataset, model and form and without each form."""
    return [
        table("Correlation with RankDrop (CORA, Section 4.3.1 and Figure 2)", _overall, pairs),
        table("Correlation with RankDrop by dataset (CORA, Table 24)", _by, pairs, "dataset"),
        table("Correlation with RankDrop by model (CORA, Table 6)", _by, pairs, "model"),
        table("Correlation with RankDrop by form", _by, pairs, "form"),
        table("Correlation with RankDrop without one form (CORA, Appendix A.3.2)", _without, pairs),
    ]


def hard_negative_table(pairs: Pairs) -> Table:
    """Tabulate the three definitions of TBMD (CORA, Table 19)."""
    return table("Which query's hard negative TBMD takes (CORA, Table 19)", _hard_negatives, pairs)


def _overall(pairs: Pairs) -> Body:
    found = Correlations()
    rows = [
        (
            name,
            len(pairs),
            *found.cells(pairs, f"Pearson's r of {name} (x) with RankDrop (y)", signal),
            *found.cells(pairs, f"Spearman's rho of {name} (x) with RankDrop (y)", signal, "spearman"),
        )
        for name, signal in ALL_SIGNALS.items()
    ]
    columns = (Column("signal"), Column("N", "d"), *bounded("Pearson r", "+.3f"), *bounded("Spearman rho", "+.3f"))
    return Body(columns, rows, found.note)


def _by(pairs: Pairs, label: str) -> Body:
    check_varies(pairs, label)
    return _labelled(label, ((name, part) for (name,), part in pairs.groups(label)))


def _without(pairs: Pairs) -> Body:
    check_varies(pairs, "form")
    return _labelled("without", ((form, pairs.where(pairs.form != form)) for form in pairs.levels("form")))


def _labelled(heading: str, parts: Iterable[tuple[str, Pairs]]) -> Body:
    found = Correlations()
    rows = [(name, len(part), *found.signals(part, name)) for name, part in parts]
    return Body((Column(heading), Column("N", "d"), *CORRELATIONS), rows, found.note)


def _hard_negatives(pairs: Pairs) -> Body:
    found = Correlations()
    rows = [
        (name, len(pairs), *found.cells(pairs, f"TBMD (x) with RankDrop (y), {name}", signal))
        for name, signal in _DEFINITIONS.items()
    ]
    return Body((Column("hard negative"), Column("N", "d"), *bounded("r(TBMD,RD)", "+.3f")), rows, found.note)
