from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.model_selection import GroupKFold

from pytest_audioretrieval.benchmarks.cora.analyses.prediction import prediction_tables
from tests.benchmarks.cora.analyses.planted import cells, random_pairs

PAIRS = random_pairs(400)
PROJECTIONS, INTERACTIONS, INCREMENT = prediction_tables(PAIRS)


def one_hot(*labels: np.ndarray) -> np.ndarray:
    names = np.array(["|".join(row) for row in zip(*labels, strict=True)])
    return (names[:, None] == np.unique(names)).astype(float)


def out_of_fold(*columns: np.ndarray) -> np.ndarray:
    """Predict by ridge in closed form: columns divided by their deviation, penalty 1, a free intercept."""
    features = np.column_stack(columns)
    y, predicted = PAIRS.rank_drop.astype(float), np.empty(len(PAIRS))
    for train, test in GroupKFold(5).split(features, y, PAIRS.clip):
        scale = features[train].std(axis=0)
        x = features / np.where(scale > 0, scale, 1)
        middle, centre = x[train].mean(axis=0), y[train].mean()
        z = x[train] - middle
        weights = np.linalg.solve(z.T @ z + np.eye(z.shape[1]), z.T @ (y[train] - centre))
        predicted[test] = (x[test] - middle) @ weights + centre
    return predicted


EFFECTS = [one_hot(PAIRS.dataset), one_hot(PAIRS.model), one_hot(PAIRS.form)]


def test_projections() -> None:
    rows = cells(PROJECTIONS)
    for name, extra in {
        "fixed effects only": [],
        "+ shift_norm": [PAIRS.shift_norm],
        "+ p_audio": [PAIRS.p_audio],
        "+ p_boundary": [PAIRS.p_boundary],
    }.items():
        predicted = out_of_fold(*EFFECTS, *extra)
        assert rows[name]["Pearson r"] == pytest.approx(np.corrcoef(predicted, PAIRS.rank_drop)[0, 1], abs=0.01)
        assert rows[name]["Spearman rho"] == pytest.approx(spearmanr(predicted, PAIRS.rank_drop).statistic, abs=0.01)
    assert rows["+ p_audio"]["Pearson r"] > 0.9 > rows["+ p_boundary"]["Pearson r"] > 0.5
    assert rows["+ shift_norm"]["Pearson r"] < 0.2
    assert PROJECTIONS.note == ""


def test_interactions_find_what_only_a_cell_knows() -> None:
    d, m, f = (getattr(PAIRS, label) for label in ("dataset", "model", "form"))
    sets = {
        "additive model/dataset/query": EFFECTS,
        "model-dataset + query": [one_hot(m, d), one_hot(f)],
        "pairwise query interactions": [one_hot(m, d), one_hot(m, f), one_hot(d, f)],
        "full model-dataset-query cell": [one_hot(m, d, f)],
    }
    rows = cells(INTERACTIONS)
    assert list(rows) == list(sets)
    for name, columns in sets.items():
        expected = np.corrcoef(out_of_fold(*columns), PAIRS.rank_drop)[0, 1]
        assert rows[name]["Pearson r"] == pytest.approx(expected, abs=0.01)
    odd = ((d == "x") ^ (m == "A") ^ (f == "command")) * 40
    planted = cells(prediction_tables(replace(PAIRS, rank_drop=PAIRS.rank_drop + odd))[1])
    assert planted["full model-dataset-query cell"]["Pearson r"] > 0.85
    assert abs(planted["additive model/dataset/query"]["Pearson r"]) < 0.5


def test_increment_over_tal() -> None:
    rows = cells(INCREMENT)
    assert INCREMENT.note == ""
    alone = np.corrcoef(out_of_fold(*EFFECTS, PAIRS.tal), PAIRS.rank_drop)[0, 1]
    both = np.corrcoef(out_of_fold(*EFFECTS, PAIRS.tal, PAIRS.tbmd), PAIRS.rank_drop)[0, 1]
    assert rows["TAL alone"]["Pearson r"] == pytest.approx(alone, abs=0.01)
    assert rows["TAL and TBMD"]["Pearson r"] == pytest.approx(both, abs=0.01)
    assert rows["increment"]["Pearson r"] == pytest.approx(both - alone, abs=0.01)


def test_the_partial_correlation_holds_every_control_fixed() -> None:
    pool = np.random.default_rng(8).integers(100, 400, len(PAIRS))
    rows = cells(prediction_tables(replace(PAIRS, pool=pool))[2])
    numbers = [PAIRS.tal, PAIRS.move, PAIRS.source_rank, pool]
    design = np.column_stack([np.ones(len(PAIRS)), *EFFECTS, *numbers])
    hat = design @ np.linalg.pinv(design)
    left = [column - hat @ column for column in (PAIRS.tbmd, PAIRS.rank_drop)]
    assert rows["partial r of TBMD beyond TAL"]["Pearson r"] == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-6)


def test_effects_that_cannot_be_are_told() -> None:
    tables = prediction_tables(PAIRS.where((PAIRS.dataset == "x") & (PAIRS.model == "A")))
    assert [table.note for table in tables] == ["no effect of: one dataset, x; one model, A"] * 3
    assert all(table.rows for table in tables)


def test_a_constant_is_told_in_each_table() -> None:
    calm = replace(PAIRS, rank_drop=np.zeros(len(PAIRS), dtype=np.int64))
    projections, interactions, increment = prediction_tables(calm)
    assert {row[1] for table in (projections, interactions) for row in table.rows} == {None}
    assert "a constant has no correlation" in projections.note
    assert increment.note.startswith("does not apply: ")


def test_too_few_clips_do_not_apply() -> None:
    for table in prediction_tables(PAIRS.where(np.isin(PAIRS.clip, ["x::0", "x::1"]))):
        assert table.note.startswith("does not apply: 2 groups for 5 folds")


def test_without_scikit_learn_the_tables_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.pipeline", None)
    for table in prediction_tables(PAIRS):
        assert table.note.startswith("does not apply: scikit-learn is not installed")
        assert "\n" not in table.note
