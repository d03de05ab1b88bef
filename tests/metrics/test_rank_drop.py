from __future__ import annotations

import tracemalloc
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics import Reformulation, rank, rank_drop, reformulation
from pytest_audioretrieval.metrics.scores import VectorScores
from tests.examples import examples

GRID = 2**24
NAMES = [field.name for field in fields(Reformulation)]
SIDES = [(0, "source"), (1, "reformulated"), (2, "candidates")]
INTEGERS = {"source_rank", "rank", "rank_drop", "source_hard_negative", "hard_negative"}

#: Against exact arithmetic; where a direction is about as short as float32's rounding, its quotient is noisy.
TOLERANCE = {
    **dict.fromkeys(("tbmd", "tbmd_source_hn", "tbmd_reformulated_hn"), 1e-15),
    **dict.fromkeys(("move", "shift_norm", "p_audio", "p_boundary"), 1e-7),
}


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def on_grid(vectors):
    """Return unit vectors of multiples of 2**-24, which float32 holds exactly, as int64 does their scores."""
    return (np.round(unit(vectors) * GRID) / GRID).astype(np.float32)


def exact_scores(queries, candidates):
    """Return all scores in integer arithmetic at once, which shares nothing with the code under test."""
    left, right = (np.round(a.astype(np.float64) * GRID).astype(np.int64) for a in (queries, candidates))
    return (left[:, None, :] * right[None, :, :]).sum(axis=2)


def along(shift, source, direction):
    """Return <d, u> in the tangent space of K.1, with its projector written as a matrix."""
    tangent = np.eye(len(source)) - np.outer(source, source)
    length = np.linalg.norm(tangent @ direction)
    return (tangent @ shift) @ (tangent @ direction) / (length + 1e-8)


def by_brute_force(source, reformulated, candidates, target, right):
    """Return the measures of one pair by the paper's formulas, from its two full rows of integer scores."""
    src, cora = (exact_scores(query[None], candidates)[0].tolist() for query in (source, reformulated))
    wrong = [c for c in range(len(candidates)) if c not in right]

    def order(scores):
        return sorted(wrong, key=lambda c: (-scores[c], c))

    def standing(scores):
        return sorted([*wrong, target], key=lambda c: (-scores[c], c)).index(target) + 1

    h_src, h_cora = order(src)[0], order(cora)[0]
    pool = sorted({*order(src)[:5], *order(cora)[:5]})
    boundary = max(pool, key=lambda c: (src[c], -c))
    q, r, a, h = unit([source, reformulated, candidates[target], candidates[boundary]])
    tangent = (r - q) - q @ (r - q) * q
    return {
        "source_rank": standing(src),
        "rank": standing(cora),
        "rank_drop": standing(cora) - standing(src),
        "move": 1 - r @ q,
        "tal": (src[target] - cora[target]) / GRID**2,
        "hnp": (cora[h_cora] - src[h_src]) / GRID**2,
        "tbmd": ((src[target] - src[h_src]) - (cora[target] - cora[h_cora])) / GRID**2,
        "tbmd_source_hn": ((src[target] - src[h_src]) - (cora[target] - cora[h_src])) / GRID**2,
        "tbmd_reformulated_hn": ((src[target] - src[h_cora]) - (cora[target] - cora[h_cora])) / GRID**2,
        "shift_norm": np.linalg.norm(tangent),
        "p_audio": along(r - q, q, a),
        "p_boundary": along(r - q, q, a - h),
        "source_margin": (src[target] - src[h_src]) / GRID**2,
        "margin": (cora[target] - cora[h_cora]) / GRID**2,
        "source_hard_negative": h_src,
        "hard_negative": h_cora,
    }


@st.composite
def tasks(draw):
    """Draw pairs that share sources, equal or nearly equal candidates, and several right answers for some."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dims, count, pairs = draw(st.integers(2, 7)), draw(st.integers(2, 15)), draw(st.integers(1, 9))
    pool = on_grid(rng.normal(size=(draw(st.integers(1, count)), dims)))
    candidates = pool[rng.integers(0, len(pool), count)]
    nudged = rng.random(count) < draw(st.sampled_from([0, 0.5]))
    candidates[nudged, 0] += np.float32(draw(st.integers(-3, 3)) / GRID)
    sources = on_grid(rng.normal(size=(draw(st.integers(1, pairs)), dims)))
    source = sources[rng.integers(0, len(sources), pairs)]
    reformulated = on_grid(source + draw(st.sampled_from([0.01, 0.5, 9])) * rng.normal(size=source.shape))
    target = rng.integers(0, count, pairs)
    most = draw(st.sampled_from([0, count - 1]))
    further = [rng.choice(count, rng.integers(0, most + 1), replace=False) for _ in range(pairs)]
    relevant = [part[: count - 2] if own not in part else part for own, part in zip(target, further, strict=True)]
    return source, reformulated, candidates, target, relevant


def run(task):
    *arrays, relevant = task
    return reformulation(*arrays, relevant=relevant)


def assert_close(found, wanted, atol=1e-12):
    for name in NAMES:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=atol, err_msg=name)


def random_task(seed, pairs=40, count=30, dims=12, noise=0.6):
    """Return float64 vectors without ties or duplicates, with five reformulations of each source."""
    rng = np.random.default_rng(seed)
    candidates = unit(rng.normal(size=(count, dims)))
    target = np.repeat(rng.integers(0, count, pairs // 5), 5)
    source = unit(candidates[target] + np.repeat(rng.normal(size=(pairs // 5, dims)), 5, axis=0) * 0.4)
    return source, unit(source + noise / dims**0.5 * rng.normal(size=source.shape)), candidates, target


class TestByHand:
    """Two queries that ask for candidate 1 and score 0, 0.8, 0.96, -1 and 0.8, 0.96, 0.352, -0.6."""

    candidates = np.array([[0, 1], [0.8, 0.6], [0.96, -0.28], [-1, 0]])
    one, other = np.array([[1, 0]]), np.array([[0.6, 0.8]])

    wanted = {  # noqa: RUF012
        "source_rank": 2,
        "rank": 1,
        "rank_drop": -1,
        "move": 0.4,
        "tal": -0.16,
        "hnp": -0.16,
        "tbmd": -0.32,
        "tbmd_source_hn": (0.8 - 0.96) - (0.96 - 0.352),
        "tbmd_reformulated_hn": (0.8 - 0) - (0.96 - 0.8),
        "shift_norm": 0.8,
        "p_audio": 0.8,
        "p_boundary": 0.8,
        "source_margin": -0.16,
        "margin": 0.16,
        "source_hard_negative": 2,
        "hard_negative": 0,
    }

    @pytest.mark.parametrize("name", NAMES)
    def test_every_figure(self, name):
        found = getattr(reformulation(self.one * 1.0, self.other, self.candidates, [1]), name)
        assert found.shape == (1,)
        assert found.dtype == (np.int64 if name in INTEGERS else np.float64)
        assert found[0] == pytest.approx(self.wanted[name], abs=1e-7)

    def test_mean_rank_drop(self):
        source, reformulated = np.vstack([self.one, self.one, self.other]), np.vstack([self.other, self.one, self.one])
        found = reformulation(source * 1.0, reformulated * 1.0, self.candidates, [1, 1, 0])
        assert found.source_rank.tolist() == [2, 2, 2]
        assert found.rank.tolist() == [1, 2, 3]
        assert found.rank_drop.tolist() == [-1, 0, 1]
        assert found.mean_rd == 0
        assert replace(found, rank_drop=np.array([1, 2, 5])).mean_rd == pytest.approx(8 / 3)

    def test_another_right_answer_is_no_rival_and_has_no_rank(self):
        arrays = (self.one * 1.0, self.other, self.candidates, [1])
        found = reformulation(*arrays, relevant=[[2]])
        assert (found.source_rank[0], found.rank[0]) == (1, 1)
        assert (found.source_hard_negative[0], found.hard_negative[0]) == (0, 0)
        assert found.source_margin[0] == pytest.approx(0.8)
        assert found.tbmd[0] == pytest.approx(0.8 - 0.16)
        assert_close(reformulation(*arrays, relevant=[(2, 1, 2)]), found, 0)

    def test_equal_scores_are_ranked_in_document_order(self):
        same = np.array([[0.6, 0.8]] * 4)
        found = reformulation(same[:1], self.one * 1.0, same, [2])
        assert (found.source_rank[0], found.rank[0]) == (3, 3)
        assert (found.source_hard_negative[0], found.hard_negative[0]) == (0, 0)
        assert (found.source_margin[0], found.margin[0], found.tbmd[0], found.p_boundary[0]) == (0, 0, 0, 0)
        found = reformulation(same[:1], self.one * 1.0, same, [2], relevant=[[0]])
        assert (found.source_rank[0], found.source_hard_negative[0]) == (2, 1)


class TestAgainstTheWholeMatrix:
    @given(task=tasks(), sizes=st.tuples(*[st.integers(1, 16)] * 2), products=st.sampled_from([1, 20, 2**20]))
    @examples(300)
    def test_every_figure(self, task, sizes, products):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rank_drop, "QUERY_BLOCK", sizes[0])
            patch.setattr(rank_drop, "CANDIDATE_BLOCK", sizes[1])
            patch.setattr("pytest_audioretrieval.metrics.projection.PAIR_PRODUCTS", products)
            found = run(task)
        *arrays, relevant = task
        for pair, part in enumerate(relevant):
            right = {int(arrays[3][pair]), *part.tolist()}
            wanted = by_brute_force(arrays[0][pair], arrays[1][pair], arrays[2], int(arrays[3][pair]), right)
            for name in NAMES:
                assert getattr(found, name)[pair] == pytest.approx(wanted[name], abs=TOLERANCE.get(name, 0)), name

    def test_ranks_are_those_of_rank_in_many_blocks(self):
        source, reformulated, candidates, target = random_task(3, pairs=700, count=2_300, noise=3)
        arrays = [side.astype(np.float32) for side in (source, reformulated, candidates)]
        found = reformulation(*arrays, target)
        for side, name in enumerate(("source_", "")):
            ranking = rank(arrays[side], arrays[2], target[:, None], top=2)
            np.testing.assert_array_equal(getattr(found, f"{name}rank"), ranking.first_hit_rank)
            np.testing.assert_array_equal(getattr(found, f"{name}margin"), ranking.margin)
            rival = np.where(ranking.top[:, 0] == target, ranking.top[:, 1], ranking.top[:, 0])
            np.testing.assert_array_equal(getattr(found, f"{name}hard_negative"), rival)
        assert np.ptp(found.rank_drop) > 100

    def test_right_answers_are_left_out_as_if_they_were_no_candidates(self):
        source, reformulated, candidates, target = random_task(4)
        rng = np.random.default_rng(4)
        relevant = [rng.choice(np.delete(np.arange(30), own), 9, replace=False) for own in target]
        found = reformulation(source, reformulated, candidates, target, relevant=relevant)
        for pair, part in enumerate(relevant):
            kept = np.delete(np.arange(30), part)
            own = np.flatnonzero(kept == target[pair])
            wanted = reformulation(source[[pair]], reformulated[[pair]], candidates[kept], own)
            for name in set(NAMES) - {"source_hard_negative", "hard_negative"}:
                assert getattr(found, name)[pair] == pytest.approx(getattr(wanted, name)[0], abs=1e-12), name
            assert found.hard_negative[pair] == kept[wanted.hard_negative[0]]


class TestProperties:
    @given(task=tasks())
    def test_decomposition_and_order(self, task):
        found = run(task)
        np.testing.assert_allclose(found.tbmd, found.tal + found.hnp, rtol=0, atol=1e-15)
        assert (found.tbmd_source_hn <= found.tbmd + 1e-15).all()
        assert (found.tbmd <= found.tbmd_reformulated_hn + 1e-15).all()
        assert (found.rank[found.margin > 0] == 1).all()
        assert (found.rank[found.margin < 0] > 1).all()

    @given(task=tasks())
    def test_bounds(self, task):
        found, slack = run(task), 1e-5
        ranked = len(task[2]) - np.array([len({*part} - {own}) for own, part in zip(task[3], task[4], strict=True)])
        for ranks in (found.source_rank, found.rank):
            assert ((ranks >= 1) & (ranks <= ranked)).all()
        assert (np.abs(found.rank_drop) < ranked).all()
        assert ((found.move >= 0) & (found.move <= 2 + slack)).all()
        for name, most in {"tal": 2, "hnp": 2, "tbmd": 4, "tbmd_source_hn": 4, "tbmd_reformulated_hn": 4}.items():
            assert (np.abs(getattr(found, name)) <= most + slack).all(), name
        assert (found.shift_norm <= 1 + slack).all()
        for name in ("p_audio", "p_boundary"):
            assert (np.abs(getattr(found, name)) <= found.shift_norm + slack).all(), name

    @given(task=tasks())
    def test_swapping_the_queries_negates_what_is_a_difference(self, task):
        source, reformulated, *rest = task
        found, swapped = run(task), run((reformulated, source, *rest))
        np.testing.assert_array_equal(swapped.source_rank, found.rank)
        np.testing.assert_array_equal(swapped.source_hard_negative, found.hard_negative)
        np.testing.assert_array_equal(swapped.move, found.move)
        np.testing.assert_allclose(swapped.shift_norm, found.shift_norm, rtol=0, atol=1e-7)
        for name in ("rank_drop", "tal", "hnp", "tbmd"):
            np.testing.assert_array_equal(getattr(swapped, name), -getattr(found, name), err_msg=name)
        np.testing.assert_allclose(swapped.tbmd_source_hn, -found.tbmd_reformulated_hn, rtol=0, atol=1e-15)

    @given(task=tasks())
    def test_the_same_query_changes_nothing(self, task):
        source, _, *rest = task
        found = run((source, source.copy(), *rest))
        for name in set(NAMES) - {"source_rank", "rank", "source_margin", "margin", *INTEGERS} | {"rank_drop"}:
            assert (getattr(found, name) == 0).all(), name
        np.testing.assert_array_equal(found.rank, found.source_rank)
        np.testing.assert_array_equal(found.margin, found.source_margin)

    @given(seed=st.integers(0, 2**32 - 1))
    @examples(50)
    def test_rotating_the_space_changes_nothing(self, seed):
        source, reformulated, candidates, target = random_task(seed)
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(12, 12)))[0]
        turned = reformulation(source @ turn, reformulated @ turn, candidates @ turn, target)
        assert_close(turned, reformulation(source, reformulated, candidates, target), 1e-9)

    @given(task=tasks(), seed=st.integers(0, 99))
    @examples(50)
    def test_the_order_of_pairs_is_kept(self, task, seed):
        source, reformulated, candidates, target, relevant = task
        order = np.random.default_rng(seed).permutation(len(source))
        shuffled = run((source[order], reformulated[order], candidates, target[order], [relevant[i] for i in order]))
        found = run(task)
        for name in NAMES:
            np.testing.assert_allclose(getattr(shuffled, name), getattr(found, name)[order], rtol=0, atol=1e-14)


class TestCosts:
    def test_pairs_that_share_a_source_share_its_ranking(self, monkeypatch):
        ranked, blocks = [], VectorScores.block
        monkeypatch.setattr(VectorScores, "block", lambda *a: ranked.append(a[1]) or blocks(*a))
        source, reformulated, candidates, target = random_task(5)
        reformulation(source, reformulated, candidates, target)
        assert sum(rows.stop - rows.start for rows in ranked) == 40 // 5 + 40

    @pytest.mark.slow
    @pytest.mark.parametrize("relevant", [None, "ten each"])
    def test_the_matrix_of_scores_is_never_held(self, relevant):
        source, reformulated, candidates, target = random_task(6, pairs=2_500, count=3_000, dims=4)
        further = relevant and [range(10)] * len(target)
        tracemalloc.start()
        try:
            reformulation(source, reformulated, candidates, target, relevant=further)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2_500 * 3_000 * 8 / 2


def refusal(*arrays, relevant=None):
    with pytest.raises(DataError) as caught:
        reformulation(*arrays, relevant=relevant)
    text = str(caught.value)
    assert "\n" not in text
    assert ", expected " in text
    return text


class TestRefuses:
    good = random_task(7, pairs=10)

    def arrays(self, place, value):
        return [value if i == place else array for i, array in enumerate(self.good)]

    @pytest.mark.parametrize(("place", "name"), SIDES)
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_values_that_are_not_finite(self, place, name, bad):
        vectors = self.good[place].copy()
        vectors[4, 2] = bad
        assert f"{name}[4] has a value that is not finite" in refusal(*self.arrays(place, vectors))

    @pytest.mark.parametrize(("place", "name"), SIDES)
    @pytest.mark.parametrize("norm", [0, 0.9989, 1.0011])
    def test_vectors_that_are_not_unit(self, place, name, norm):
        vectors = self.good[place].copy()
        vectors[3] *= norm
        assert f"{name}[3] has norm {norm:g}" in refusal(*self.arrays(place, vectors))

    @pytest.mark.parametrize(("place", "name"), SIDES)
    def test_other_dtypes_and_shapes(self, place, name):
        assert f"{name} is float16" in refusal(*self.arrays(place, self.good[place].astype(np.float16)))
        assert f"{name} has shape (12,)" in refusal(*self.arrays(place, self.good[place][0]))
        assert f"{name} is a builtins list" in refusal(*self.arrays(place, self.good[place].tolist()))

    def test_sides_that_do_not_fit(self):
        text = refusal(*self.arrays(0, self.good[0][::5]))
        assert "source has shape (2, 12), reformulated (10, 12)" in text
        text = refusal(*self.arrays(2, unit(np.ones((30, 9)))))
        assert "queries have 12 dimensions and candidates 9" in text

    @pytest.mark.parametrize("bad", [30, -1, 10**12])
    def test_a_target_out_of_range(self, bad):
        target = self.good[3].copy()
        target[6] = bad
        assert f"target[6] is {bad}, expected an index from 0 to 29" in refusal(*self.arrays(3, target))

    @pytest.mark.parametrize("target", [[0.0] * 10, [True] * 10, ["a"] * 10, [0] * 9, [[0]] * 10, 3])
    def test_targets_that_are_no_indices(self, target):
        assert "expected integers of shape (10,)" in refusal(*self.arrays(3, target))

    def test_one_candidate_has_no_rival(self):
        source, reformulated, candidates, target = self.good
        text = refusal(source, reformulated, candidates[:1], np.zeros_like(target))
        assert "candidates has 1 row, expected 2 or more, because a target needs a hard negative" in text

    def test_a_pair_to_which_all_is_right(self):
        relevant = [[]] * 8 + [range(30), []]
        assert "all 30 candidates are right answers of pair 8" in refusal(*self.good, relevant=relevant)

    @pytest.mark.parametrize(
        ("part", "found"),
        [
            ([30], "relevant[2] has 30, expected indices from 0 to 29"),
            ([4, -1], "relevant[2] has -1, expected"),
            ([1.0], "relevant[2] is [1.0]"),
            ([True], "relevant[2] is [True]"),
            ({1, 2}, "relevant[2] is {1, 2}"),
            ([[1], [2, 3]], "relevant[2] is [[1], [2, 3]]"),
            (3, "relevant[2] is 3"),
        ],
    )
    def test_right_answers_that_are_no_indices(self, part, found):
        assert found in refusal(*self.good, relevant=[[], [], part, *[[]] * 7])

    def test_right_answers_for_another_number_of_pairs(self):
        text = refusal(*self.good, relevant=[[]] * 9)
        assert "relevant has 9 entries, expected one per pair, 10" in text

    @pytest.mark.filterwarnings("ignore:the matrix subclass")
    @pytest.mark.parametrize("kind", [np.matrix, np.ma.masked_array])
    def test_what_multiplies_as_no_plain_array_does(self, kind):
        source, reformulated, candidates, target = self.good
        assert f"source is a numpy {kind(source).__class__.__name__}" in refusal(
            kind(source), reformulated, candidates, target
        )

    def test_a_ragged_target(self):
        assert "target is object of shape" in refusal(*self.good[:3], [[1], [2, 3], *[[1]] * 8])
