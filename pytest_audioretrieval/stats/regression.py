"""Grouped, cross-validated ridge regression of RankDrop (CORA, Appendix K.3); needs scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError, RetrievalError, SpecError
from pytest_audioretrieval.stats.association import partial_correlation, pearson, spearman
from pytest_audioretrieval.stats.bootstrap import Floats
from pytest_audioretrieval.stats.columns import labels, numbers, same_length
from pytest_audioretrieval.stats.features import control_sets

Rows = Sequence[Mapping[str, str | float]]

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Score:
    """Correlation of out-of-fold predictions with what was predicted."""

    pearson: float
    spearman: float


@dataclass(frozen=True, slots=True)
class Increment:
    """What TBMD adds to TAL (CORA, Table 21).

    Attributes:
        tal_only, tal_and_tbmd: Pearson's r of out-of-fold predictions from each.
        partial: Pearson's r of TBMD and RD once TAL and all controls are taken out of both.
    """

    tal_only: float
    tal_and_tbmd: float
    partial: float

    @property
    def increment(self) -> float:
        """Gain in Pearson's r."""
        return self.tal_and_tbmd - self.tal_only


def predict_out_of_fold(features: Rows, y: npt.ArrayLike, groups: Iterable[str], folds: int = FOLDS) -> Floats:
    """Predict each pair of ``y`` [P] by a model that saw no pair of its group (CORA, Appendix K.3).

    GroupKFold; DictVectorizer, StandardScaler(with_mean=False), Ridge(alpha=1.0, solver="lsqr").

    Args:
        features: [P] rows with the same names in each; text is one indicator per label.
        groups: [P] labels, in the paper ``dataset::audio_id``: all forms and models of a clip.

    Raises:
        DataError: lengths that differ, rows of different names or kinds, fewer groups than folds.
        SpecError: fewer than 2 folds. RetrievalError: scikit-learn is not installed.
    """
    target, clips = numbers("y", y), labels("groups", groups)
    same_length({"features": features, "y": target, "groups": clips})
    _check_rows(features)
    if folds < 2:
        raise SpecError(f"folds is {folds}: expected at least 2, such as {FOLDS}")
    if len(set(clips)) < folds:
        raise DataError(f"{len(set(clips))} groups for {folds} folds: expected at least one group a fold")
    predict, pipeline, splitter = _pinned(folds)
    return np.asarray(predict(pipeline, list(features), target, groups=np.array(clips), cv=splitter))


def score(predicted: npt.ArrayLike, y: npt.ArrayLike) -> Score:
    """Pearson and Spearman of predictions and ``y`` [P], all folds together (CORA, Appendix K.3).

    Raises:
        DataError: as ``association.pearson``; features that say nothing predict a constant in each fold.
    """
    return Score(pearson(predicted, y), spearman(predicted, y))


def score_sets(
    sets: Mapping[str, Rows], y: npt.ArrayLike, groups: Iterable[str], folds: int = FOLDS
) -> dict[str, Score]:
    """``score`` of each feature set on the same folds (CORA, Tables 5, 18, 23)."""
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
    """Whether TBMD says more of RD [P] than TAL does (CORA, Appendix H, Table 21).

    Args:
        fixed: labels [P]: dataset, model and form.
        controls: further numbers [P] that the partial correlation holds fixed: query movement, source rank, pool size.
        groups: as ``predict_out_of_fold``.
    """
    effects, clips = {name: labels(name, values) for name, values in fixed.items()}, list(groups)
    alone, both = (
        pearson(predict_out_of_fold(features, rank_drop, clips, folds), rank_drop)
        for features in control_sets(effects, tal, tbmd)
    )
    return Increment(alone, both, partial_correlation(tbmd, rank_drop, {**effects, **controls, "tal": tal}))


def _pinned(folds: int) -> tuple[Any, Any, Any]:
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.model_selection import GroupKFold, cross_val_predict
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise RetrievalError(
            "no scikit-learn, which the grouped ridge regression needs: pip install 'pytest-audioretrieval[analysis]'"
        ) from None
    ridge = Ridge(alpha=1.0, solver="lsqr")
    return cross_val_predict, make_pipeline(DictVectorizer(), StandardScaler(with_mean=False), ridge), GroupKFold(folds)


def _check_rows(features: Rows) -> None:
    """DictVectorizer would take a missing name for 0 and split a name of two kinds in two."""
    kinds = {name: isinstance(value, str) for name, value in features[0].items()}
    for place, row in enumerate(features):
        if {name: isinstance(value, str) for name, value in row.items()} != kinds:
            raise DataError(
                f"features[{place}] has {', '.join(row) or 'nothing'}: expected the names and kinds of features[0]: "
                f"{', '.join(kinds)}"
            )
