from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pytest_audioretrieval
from pytest_audioretrieval import metrics
from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics import (
    Metric,
    hit_rate,
    log2_rank,
    map_at,
    margin,
    mean_rank,
    median_rank,
    mrr,
    ndcg,
    rank_scores,
    recall,
)

LOG2_3, LOG2_5 = math.log2(3), math.log2(5)
EVERY = [
    hit_rate(3),
    recall(3),
    map_at(3),
    ndcg(3),
    mrr(),
    margin(),
    mean_rank(),
    median_rank(),
    log2_rank(),
]


def ranked(*ranks, margins=None):
    """Return ranks and margins as a stored run has them."""
    return SimpleNamespace(
        relevant_ranks=[list(row) for row in ranks],
        first_hit_rank=np.array([row[0] for row in ranks]),
        margin=np.array(margins if margins else [0.0] * len(ranks)),
    )


class TestByHand:
    """Three queries with one right candidate at 2, three at 1, 4 and 12, and two at 11 and 20."""

    ranking = ranked([2], [1, 4, 12], [11, 20], margins=[-0.25, 0.5, -0.125])

    @pytest.mark.parametrize(
        ("metric", "wanted"),
        [
            (hit_rate(1), [0, 1, 0]),
            (hit_rate(2), [1, 1, 0]),
            (hit_rate(10), [1, 1, 0]),
            (hit_rate(11), [1, 1, 1]),
            (recall(1), [0, 1 / 3, 0]),
            (recall(10), [1, 2 / 3, 0]),
            (recall(11), [1, 2 / 3, 1 / 2]),
            (recall(20), [1, 1, 1]),
            (map_at(1), [0, 1 / 1, 0]),
            (map_at(2), [1 / 2, 1 / 2, 0]),
            (map_at(10), [1 / 2, (1 / 1 + 2 / 4) / 3, 0]),
            (map_at(20), [1 / 2, (1 / 1 + 2 / 4 + 3 / 12) / 3, (1 / 11 + 2 / 20) / 2]),
            (ndcg(1), [0, 1, 0]),
            (ndcg(10), [1 / LOG2_3, (1 + 1 / LOG2_5) / (1 + 1 / LOG2_3 + 1 / 2), 0]),
            (ndcg(2), [1 / LOG2_3, 1 / (1 + 1 / LOG2_3), 0]),
            (mrr(), [1 / 2, 1, 1 / 11]),
            (margin(), [-0.25, 0.5, -0.125]),
            (mean_rank(), [2, 1, 11]),
            (median_rank(), [2, 1, 11]),
            (log2_rank(), [1, 0, math.log2(11)]),
        ],
        ids=str,
    )
    def test_per_query(self, metric, wanted):
        found = metric(self.ranking)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-14)

    def test_summed_up(self):
        assert mean_rank().value(self.ranking) == pytest.approx(14 / 3)
        assert median_rank().value(self.ranking) == 2
        assert hit_rate(1).value(self.ranking) == pytest.approx(1 / 3)

    def test_an_even_number_of_queries_has_a_median_between(self):
        assert median_rank().value(ranked([2], [5])) == 3.5


class TestDefinitionsThatAreMixedUp:
    def test_any_hit_is_not_the_share_of_hits(self):
        """With five captions for each clip, R@1 counts any of them and recall@1 is at most 1/5."""
        ranking = ranked([1, 7, 8, 9, 30])
        assert hit_rate(1)(ranking).tolist() == [1.0]
        assert recall(1)(ranking).tolist() == [0.2]
        assert recall(10)(ranking).tolist() == [0.8]

    def test_map_at_10_with_one_relevant_is_the_reciprocal_rank_cut_at_10(self):
        ranking = ranked([1], [4], [10], [11])
        assert map_at(10)(ranking).tolist() == [1, 1 / 4, 1 / 10, 0]
        assert mrr()(ranking).tolist() == [1, 1 / 4, 1 / 10, 1 / 11]

    def test_map_divides_by_what_could_have_been_found(self):
        assert map_at(2)(ranked([1, 2, 3])).tolist() == [1.0]
        assert map_at(10)(ranked([1, 2])).tolist() == [1.0]

    def test_k_is_not_ignored(self):
        """The queries are those of torchmetrics #1952; the shorter one is filled up with very low scores."""
        scores = np.array([[0.2, 0.3, 0.5, -9, -8], [0.1, 0.3, 0.5, 0.2, 0.7]])
        ranking = rank_scores(scores, [[1], [1, 3]])
        assert [ranks.tolist() for ranks in ranking.relevant_ranks] == [[2], [3, 4]]
        for k, hits, shares in [(1, [0, 0], [0, 0]), (2, [1, 0], [1, 0]), (3, [1, 1], [1, 0.5]), (4, [1, 1], [1, 1])]:
            assert hit_rate(k)(ranking).tolist() == hits
            assert recall(k)(ranking).tolist() == shares

    def test_constant_scores_are_not_perfect(self):
        ranking = rank_scores(np.zeros((4, 4)), [[3], [2], [1], [0]])
        assert mrr()(ranking).tolist() == [1 / 4, 1 / 3, 1 / 2, 1]
        assert (1 / ranking.pessimistic_rank).tolist() == [1 / 4] * 4

    def test_ndcg_of_equal_scores_follows_the_document(self):
        ranking = rank_scores(np.array([[0.5, 0.5, 0.5]]), [[0, 2]])
        assert ndcg(3)(ranking)[0] == pytest.approx((1 + 1 / 2) / (1 + 1 / LOG2_3))


def dcg(ranks, k):
    return sum(1 / math.log2(1 + rank) for rank in ranks if rank <= k)


ranks = st.sets(st.integers(1, 40), min_size=1, max_size=12).map(sorted)


class TestProperties:
    @given(rows=st.lists(ranks, min_size=1, max_size=6), k=st.integers(1, 45))
    def test_against_the_definitions_one_query_at_a_time(self, rows, k):
        ranking = ranked(*rows)
        for query, row in enumerate(rows):
            within = [rank for rank in row if rank <= k]
            precisions = [sum(other <= rank for other in row) / rank for rank in within]
            assert hit_rate(k)(ranking)[query] == bool(within)
            assert recall(k)(ranking)[query] == len(within) / len(row)
            assert map_at(k)(ranking)[query] == pytest.approx(sum(precisions) / min(k, len(row)))
            ideal = dcg(range(1, len(row) + 1), k)
            assert ndcg(k)(ranking)[query] == pytest.approx(dcg(row, k) / ideal)

    @given(rows=st.lists(ranks, min_size=1, max_size=6))
    def test_every_value_lies_within_its_bounds(self, rows):
        for metric in EVERY:
            low, high = metric.bounds
            values = metric(ranked(*rows))
            assert values.shape == (len(rows),)
            assert (values >= low).all()
            assert high is None or (values <= high + 1e-12).all()

    @given(row=ranks, k=st.integers(1, 45))
    def test_a_better_first_rank_is_never_worse(self, row, k):
        if row[0] == 1:
            return
        worse, better = ranked(row), ranked([row[0] - 1, *row[1:]])
        for metric in [hit_rate(k), recall(k), map_at(k), ndcg(k), mrr(), mean_rank(), log2_rank()]:
            gain = metric(better)[0] - metric(worse)[0]
            assert gain >= -1e-15 if metric.higher_is_better else gain <= 0

    def test_the_best_ranking_reaches_the_best_value(self):
        ranking = ranked([1, 2, 3, 4], [1])
        for metric in [hit_rate(2), map_at(2), ndcg(2), recall(4), mrr()]:
            np.testing.assert_allclose(metric(ranking), metric.bounds[1], rtol=1e-14)
        for metric in [mean_rank(), median_rank(), log2_rank()]:
            np.testing.assert_allclose(metric(ranking), metric.bounds[0])


class TestMetric:
    def test_names(self):
        assert [str(metric) for metric in EVERY] == [
            "R@3",
            "recall@3",
            "map@3",
            "ndcg@3",
            "mrr",
            "margin",
            "mean_rank",
            "median_rank",
            "log2_rank",
        ]

    def test_ranks_are_better_when_lower(self):
        assert [m.name for m in EVERY if not m.higher_is_better] == ["mean_rank", "median_rank", "log2_rank"]

    @pytest.mark.parametrize("factory", [hit_rate, recall, map_at, ndcg])
    @pytest.mark.parametrize("k", [0, -1, 1.0, "1", True, None])
    def test_k_must_be_a_positive_whole_number(self, factory, k):
        with pytest.raises(SpecError, match="expected a whole number of at least 1") as caught:
            factory(k)
        assert repr(k) in str(caught.value)

    def test_a_query_without_ranks(self):
        ranking = SimpleNamespace(relevant_ranks=[[1], []])
        with pytest.raises(DataError, match="query 1 has no relevant ranks"):
            recall(1)(ranking)

    def test_a_users_own_metric(self):
        missed = Metric("missed", False, (0.0, 1.0), lambda ranking: (ranking.first_hit_rank > 1).astype(float))
        assert missed.value(ranked([1], [2], [3], [1])) == 0.5


class TestImport:
    def test_naming_metrics_imports_no_numpy(self):
        code = """
import sys
from pytest_audioretrieval.metrics import Metric, map_at, hit_rate, log2_rank
from pytest_audioretrieval.metrics import margin, mean_rank, median_rank, mrr, ndcg, recall
print(hit_rate(1), recall(10), map_at(10), ndcg(10))
print(mrr(), margin(), mean_rank(), median_rank(), log2_rank())
print(sorted({"numpy", "scipy", "torch"} & set(sys.modules)))
"""
        root = Path(pytest_audioretrieval.__file__).parents[1]
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
        assert done.stdout.splitlines() == [
            "R@1 recall@10 map@10 ndcg@10",
            "mrr margin mean_rank median_rank log2_rank",
            "[]",
        ]

    def test_every_public_name_is_there(self):
        assert all(callable(getattr(metrics, name)) for name in metrics.__all__)
        assert dir(metrics) == metrics.__all__

    def test_an_unknown_name(self):
        with pytest.raises(AttributeError, match="no attribute 'presicion'"):
            metrics.presicion  # noqa: B018
