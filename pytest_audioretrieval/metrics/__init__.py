"""Exact ranks and retrieval metrics: arrays in, arrays out.

Each name is imported when it is first used, so that a suite can name its metrics without importing numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audioretrieval.metrics.binding import accuracy, sensitivity
    from pytest_audioretrieval.metrics.rank_drop import Reformulation, reformulation
    from pytest_audioretrieval.metrics.ranking import Ranking, first_hit_rank, rank, rank_scores
    from pytest_audioretrieval.metrics.retrieval import (
        Metric,
        hit_rate,
        log2_rank,
        map_at,
        margin,
        mean_rank,
        median_rank,
        mrr,
        ndcg,
        recall,
    )
    from pytest_audioretrieval.metrics.robustness import (
        form_hit_rate,
        rank_loss,
        rank_spread,
        tbmd,
        worst_hit_rate,
        worst_rank_loss,
    )

__all__ = [
    "Metric",
    "Ranking",
    "Reformulation",
    "accuracy",
    "first_hit_rank",
    "form_hit_rate",
    "hit_rate",
    "log2_rank",
    "map_at",
    "margin",
    "mean_rank",
    "median_rank",
    "mrr",
    "ndcg",
    "rank",
    "rank_loss",
    "rank_scores",
    "rank_spread",
    "recall",
    "reformulation",
    "sensitivity",
    "tbmd",
    "worst_hit_rate",
    "worst_rank_loss",
]

_HOME = {
    **dict.fromkeys(("accuracy", "sensitivity"), "binding"),
    **dict.fromkeys(("Ranking", "first_hit_rank", "rank", "rank_scores"), "ranking"),
    **dict.fromkeys(("Reformulation", "reformulation"), "rank_drop"),
    **dict.fromkeys(
        ("form_hit_rate", "rank_loss", "rank_spread", "tbmd", "worst_hit_rate", "worst_rank_loss"), "robustness"
    ),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'retrieval')}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
