"""This package's own metrics as an ``Implementation``."""

from __future__ import annotations

import numpy as np

from pytest_audioretrieval import metrics
from pytest_audioretrieval.metrics import Metric, first_hit_rank, rank_scores, reformulation
from pytest_audioretrieval.testing.implementation import Floats, Ints, Relevant

__all__ = [
    "average_precision",
    "first_hit_rank",
    "hit_rate",
    "margin",
    "mrr",
    "ndcg",
    "ranks",
    "recall",
    "reformulation",
]


def ranks(scores: Floats) -> Ints:
    """Return the 1-based rank of every candidate, [Q, N]."""
    # A worst candidate is added, because a ranking needs an irrelevant one; it does not matter which one is relevant.
    queries, candidates = scores.shape
    padded = np.column_stack((scores, scores.min(axis=1)))
    best_first = rank_scores(padded, [[0]] * queries, top=candidates).top
    assert best_first is not None
    return 1 + np.argsort(best_first, axis=1)


def hit_rate(scores: Floats, relevant: Relevant, k: int) -> Floats:
    """Return 1 where some relevant candidate is among the first k, else 0, [Q]."""
    return _per_query(metrics.hit_rate(k), scores, relevant)


def recall(scores: Floats, relevant: Relevant, k: int) -> Floats:
    """Return the share of the relevant candidates that are among the first k, [Q]."""
    return _per_query(metrics.recall(k), scores, relevant)


def ndcg(scores: Floats, relevant: Relevant, k: int) -> Floats:
    """Return the discounted gain of the first k over that of the best order, [Q]."""
    return _per_query(metrics.ndcg(k), scores, relevant)


def average_precision(scores: Floats, relevant: Relevant, k: int) -> Floats:
    """Return the average precision of the first k, [Q]."""
    return _per_query(metrics.map_at(k), scores, relevant)


def mrr(scores: Floats, relevant: Relevant) -> Floats:
    """Return one over the rank of the best relevant candidate, [Q]."""
    return _per_query(metrics.mrr(), scores, relevant)


def margin(scores: Floats, relevant: Relevant) -> Floats:
    """Return the best relevant minus the best irrelevant score, [Q]."""
    return _per_query(metrics.margin(), scores, relevant)


def _per_query(metric: Metric, scores: Floats, relevant: Relevant) -> Floats:
    """Return the values of one metric, [Q]."""
    return metric(rank_scores(scores, relevant))
