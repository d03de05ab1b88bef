"""Paired comparisons, bounds, verdicts, correlations and corrections: arrays in, numbers out.

Each name is imported when it is first used, so that importing this package imports no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audioretrieval.stats.association import Association, associate, partial_correlation, pearson, spearman
    from pytest_audioretrieval.stats.diversity import diversity_by_type, global_diversity, within_diversity
    from pytest_audioretrieval.stats.features import control_sets, interaction_sets, projection_sets
    from pytest_audioretrieval.stats.marginals import Marginal, marginal, worsened_share
    from pytest_audioretrieval.stats.multiplicity import holm
    from pytest_audioretrieval.stats.paired import Endpoint, compare, compare_jointly
    from pytest_audioretrieval.stats.policies import Policy, selection_policies
    from pytest_audioretrieval.stats.regression import (
        Increment,
        Score,
        increment_over_tal,
        predict_out_of_fold,
        score,
        score_sets,
    )
    from pytest_audioretrieval.stats.tails import heavy_tailed, tail_index
    from pytest_audioretrieval.stats.verdict import Comparison, Verdict

__all__ = [
    "Association",
    "Comparison",
    "Endpoint",
    "Increment",
    "Marginal",
    "Policy",
    "Score",
    "Verdict",
    "associate",
    "compare",
    "compare_jointly",
    "control_sets",
    "diversity_by_type",
    "global_diversity",
    "heavy_tailed",
    "holm",
    "increment_over_tal",
    "interaction_sets",
    "marginal",
    "partial_correlation",
    "pearson",
    "predict_out_of_fold",
    "projection_sets",
    "score",
    "score_sets",
    "selection_policies",
    "spearman",
    "tail_index",
    "within_diversity",
    "worsened_share",
]

_NAMES = {
    "association": (
        "Association",
        "associate",
        "partial_correlation",
        "pearson",
        "spearman",
    ),
    "diversity": ("diversity_by_type", "global_diversity", "within_diversity"),
    "features": ("control_sets", "interaction_sets", "projection_sets"),
    "marginals": ("Marginal", "marginal", "worsened_share"),
    "multiplicity": ("holm",),
    "paired": ("Endpoint", "compare", "compare_jointly"),
    "policies": ("Policy", "selection_policies"),
    "regression": ("Increment", "Score", "increment_over_tal", "predict_out_of_fold", "score", "score_sets"),
    "tails": ("heavy_tailed", "tail_index"),
    "verdict": ("Comparison", "Verdict"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
