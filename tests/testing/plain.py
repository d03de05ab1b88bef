"""Plain implementation that follows every definition; tests break it in one place at a time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


def checked(*arrays):
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("not finite")


def rows(scores, relevant, value):
    """Return ``value(sorted ranks of the relevant)`` of each query."""
    checked(scores)
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.argsort(order, axis=1) + 1
    return np.array([value(np.sort(row[part])) for row, part in zip(ranks, relevant, strict=True)])


class Plain:
    """Implementation with whole matrices in float64 and ties in document order."""

    def ranks(self, scores):
        checked(scores)
        return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) + 1

    def first_hit_rank(self, queries, candidates, relevant):
        checked(queries, candidates)
        scores = queries.astype(float) @ candidates.astype(float).T
        return rows(np.round(scores, 9), relevant, lambda ranks: ranks[0])

    def hit_rate(self, scores, relevant, k):
        return rows(scores, relevant, lambda ranks: float(ranks[0] <= k))

    def recall(self, scores, relevant, k):
        return rows(scores, relevant, lambda ranks: (ranks <= k).mean())

    def ndcg(self, scores, relevant, k):
        def value(ranks):
            ideal = np.arange(1, min(k, len(ranks)) + 1)
            return (1 / np.log2(1 + ranks[ranks <= k])).sum() / (1 / np.log2(1 + ideal)).sum()

        return rows(scores, relevant, value)

    def average_precision(self, scores, relevant, k):
        def value(ranks):
            precision = np.arange(1, len(ranks) + 1) / ranks
            return precision[ranks <= k].sum() / min(k, len(ranks))

        return rows(scores, relevant, value)

    def mrr(self, scores, relevant):
        return rows(scores, relevant, lambda ranks: 1 / ranks[0])

    def margin(self, scores, relevant):
        checked(scores)
        sides = zip(scores, relevant, strict=True)
        return np.array([row[part].max() - np.delete(row, part).max() for row, part in sides])

    def reformulation(self, source, reformulated, candidates, target):
        pairs = zip(source.astype(float), reformulated.astype(float), target, strict=True)
        found = [reformulate(before, after, candidates.astype(float), t) for before, after, t in pairs]
        return SimpleNamespace(**{name: np.array([one[name] for one in found]) for name in found[0]})


def reformulate(before, after, pool, target):
    """Return every measure of one pair of queries."""
    old, new = pool @ before, pool @ after
    others = [one for one in range(len(pool)) if one != target]
    rival, new_rival = max(others, key=lambda c: old[c]), max(others, key=lambda c: new[c])
    ranks = [1 + sum(s[c] > s[target] or (s[c] == s[target] and c < target) for c in others) for s in (old, new)]

    def lost(one, other):
        return (old[target] - old[one]) - (new[target] - new[other])

    def along(direction):
        flat = direction - (before @ direction) * before
        return float(shift @ flat / (np.linalg.norm(flat) + 1e-12))

    shift = (after - before) - (before @ (after - before)) * before
    return {
        "source_rank": ranks[0],
        "rank": ranks[1],
        "rank_drop": ranks[1] - ranks[0],
        "move": 1 - before @ after,
        "tal": old[target] - new[target],
        "hnp": new[new_rival] - old[rival],
        "tbmd": lost(rival, new_rival),
        "tbmd_source_hn": lost(rival, rival),
        "tbmd_reformulated_hn": lost(new_rival, new_rival),
        "shift_norm": float(np.linalg.norm(shift)),
        "p_audio": along(pool[target]),
        "p_boundary": along(pool[target] - pool[rival]),
    }
