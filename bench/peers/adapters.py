"""One thin adapter a library, by its documented use; none averages over queries, none repairs a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Relevant = Sequence[Sequence[int]]


class TorchMetrics:
    """``torchmetrics.functional.retrieval``, a query at a time; ``preds`` are documented as probabilities.

    Scores go through ``probability``, an increasing map into (0, 1), unless ``raw``: as an embedding model gives them.
    """

    def __init__(self, *, raw: bool = False) -> None:
        from torchmetrics.functional import retrieval

        self._retrieval, self._raw = retrieval, raw

    def hit_rate(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._each(self._retrieval.retrieval_hit_rate, scores, relevant, k)

    def recall(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._each(self._retrieval.retrieval_recall, scores, relevant, k)

    def ndcg(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._each(self._retrieval.retrieval_normalized_dcg, scores, relevant, k)

    def average_precision(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._each(self._retrieval.retrieval_average_precision, scores, relevant, k)

    def mrr(self, scores: Floats, relevant: Relevant) -> Floats:
        return self._each(self._retrieval.retrieval_reciprocal_rank, scores, relevant, None)

    def _each(self, metric: Callable[..., Any], scores: Floats, relevant: Relevant, k: int | None) -> Floats:
        import torch

        found = []
        for row, part in zip(scores if self._raw else probability(scores), relevant, strict=True):
            target = torch.zeros(len(row), dtype=torch.bool)
            target[list(part)] = True
            found.append(float(metric(torch.from_numpy(row), target, top_k=k)))
        return np.array(found)


class Ranx:
    """``ranx.evaluate`` with ``return_mean=False``."""

    def hit_rate(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate(f"hit_rate@{k}", scores, relevant)

    def recall(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate(f"recall@{k}", scores, relevant)

    def ndcg(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate(f"ndcg@{k}", scores, relevant)

    def average_precision(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate(f"map@{k}", scores, relevant)

    def mrr(self, scores: Floats, relevant: Relevant) -> Floats:
        return self._evaluate("mrr", scores, relevant)

    def _evaluate(self, metric: str, scores: Floats, relevant: Relevant) -> Floats:
        from ranx import Qrels, Run, evaluate

        right, run = judged(relevant), retrieved(scores)
        return np.asarray(evaluate(Qrels.from_dict(right), Run.from_dict(run), metric, return_mean=False))


class IrMeasures:
    """``ir_measures.iter_calc`` with its default providers."""

    def hit_rate(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._calc(f"Success@{k}", scores, relevant)

    def recall(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._calc(f"R@{k}", scores, relevant)

    def ndcg(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._calc(f"nDCG@{k}", scores, relevant)

    def average_precision(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._calc(f"AP@{k}", scores, relevant)

    def mrr(self, scores: Floats, relevant: Relevant) -> Floats:
        return self._calc("RR", scores, relevant)

    def _calc(self, metric: str, scores: Floats, relevant: Relevant) -> Floats:
        import ir_measures

        measure = ir_measures.parse_measure(metric)
        found = {
            one.query_id: one.value for one in ir_measures.iter_calc([measure], judged(relevant), retrieved(scores))
        }
        return np.array([found[query(number)] for number in range(len(scores))])


class PytrecEval:
    """``pytrec_eval.RelevanceEvaluator``, which is NIST's trec_eval."""

    def hit_rate(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate("success", k, scores, relevant)

    def recall(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate("recall", k, scores, relevant)

    def ndcg(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate("ndcg_cut", k, scores, relevant)

    def average_precision(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        return self._evaluate("map_cut", k, scores, relevant)

    def mrr(self, scores: Floats, relevant: Relevant) -> Floats:
        return self._evaluate("recip_rank", None, scores, relevant)

    def _evaluate(self, metric: str, k: int | None, scores: Floats, relevant: Relevant) -> Floats:
        import pytrec_eval

        asked, given = (metric, metric) if k is None else (f"{metric}.{k}", f"{metric}_{k}")
        found = pytrec_eval.RelevanceEvaluator(judged(relevant), {asked}).evaluate(retrieved(scores))
        return np.array([found[query(number)][given] for number in range(len(scores))])


def probability(scores: Floats) -> Floats:
    """An increasing map of any score into (0, 1) that keeps even close ones apart."""
    return 0.5 + scores / (2 * (1 + np.abs(scores)))


def query(number: int) -> str:
    return f"q{number}"


def judged(relevant: Relevant) -> dict[str, dict[str, int]]:
    """Relevance as a dictionary of dictionaries; documents are named by number, with zeros in front."""
    return {query(number): {f"d{one:05}": 1 for one in sorted(part)} for number, part in enumerate(relevant)}


def retrieved(scores: Floats) -> dict[str, dict[str, float]]:
    """Scores as a dictionary of dictionaries, all candidates retrieved."""
    return {
        query(number): {f"d{candidate:05}": float(score) for candidate, score in enumerate(row)}
        for number, row in enumerate(scores)
    }
