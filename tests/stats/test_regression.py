"""Tests of the grouped ridge against its normal equations, and of planted effects."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pytest_audioretrieval.errors import DataError, RetrievalError, SpecError
from pytest_audioretrieval.stats import (
    increment_over_tal,
    interaction_sets,
    partial_correlation,
    pearson,
    predict_out_of_fold,
    projection_sets,
    score,
    score_sets,
)
from pytest_audioretrieval.stats.features import rows


@pytest.fixture(scope="module")
def cora():
    """Values of 80 clips of two datasets under two models in five forms; RD follows direction and boundary only."""
    rng = np.random.default_rng(1)
    clip = np.repeat(np.arange(80), 10)
    fixed = {
        "dataset": np.where(clip % 2, "AudioCaps", "MACS").tolist(),
        "model": np.tile(np.repeat(["LAION", "M2D"], 5), 80).tolist(),
        "form": np.tile(["Statement", "Question", "Key phrase", "Command", "Indirect"], 160).tolist(),
    }
    shift_norm, p_audio, tal, pull = rng.normal(size=(4, 800))
    tal -= p_audio
    drop = 10 * (tal + pull) + 8 * (np.array(fixed["form"]) == "Indirect") + rng.normal(0, 5, 800)
    groups = [f"{dataset}::{name}" for dataset, name in zip(fixed["dataset"], clip, strict=True)]
    signals = {"shift_norm": shift_norm, "p_audio": p_audio}
    return fixed, signals, tal, tal + pull, drop, groups


def folds_of(groups, count):
    """Return GroupKFold's folds: the largest group (of equals, the last) goes into the emptiest fold first."""
    names, sizes = np.unique(groups, return_counts=True)
    filled, fold_of = [0] * count, {}
    for index in sorted(range(len(names)), key=lambda i: (sizes[i], i), reverse=True):
        emptiest = filled.index(min(filled))
        filled[emptiest] += sizes[index]
        fold_of[names[index]] = emptiest
    return np.array([fold_of[group] for group in groups])


def ridge_by_normal_equations(features, y, groups):
    columns = sorted(
        {(name, value if isinstance(value, str) else "") for row in features for name, value in row.items()}
    )
    design = np.array(
        [[float(row[name] == value) if value else row[name] for name, value in columns] for row in features]
    )
    fold, predicted = folds_of(groups, 5), np.empty(len(y))
    for held in range(5):
        train, test = fold != held, fold == held
        spread = design[train].std(axis=0)
        seen, asked = (design[part] / np.where(spread > 0, spread, 1) for part in (train, test))
        centre, level = seen.mean(axis=0), y[train].mean()
        penalised = (seen - centre).T @ (seen - centre) + np.eye(len(columns))
        weights = np.linalg.solve(penalised, (seen - centre).T @ (y[train] - level))
        predicted[test] = (asked - centre) @ weights + level
    return predicted


@pytest.mark.parametrize("uneven", [False, True])
def test_predictions_solve_the_normal_equations_of_each_fold(cora, uneven):
    fixed, signals, tal, _, drop, groups = cora
    kept = np.flatnonzero(np.random.default_rng(2).random(800) < 0.7) if uneven else np.arange(800)
    features = [row for i, row in enumerate(rows({**fixed, **signals, "tal": 40 * tal})) if i in set(kept.tolist())]
    clips = [groups[i] for i in kept]
    found = predict_out_of_fold(features, drop[kept], clips)
    wanted = ridge_by_normal_equations(features, drop[kept], clips)
    assert np.abs(found - wanted).max() < 1e-3 * drop.std()  # lsqr stops at a tolerance of 1e-4


def test_a_clip_is_never_predicted_from_itself():
    """y is a level of each clip, which a model could predict only if it had seen the clip."""
    rng = np.random.default_rng(3)
    clips = [f"clip {i:02}" for i in range(40) for _ in range(10)]
    y = np.repeat(rng.normal(size=40), 10)
    predicted = predict_out_of_fold(rows({"clip": clips}), y, clips)
    assert pearson(predicted, y) < 0.1
    mixed = predict_out_of_fold(rows({"clip": clips}), y, [f"{i}" for i in range(400)])
    assert pearson(mixed, y) > 0.95


def test_score_pools_the_folds(cora):
    _, _, tal, _, drop, _ = cora
    found = score(tal, drop)
    assert found.pearson == pytest.approx(scipy_stats.pearsonr(tal, drop).statistic)
    assert found.spearman == pytest.approx(scipy_stats.spearmanr(tal, drop).statistic)


def test_table_5_tells_direction_from_distance(cora):
    fixed, signals, _, _, drop, groups = cora
    found = score_sets(projection_sets(fixed, signals), drop, groups)
    base, distance, direction = found.values()
    assert list(found) == ["fixed effects only", "+ shift_norm", "+ p_audio"]
    assert 0.1 < base.pearson < 0.3
    assert distance.pearson == pytest.approx(base.pearson, abs=0.05)
    assert direction.pearson > base.pearson + 0.25
    assert direction.spearman > base.spearman + 0.25


@pytest.mark.slow
def test_table_18_finds_the_least_set_that_holds_a_planted_interaction(cora):
    fixed, *_, groups = cora
    dataset, model, form = (np.array(fixed[name]) for name in ("dataset", "model", "form"))
    noise = np.random.default_rng(4).normal(0, 1, 800)
    sign_d, sign_m = np.where(dataset == "MACS", 1.5, -1.5), np.where(model == "M2D", 1, -1)
    contrast = {"Statement": 1, "Question": 1, "Key phrase": 0, "Command": -1, "Indirect": -1}
    sign_f = np.array([contrast[name] for name in form])
    sets = interaction_sets(dataset, model, form)
    additive, cells, pairwise, full = sets
    planted = {
        additive: 1.5 * sign_f,
        cells: sign_d * sign_m,
        pairwise: sign_d * sign_f,
        full: sign_d * sign_m * sign_f,
    }
    for place, (name, effect) in enumerate(planted.items()):
        found = [one.pearson for one in score_sets(sets, effect + noise, groups).values()]
        assert all(r < 0.1 for r in found[:place]), name
        assert all(r > 0.6 for r in found[place:]), name


def test_table_21_finds_what_tbmd_adds(cora):
    fixed, signals, tal, tbmd, drop, groups = cora
    found = increment_over_tal(drop, tal, tbmd, fixed, {"move": signals["shift_norm"]}, groups)
    alone, both = (
        pearson(predict_out_of_fold(rows({**fixed, **columns}), drop, groups), drop)
        for columns in ({"tal": tal}, {"tal": tal, "tbmd": tbmd})
    )
    assert (found.tal_only, found.tal_and_tbmd, found.increment) == (alone, both, both - alone)
    assert found.increment > 0.1
    assert found.partial == partial_correlation(tbmd, drop, {**fixed, "move": signals["shift_norm"], "tal": tal})
    assert found.partial == pytest.approx(10 / 125**0.5, abs=0.05)  # pull alone: 10 of slope under noise of 5


def test_tbmd_that_adds_nothing_is_seen_to_add_nothing(cora):
    fixed, _, tal, _, _, groups = cora
    unrelated, noise = np.random.default_rng(5).normal(size=(2, 800))
    found = increment_over_tal(10 * tal + 5 * noise, tal, tal + unrelated, fixed, {}, groups)
    assert found.tal_only > 0.9
    assert abs(found.increment) < 0.01
    assert abs(found.partial) < 0.1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"groups": ["a", "b", "a", "b"]},
            DataError,
            "^2 groups for 3 folds, expected at least one group a fold: add clips or pass fewer folds$",
        ),
        ({"folds": 1}, SpecError, "^folds is 1, expected at least 2: pass 5, for example$"),
        ({"y": [1, 2, 3]}, DataError, "^lengths differ: 4 of features, 3 of y, 4 of groups, "),
        ({"y": [1, 2, 3, np.nan]}, DataError, r"^y\[3\] is nan, "),
        (
            {"features": [{"tal": 1.0}] * 3 + [{}]},
            DataError,
            r"^features\[3\] has nothing, expected .*, tal: give each row the same names$",
        ),
        (
            {"features": [{"tal": 1.0}] * 3 + [{"tal": "1"}]},
            DataError,
            r"^features\[3\] has tal, expected the names and",
        ),
        ({"groups": ["a", "b", "c", 4]}, DataError, r"^groups\[3\] is 4, expected a label"),
    ],
)
def test_what_cannot_be_predicted(change, error, message):
    arguments = {"features": [{"tal": 1.0}] * 4, "y": [1, 2, 3, 4], "groups": list("abcd"), "folds": 3} | change
    with pytest.raises(error, match=message):
        predict_out_of_fold(**arguments)


def test_missing_scikit_learn_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    wanted = r"^scikit-learn is not installed, .* needs it: pip install 'pytest-audioretrieval\[analysis\]'$"
    with pytest.raises(RetrievalError, match=wanted):
        predict_out_of_fold([{"tal": 1.0}] * 5, range(5), list("abcde"))


def test_importing_the_analyses_imports_neither_scikit_learn_nor_scipy():
    names = "association checks diversity features marginals policies regression tails"
    code = (
        f"import importlib, sys\nfor name in {names!r}.split():\n"
        "    importlib.import_module('pytest_audioretrieval.stats.' + name)\n"
        "print(sorted(set(sys.modules) & {'scipy', 'sklearn', 'torch'}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_is_there():
    from pytest_audioretrieval import stats

    assert all(callable(getattr(stats, name)) for name in stats.__all__)
    with pytest.raises(AttributeError, match="no attribute 'median'"):
        _ = stats.median
