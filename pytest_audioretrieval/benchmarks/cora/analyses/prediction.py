"""Prediction of RankDrop on unseen clips from features (CORA, Tables 5, 18 and 21); needs scikit-learn."""

from __future__ import annotations

from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Pairs, effects_note
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, joined, table
from pytest_audioretrieval.stats.features import Features, interaction_sets, projection_sets
from pytest_audioretrieval.stats.regression import increment_over_tal, predict_out_of_fold, score

_EFFECTS = ("dataset", "model", "form")


def prediction_tables(pairs: Pairs) -> list[Table]:
    """Tabulate cross-validated ridge regressions of RD, grouped by clip (CORA, Appendix K.3)."""
    return [
        table("Predicting RankDrop from projections (CORA, Table 5)", _projections, pairs),
        table("Predicting RankDrop from interactions (CORA, Table 18)", _interactions, pairs),
        table("What TBMD adds to TAL (CORA, Table 21)", _increment, pairs),
    ]


def _projections(pairs: Pairs) -> Body:
    signals = {name: getattr(pairs, name) for name in ("shift_norm", "p_audio", "p_boundary")}
    return _scores(pairs, projection_sets(_effects(pairs), signals))


def _interactions(pairs: Pairs) -> Body:
    return _scores(pairs, interaction_sets(pairs.dataset, pairs.model, pairs.form))


def _increment(pairs: Pairs) -> Body:
    controls = {"move": pairs.move, "source_rank": pairs.source_rank, "pool": pairs.pool}
    found = increment_over_tal(pairs.rank_drop, pairs.tal, pairs.tbmd, _effects(pairs), controls, pairs.clip)
    rows = [
        ("TAL alone", found.tal_only),
        ("TAL and TBMD", found.tal_and_tbmd),
        ("increment", found.increment),
        ("partial r of TBMD beyond TAL", found.partial),
    ]
    return Body((Column("analysis"), Column("Pearson r", "+.3f")), rows, effects_note(pairs, *_EFFECTS))


def _scores(pairs: Pairs, sets: dict[str, Features]) -> Body:
    rows: list[tuple[Cell, ...]] = []
    empty: list[str] = []
    for name, features in sets.items():
        predicted = predict_out_of_fold(features, pairs.rank_drop, pairs.clip)
        try:
            found = score(predicted, pairs.rank_drop)
            rows.append((name, found.pearson, found.spearman))
        except DataError as error:
            empty.append(f"{name}: {error}")
            rows.append((name, None, None))
    columns = (Column("features"), Column("Pearson r", "+.3f"), Column("Spearman rho", "+.3f"))
    return Body(columns, rows, joined(effects_note(pairs, *_EFFECTS), *empty[:1]))


def _effects(pairs: Pairs) -> dict[str, list[str]]:
    return {label: getattr(pairs, label).tolist() for label in _EFFECTS}
