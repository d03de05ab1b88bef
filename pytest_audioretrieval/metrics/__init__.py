"""Ranks and metrics on arrays; names are looked up when used, so that naming a metric imports no numpy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    "tbmd",
    "worst_hit_rate",
    "worst_rank_loss",
]

_IN_RANKING = frozenset({"Ranking", "first_hit_rank", "rank", "rank_scores"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{'ranking' if name in _IN_RANKING else 'retrieval'}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
