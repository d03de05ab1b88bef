"""Grouped, cross-validated ridge regression of RankDrop, which needs scikit-learn (CORA, Appendix K.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError, RetrievalError, SpecError
from pytest_audioretrieval.stats.association import partial_correlation, pearson, spearman
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.checks import labels, numbers, same_length
from pytest_audioretrieval.stats.features import control_sets

Rows = Sequence[Mapping[str, str | float]]

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Score:
    """Correlations of out-of-fold predictions with the true values.

    Source: CORA, Appendix K.3 and Table 5.

    Attributes:
        pearson: Pearson's r, from -1 to 1.
        spearman: Spearman's rho, from -1 to 1.

    >>> from pytest_audioretrieval.stats import Score
    >>> Score(pearson=0.5, spearman=0.25)
    Score(pearson=0.5, spearman=0.25)
    """

    pearson: float
    spearman: float


@dataclass(frozen=True, slots=True)
class Increment:
    """Gain in predictions of RankDrop when TBMD is added to TAL.

    Source: CORA, Appendix H and Table 21.

    Attributes:
        tal_only, tal_and_tbmd: Pearson's r of out-of-fold predictions from TAL, and from TAL and TBMD.
        partial: Pearson's r of TBMD and RankDrop after TAL and all controls are taken out of both.

    >>> from pytest_audioretrieval.stats import Increment
    >>> Increment(tal_only=0.5, tal_and_tbmd=0.625, partial=0.25).increment
    0.125
    """

    tal_only: float
    tal_and_tbmd: float
    partial: float

    @property
    def increment(self) -> float:
        """Gain in Pearson's r from TBMD."""
        return self.tal_and_tbmd - self.tal_only


def predict_out_of_fold(features: Rows, y: npt.ArrayLike, groups: Iterable[str], folds: int = FOLDS) -> Floats:
    """Predict ``y`` [P] for each pair with a model that was fitted without the pairs of its group.

    The folds are GroupKFold's; the model is DictVectorizer, StandardScaler(with_mean=False) and Ridge(alpha=1.0,
    solver="lsqr").

    Source: CORA, Appendix K.3.

    Args:
        features: [P] rows of named values, with the same names in each; text becomes one indicator for each label.
        y: [P], what is predicted, in any unit.
        groups: [P] labels, in the paper ``dataset::audio_id``: all forms and models of a clip.
        folds: at least 2.

    Returns:
        float64 [P], in the unit of ``y``.

    Raises:
        DataError: lengths that differ, rows with different names or kinds, or fewer groups than folds.
        SpecError: fewer than 2 folds.
        RetrievalError: scikit-learn is not installed.

    >>> from pytest_audioretrieval.stats import predict_out_of_fold
    >>> features = [{"form": "command", "tal": tal} for tal in (0.0, 1.0, 2.0, 3.0)]
    >>> predict_out_of_fold(features, [0, 10, 30, 50], groups=["a", "a", "b", "b"], folds=2).round(1).tolist()
    [6.7, 20.0, 15.0, 21.7]
    """
    target, clips = numbers("y", y), labels("groups", groups)
    same_length({"features": features, "y": target, "groups": clips})
    _check_rows(features)
    if folds < 2:
        raise SpecError(f"folds is {folds}", expected="at least 2", remedy=f"pass {FOLDS}, for example")
    if len(set(clips)) < folds:
        found = f"{len(set(clips))} groups for {folds} folds"
        raise DataError(found, expected="at least one group a fold", remedy="add clips or pass fewer folds")
    predict, pipeline, splitter = _pinned(folds)
    return np.asarray(predict(pipeline, list(features), target, groups=np.array(clips), cv=splitter))


def score(predicted: npt.ArrayLike, y: npt.ArrayLike) -> Score:
    """Return Pearson's r and Spearman's rho of predictions [P] and ``y`` [P] over all folds together.

    Source: CORA, Appendix K.3.

    Raises:
        DataError: values that ``pearson`` refuses. Features without information predict a constant in each fold.

    >>> from pytest_audioretrieval.stats import score
    >>> found = score([8, 17, 13, 22], [0, 10, 20, 30])
    >>> round(found.pearson, 4), round(found.spearman, 4)
    (0.8253, 0.8)
    """
    return Score(pearson(predicted, y), spearman(predicted, y))


def score_sets(
    sets: Mapping[str, Rows], y: npt.ArrayLike, groups: Iterable[str], folds: int = FOLDS
) -> dict[str, Score]:
    """Return the ``score`` of each feature set on the same folds.

    Source: CORA, Tables 5, 18 and 23.

    Args:
        sets: rows of named values [P] by the name of the feature set.
        y, groups, folds: as in ``predict_out_of_fold``.

    Raises:
        DataError: arguments that ``predict_out_of_fold`` or ``pearson`` refuses.
        SpecError: fewer than 2 folds.
        RetrievalError: scikit-learn is not installed.

    >>> from pytest_audioretrieval.stats import score_sets
    >>> sets = {"tal": [{"tal": tal} for tal in (0.0, 1.0, 2.0, 3.0)]}
    >>> found = score_sets(sets, [0, 10, 30, 50], groups=["a", "a", "b", "b"], folds=2)
    >>> {name: round(one.spearman, 4) for name, one in found.items()}
    {'tal': 0.8}
    """
    clips = list(groups)
    return {name: score(predict_out_of_fold(features, y, clips, folds), y) for name, features in sets.items()}


def increment_over_tal(
    rank_drop: npt.ArrayLike,
    tal: npt.ArrayLike,
    tbmd: npt.ArrayLike,
    fixed: Mapping[str, Iterable[str]],
    controls: Mapping[str, npt.ArrayLike],
    groups: Iterable[str],
    folds: int = FOLDS,
) -> Increment:
    """Return how much better TAL and TBMD together predict the rank drop [P] than TAL does alone.

    Source: CORA, Appendix H and Table 21.

    Args:
        rank_drop: [P], in ranks.
        tal, tbmd: [P], in cosine.
        fixed: labels [P] by name: dataset, model and form.
        controls: further numbers [P] by name that the partial correlation holds fixed: query movement, source rank and
            pool size.
        groups, folds: as in ``predict_out_of_fold``.

    Raises:
        DataError: arguments that ``predict_out_of_fold`` or ``partial_correlation`` refuses.
        SpecError: fewer than 2 folds, or a fixed effect called ``tal`` or ``tbmd``.
        RetrievalError: scikit-learn is not installed.

    >>> from pytest_audioretrieval.stats import increment_over_tal
    >>> tal, hnp = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.3, 0.0, 0.2, 0.1, 0.3, 0.0]
    >>> tbmd = [one + other for one, other in zip(tal, hnp)]
    >>> drop = [round(10 * one) for one in tbmd]
    >>> found = increment_over_tal(drop, tal, tbmd, {"form": ["command"] * 6}, {}, groups="aabbcc", folds=3)
    >>> found.increment > 0, round(found.partial, 4)
    (True, 1.0)
    """
    effects, clips = {name: labels(name, values) for name, values in fixed.items()}, list(groups)
    alone, both = (
        pearson(predict_out_of_fold(features, rank_drop, clips, folds), rank_drop)
        for features in control_sets(effects, tal, tbmd)
    )
    return Increment(alone, both, partial_correlation(tbmd, rank_drop, {**effects, **controls, "tal": tal}))


def _pinned(folds: int) -> tuple[Any, Any, Any]:
    """Return cross-validation, the pipeline and the folds of CORA, Appendix K.3."""
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.model_selection import GroupKFold, cross_val_predict
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise RetrievalError(
            "scikit-learn is not installed, and the grouped ridge regression needs it",
            remedy="pip install 'pytest-audioretrieval[analysis]'",
        ) from None
    ridge = Ridge(alpha=1.0, solver="lsqr")
    return cross_val_predict, make_pipeline(DictVectorizer(), StandardScaler(with_mean=False), ridge), GroupKFold(folds)


def _check_rows(features: Rows) -> None:
    """Refuse rows with other names or kinds of values than the first row.

    DictVectorizer would read a missing name as 0, and split a name with two kinds of values in two.
    """
    kinds = {name: isinstance(value, str) for name, value in features[0].items()}
    for place, row in enumerate(features):
        if {name: isinstance(value, str) for name, value in row.items()} != kinds:
            raise DataError(
                f"features[{place}] has {', '.join(row) or 'nothing'}",
                expected=f"the names and kinds of features[0], {', '.join(kinds)}",
                remedy="give each row the same names",
            )
