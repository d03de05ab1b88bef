from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics import first_hit_rank, rank, rank_scores
from pytest_audioretrieval.metrics.scores import VectorScores
from tests.examples import examples

GRID = 2**24


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float64)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def on_grid(vectors):
    """Return unit vectors of multiples of 2**-24, which float32 holds exactly, as int64 does their scores."""
    return (np.round(unit(vectors).astype(np.float64) * GRID) / GRID).astype(np.float32)


def exact_scores(queries, candidates):
    """Return all scores in integer arithmetic at once, which shares nothing with the code under test."""
    left, right = (np.round(a.astype(np.float64) * GRID).astype(np.int64) for a in (queries, candidates))
    return (left[:, None, :] * right[None, :, :]).sum(axis=2)


def brute_force(scores, relevant):
    """Return every value of a ranking, by sorting one query at a time."""
    found = []
    for row, right in zip(scores.tolist(), relevant, strict=True):
        order = sorted(range(len(row)), key=lambda c: (-row[c], c))
        ranks = sorted(order.index(c) + 1 for c in right)
        best = max(row[c] for c in right)
        wrong = [c for c in range(len(row)) if c not in right]
        above = sum(row[c] > best for c in wrong)
        tied = sum(row[c] == best for c in wrong)
        alike = sum(row[c] == best for c in right)
        rival = max((row[c] for c in wrong), default=None)
        found.append(
            {
                "relevant_ranks": ranks,
                "first_hit_rank": ranks[0],
                "optimistic_rank": above + 1,
                "pessimistic_rank": above + tied + 1,
                "expected_rank": above + 1 + tied / (alike + 1),
                "tied": tied,
                "margin": None if rival is None else best - rival,
                "top": order,
            }
        )
    return found


def assert_equal(ranking, wanted, unit_of_score):
    for query, row in enumerate(wanted):
        assert ranking.relevant_ranks[query].tolist() == row["relevant_ranks"]
        for name in ("first_hit_rank", "optimistic_rank", "pessimistic_rank", "tied"):
            assert getattr(ranking, name)[query] == row[name], name
        assert ranking.expected_rank[query] == pytest.approx(row["expected_rank"], abs=1e-12)
        assert ranking.margin[query] == row["margin"] * unit_of_score
        assert ranking.top[query].tolist() == row["top"][: ranking.top.shape[1]]


@st.composite
def tasks(draw, least_irrelevant=1):
    """Draw queries, candidates and relevance with duplicates, ties between different vectors, and near ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dims = draw(st.integers(1, 9))
    count = draw(st.integers(1 + least_irrelevant, 12))
    pool = on_grid(rng.normal(size=(draw(st.integers(1, count)), dims)))
    candidates = pool[rng.integers(0, len(pool), count)]
    nudged = rng.random(count) < draw(st.sampled_from([0, 0.5]))
    candidates[nudged, 0] += np.float32(draw(st.integers(-3, 3)) / GRID)
    flipped = rng.random(count) < draw(st.sampled_from([0, 0.5]))
    candidates[flipped] = candidates[flipped][:, ::-1]
    queries = on_grid(rng.normal(size=(draw(st.integers(1, 9)), dims)))
    palindromes = rng.random(len(queries)) < draw(st.sampled_from([0, 0.5]))
    queries[palindromes] = on_grid(queries[palindromes] + queries[palindromes][:, ::-1] + 1e-3)
    sizes = rng.integers(1, count - least_irrelevant + 1, len(queries))
    relevant = [rng.choice(count, size, replace=False).tolist() for size in sizes]
    return queries, candidates, relevant


blocks = st.integers(1, 13)


class TestAgainstTheWholeMatrix:
    @given(task=tasks(), query_block=blocks, candidate_block=blocks, top=st.integers(1, 13))
    @examples(300)
    def test_every_figure_of_a_ranking(self, task, query_block, candidate_block, top):
        queries, candidates, relevant = task
        ranking = rank(*task, top=top, query_block=query_block, candidate_block=candidate_block)
        assert ranking.top.shape == (len(queries), min(top, len(candidates)))
        assert_equal(ranking, brute_force(exact_scores(queries, candidates), relevant), GRID**-2)

    @given(task=tasks(least_irrelevant=0), query_block=blocks, candidate_block=blocks)
    def test_first_hit_rank(self, task, query_block, candidate_block):
        queries, candidates, relevant = task
        found = first_hit_rank(*task, query_block=query_block, candidate_block=candidate_block)
        wanted = brute_force(exact_scores(queries, candidates), relevant)
        assert found.dtype == np.int64
        assert found.tolist() == [row["first_hit_rank"] for row in wanted]

    @given(task=tasks())
    def test_rank_scores(self, task):
        queries, candidates, relevant = task
        scores = exact_scores(queries, candidates)
        ranking = rank_scores(scores.astype(np.float64), relevant, top=len(candidates))
        assert_equal(ranking, brute_force(scores, relevant), 1)

    @given(task=tasks(), seed=st.integers(0, 99))
    def test_a_matrix_product_that_sums_in_any_order_changes_nothing(self, task, seed):
        rng = np.random.default_rng(seed)
        plain, product = rank(*task, top=3), VectorScores.block

        def noisy(self, rows, columns):
            values = product(self, rows, columns)
            # Less than the whole error, because the product itself has rounded already.
            return values + rng.choice([-0.85, 0, 0.85], values.shape) * self.error

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(VectorScores, "block", noisy)
            found = rank(*task, top=3, query_block=3, candidate_block=4)
        for name in ("first_hit_rank", "optimistic_rank", "pessimistic_rank", "expected_rank", "tied", "margin", "top"):
            np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
        for one, other in zip(found.relevant_ranks, plain.relevant_ranks, strict=True):
            np.testing.assert_array_equal(one, other)


class TestManyBlocks:
    """Sizes and vectors of a real run, with float noise."""

    @pytest.fixture(scope="class")
    @staticmethod
    def task():
        rng = np.random.default_rng(5)
        clips = rng.normal(size=(611, 48))
        captions = unit(np.repeat(clips, 3, axis=0) + 2.5 * rng.normal(size=(1833, 48)))
        captions[100:140] = captions[1700:1740]
        captions[1200] = np.nextafter(captions[1201], np.float32(1))
        return unit(clips), captions, [range(3 * clip, 3 * clip + 3) for clip in range(611)]

    @pytest.mark.slow
    def test_ranks_do_not_depend_on_block_sizes(self, task):
        plain = rank(*task, top=5)
        for sizes in ((611, 1833), (5, 1833), (611, 19), (100, 77)):
            found = rank(*task, top=5, query_block=sizes[0], candidate_block=sizes[1])
            np.testing.assert_array_equal(np.concatenate(found.relevant_ranks), np.concatenate(plain.relevant_ranks))
            np.testing.assert_array_equal(found.margin, plain.margin)
            np.testing.assert_array_equal(found.top, plain.top)
            np.testing.assert_array_equal(found.tied, plain.tied)

    def test_ranks_are_those_of_the_full_float64_matrix(self, task):
        clips, captions, relevant = task
        scores = np.einsum("qd,cd->qc", clips, captions, dtype=np.float64)
        order = np.argsort(-np.round(scores, 13), axis=1, kind="stable")
        position = np.argsort(order, axis=1) + 1
        ranking = rank(*task, top=5)
        for query, right in enumerate(relevant):
            assert ranking.relevant_ranks[query].tolist() == sorted(position[query, list(right)].tolist())
        np.testing.assert_array_equal(ranking.top, order[:, :5])
        assert ranking.first_hit_rank.tolist() == first_hit_rank(*task).tolist()

    def test_swapping_queries_and_candidates_keeps_every_score(self, task):
        clips, captions, _ = task
        rows, columns = np.arange(611), np.arange(611) * 3
        one = VectorScores(clips, captions).pairs(rows, columns)
        np.testing.assert_array_equal(one, VectorScores(captions, clips).pairs(columns, rows))

    def test_twins_tie_for_every_query(self, task):
        clips, captions, _ = task
        ranking = rank(clips, captions, [[1700]] * 611)
        assert (ranking.tied == 1).all()
        np.testing.assert_array_equal(ranking.first_hit_rank, ranking.optimistic_rank + 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("spread", [1.0, 0.0], ids=["apart", "all alike"])
    def test_the_matrix_of_scores_is_never_held(self, spread):
        rng = np.random.default_rng(1)
        vectors = unit(1 + spread * rng.normal(size=(3_000, 4)))
        tracemalloc.start()
        try:
            rank(vectors, vectors, [[row] for row in range(3_000)], top=5)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 3_000 * 3_000 * 8 / 2


class TestTies:
    @pytest.mark.parametrize("position", [0, 3, 6])
    def test_a_model_that_scores_all_alike_scores_chance(self, position):
        same = unit(np.ones((7, 16)))
        ranking = rank(same[:4], same, [[position]] * 4, top=3)
        assert ranking.first_hit_rank.tolist() == [position + 1] * 4
        assert ranking.optimistic_rank.tolist() == [1] * 4
        assert ranking.expected_rank.tolist() == [4.0] * 4
        assert ranking.pessimistic_rank.tolist() == [7] * 4
        assert ranking.tied.tolist() == [6] * 4
        assert ranking.margin.tolist() == [0.0] * 4
        assert ranking.top.tolist() == [[0, 1, 2]] * 4

    def test_all_zero_scores_are_no_perfect_reciprocal_rank(self):
        ranking = rank_scores(np.zeros((5, 5)), [[i] for i in range(5)])
        assert ranking.first_hit_rank.tolist() == [1, 2, 3, 4, 5]
        assert ranking.expected_rank.tolist() == [3.0] * 5

    def test_several_relevant_among_equal_scores(self):
        # Of the 10 orders of 2 right among 5 alike, the first right one stands at 1 in 4, 2 in 3, 3 in 2, 4 in 1.
        ranking = rank_scores(np.zeros((1, 5)), [[1, 4]])
        assert ranking.expected_rank.tolist() == [(4 * 1 + 3 * 2 + 2 * 3 + 1 * 4) / 10]
        assert ranking.relevant_ranks[0].tolist() == [2, 5]
        assert (ranking.tied[0], ranking.pessimistic_rank[0]) == (3, 4)

    def test_a_better_relevant_candidate_is_no_tie(self):
        ranking = rank_scores(np.array([[0.9, 0.5, 0.9, 0.1]]), [[3, 2]])
        assert ranking.relevant_ranks[0].tolist() == [2, 4]
        assert (ranking.tied[0], ranking.optimistic_rank[0], ranking.pessimistic_rank[0]) == (1, 1, 2)
        assert ranking.expected_rank[0] == 1.5

    def test_duplicate_candidates_tie_exactly_whatever_their_place(self):
        rng = np.random.default_rng(0)
        candidates = unit(rng.normal(size=(301, 511)))
        candidates[[17, 200, 300]] = candidates[150]
        ranking = rank(candidates[[150]], candidates, [[200]], candidate_block=97)
        assert (ranking.first_hit_rank[0], ranking.tied[0], ranking.pessimistic_rank[0]) == (3, 3, 4)

    def test_candidates_with_the_same_bits_are_scored_once(self, monkeypatch):
        """This keeps the ranking of a collapsed model fast, whose candidates are all near each other."""
        scored, dots = [], VectorScores._dots

        def counted(self, rows, columns):
            scored.append(len(rows))
            return dots(self, rows, columns)

        monkeypatch.setattr(VectorScores, "_dots", counted)
        same = unit(np.ones((400, 8)))
        ranking = rank(same[:50], same, [[7]] * 50)
        assert ranking.expected_rank.tolist() == [200.5] * 50
        assert max(scored) == 50

    def test_float32_would_tie_what_float64_tells_apart(self):
        queries = np.array([[0.6, 0.8, 0, 0]], np.float32)
        candidates = np.array([[0.6, 0.8, 0, 0], [0.6, 0.8, 2**-26, 0], [0.6 + 2**-24, 0.8, 0, 0]], np.float32)
        ranking = rank(queries, candidates, [[0]])
        assert ranking.first_hit_rank.tolist() == [2]
        assert ranking.tied.tolist() == [1]

    def test_float64_vectors_are_compared_as_such(self):
        queries = np.array([[1.0, 0.0]])
        candidates = np.array([[0.6, 0.8], [0.6 + 1e-15, 0.8]])
        assert rank(queries, candidates, [[0]]).first_hit_rank.tolist() == [2]
        assert rank(queries, candidates.astype(np.float32), [[1]]).first_hit_rank.tolist() == [2]


class TestValues:
    def test_by_hand(self):
        queries = np.array([[1, 0], [0, 1]], np.float32)
        candidates = np.array([[0, 1], [0.6, 0.8], [1, 0], [0.8, -0.6]], np.float32)
        ranking = rank(queries, candidates, [[1, 3], [2]], top=2)
        assert [ranks.tolist() for ranks in ranking.relevant_ranks] == [[2, 3], [3]]
        assert ranking.first_hit_rank.tolist() == [2, 3]
        assert ranking.tied.tolist() == [0, 0]
        assert ranking.margin == pytest.approx([0.8 - 1.0, 0.0 - 1.0], abs=1e-7)
        assert ranking.top.tolist() == [[2, 3], [0, 1]]

    def test_one_candidate(self):
        one = np.array([[0.6, 0.8]], np.float32)
        assert first_hit_rank(one, one, [[0]]).tolist() == [1]

    def test_top_is_left_out_unless_asked_for(self):
        assert rank_scores(np.eye(2), [[0], [1]]).top is None

    def test_all_scores_far_below_zero(self):
        ranking = rank_scores(np.array([[-3e300, -2e300, -1e300]]), [[1]], top=9)
        assert ranking.top.tolist() == [[2, 1, 0]]
        assert ranking.margin.tolist() == [-1e300]

    def test_the_user_matrix_is_left_as_it_was(self):
        scores = np.eye(3)
        rank_scores(scores, [[0], [1], [2]])
        np.testing.assert_array_equal(scores, np.eye(3))


def refusal(call, *arguments, error=DataError, **keywords):
    with pytest.raises(error) as caught:
        call(*arguments, **keywords)
    text = str(caught.value)
    assert "\n" not in text
    assert ", expected " in text
    return text


class TestRefuses:
    good = unit(np.random.default_rng(2).normal(size=(6, 8)))
    right = tuple((i,) for i in range(6))

    @pytest.mark.parametrize("call", [rank, first_hit_rank])
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("side", [0, 1])
    def test_values_that_are_not_finite(self, call, bad, side):
        sides = [self.good.copy(), self.good.copy()]
        sides[side][4, 2] = bad
        text = refusal(call, *sides, self.right)
        assert f"{('queries', 'candidates')[side]}[4] has a value that is not finite" in text

    @pytest.mark.parametrize("norm", [0.0, 0.15, 0.9989, 1.0011, 12.0])
    def test_vectors_that_are_not_unit(self, norm):
        vectors = self.good.copy()
        vectors[3] *= np.float32(norm)
        place, _, rest = refusal(rank, vectors, self.good, self.right).partition(" has norm ")
        assert place == "queries[3]"
        assert float(rest.partition(",")[0]) == pytest.approx(norm, abs=1e-5)

    @pytest.mark.parametrize("norm", [0.9991, 1.0009])
    def test_but_takes_float_noise(self, norm):
        assert first_hit_rank(self.good * np.float32(norm), self.good, self.right).tolist() == [1] * 6

    @pytest.mark.parametrize("dtype", [np.float16, np.int64, np.complex64])
    def test_other_dtypes(self, dtype):
        text = refusal(rank, self.good, self.good.astype(dtype, casting="unsafe"), self.right)
        assert f"candidates is {np.dtype(dtype)}, expected float32 or float64" in text

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
    def test_tensors(self, dtype):
        torch = pytest.importorskip("torch")
        tensor = torch.zeros(6, 8, dtype=getattr(torch, dtype))
        assert "queries is a torch Tensor" in refusal(rank, tensor, self.good, self.right)

    @pytest.mark.parametrize("shape", [(8,), (0, 8), (6, 0), (1, 6, 8)])
    def test_shapes(self, shape):
        assert f"has shape {shape}" in refusal(rank, np.zeros(shape, np.float32), self.good, self.right)

    def test_unequal_dimensions(self):
        text = refusal(rank, self.good, unit(np.ones((6, 9))), self.right)
        assert "queries have 8 dimensions and candidates 9" in text

    @pytest.mark.parametrize(
        ("part", "found"),
        [
            ([], "query 2 has no relevant candidate"),
            (np.zeros(0, np.int64), "query 2 has no relevant candidate"),
            ([6], "query 2 has the relevant candidate 6, expected an index from 0 to 5"),
            ([-1], "query 2 has the relevant candidate -1, expected"),
            ([1, 4, 1], "query 2 has the relevant candidate 1 twice"),
            ([1.0], "relevant[2] is [1.0]"),
            ([True, False, False, False, False, True], "relevant[2] is [True"),
            (["a"], "relevant[2] is ['a']"),
            (3, "relevant[2] is 3"),
            ([[1]], "relevant[2] is [[1]]"),
            ({1, 2}, "relevant[2] is {1, 2}"),
        ],
    )
    @pytest.mark.parametrize("call", [rank, first_hit_rank])
    def test_relevance_that_does_not_fit(self, call, part, found):
        assert found in refusal(call, self.good, self.good, [(0,), (1,), part, (3,), (4,), (5,)])

    def test_another_number_of_queries(self):
        assert "relevant has 5 entries, expected one per query, 6" in refusal(
            rank, self.good, self.good, self.right[:5]
        )

    def test_a_query_to_which_all_is_relevant(self):
        relevant = [*self.right[:5], range(6)]
        assert "all 6 candidates are relevant to query 5" in refusal(rank, self.good, self.good, relevant)

    @pytest.mark.parametrize("scores", [[0.2, np.nan, 0.9, 0.1], [0.2, np.inf, 0.9, 0.1]])
    def test_a_score_that_is_not_finite_is_never_rank_1(self, scores):
        assert f"scores[0, 1] is {scores[1]}" in refusal(rank_scores, np.array([scores]), [[1]])

    @pytest.mark.parametrize("dtype", [np.float16, np.int64])
    def test_score_dtypes(self, dtype):
        assert f"scores is {np.dtype(dtype)}" in refusal(rank_scores, np.eye(2, dtype=dtype), [[0], [1]])

    @pytest.mark.parametrize("sizes", [{"query_block": 0}, {"candidate_block": -1}, {"top": -1}])
    def test_sizes_that_cannot_be(self, sizes):
        refusal(rank, self.good, self.good, self.right, error=SpecError, **sizes)
