from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.metrics import reformulation
from pytest_audioretrieval.metrics.projection import project
from tests.examples import examples

SEEDS = st.integers(0, 2**32 - 1)


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float64)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def of_one(source, reformulated, target, hard_negative):
    """Return the projection of a single pair as four numbers."""
    found = project(
        np.array([source]), np.array([reformulated]), np.array([target, hard_negative]), np.array([0]), np.array([1])
    )
    return tuple(float(part[0]) for part in (found.move, found.shift_norm, found.p_audio, found.p_boundary))


class TestByHand:
    source, target, rival = [1.0, 0, 0], [0.0, 1, 0], [0.0, 0, 1]

    def test_towards_the_target_and_more_so_towards_its_rival(self):
        found = of_one(self.source, [0.6, 0.48, 0.64], self.target, self.rival)
        assert found == pytest.approx((0.4, 0.8, 0.48, (0.48 - 0.64) / 2**0.5), abs=1e-7)

    def test_the_radial_part_counts_in_no_direction(self):
        found = of_one(self.source, [0.6, 0.8, 0.0], [0.8, 0.6, 0.0], [0.8, 0.0, 0.6])
        assert found == pytest.approx((0.4, 0.8, 0.8, 0.8 / 2**0.5), abs=1e-7)

    def test_opposite_queries_have_no_tangent_shift(self):
        assert of_one(self.source, [-1.0, 0, 0], self.target, self.rival) == (2, 0, 0, 0)

    def test_a_target_at_the_source_lies_in_no_direction(self):
        _, norm, audio, boundary = of_one(self.source, [0.6, 0.48, 0.64], self.source, self.rival)
        assert (norm, audio) == (pytest.approx(0.8), 0)
        assert boundary == pytest.approx(-0.64)

    def test_a_rival_with_the_target_s_bits_has_no_boundary(self):
        assert of_one(self.source, [0.6, 0.48, 0.64], self.target, self.target)[3] == 0


class TestSigns:
    @given(seed=SEEDS, dims=st.integers(3, 9), step=st.floats(0.01, 1))
    def test_moving_towards_the_target(self, seed, dims, step):
        source, target, rival = unit(np.random.default_rng(seed).normal(size=(3, dims)))
        _, norm, audio, _ = of_one(source, unit(source + step * target), target, rival)
        assert audio == pytest.approx(norm, rel=1e-6)
        assert audio > 0
        assert of_one(source, unit(source - step * target), target, rival)[2] < 0

    @given(seed=SEEDS, dims=st.integers(3, 9), step=st.floats(0.01, 1))
    def test_moving_along_the_boundary_s_normal(self, seed, dims, step):
        source, target, rival = unit(np.random.default_rng(seed).normal(size=(3, dims)))
        assert of_one(source, unit(source + step * (target - rival)), target, rival)[3] > 0
        assert of_one(source, unit(source - step * (target - rival)), target, rival)[3] < 0

    @given(seed=SEEDS)
    @examples(50)
    def test_small_shifts_change_scores_as_their_projections_say(self, seed):
        """To first order, the score (or margin) gains the projection times the length of the direction."""
        rng = np.random.default_rng(seed)
        candidates = unit(rng.normal(size=(8, 5)))
        source = unit(rng.normal(size=(20, 5)))
        target = rng.integers(0, 8, 20)
        found = reformulation(source, unit(source + 1e-6 * rng.normal(size=(20, 5))), candidates, target)
        to_target = candidates[target]
        to_boundary = to_target - candidates[found.source_hard_negative]
        for projection, direction, loss in (
            (found.p_audio, to_target, found.tal),
            (found.p_boundary, to_boundary, found.tbmd_source_hn),
        ):
            radial = np.sum(source * direction, axis=1)
            length = np.sqrt(np.sum(direction**2, axis=1) - radial**2)
            np.testing.assert_allclose(projection * length, -loss, rtol=0, atol=1e-10)


class TestFloats:
    @given(seed=SEEDS)
    @examples(50)
    def test_float32_noise_in_the_norms_is_no_shift(self, seed):
        rng = np.random.default_rng(seed)
        source, reformulated, candidates = (unit(rng.normal(size=(6, 16))) for _ in range(3))
        indices = np.arange(6), np.arange(6)[::-1]
        wanted = project(source, reformulated, candidates, *indices)
        scaled = [rows * rng.uniform(0.9991, 1.0009, (6, 1)) for rows in (source, reformulated, candidates)]
        found = project(*scaled, *indices)
        for name in ("move", "shift_norm", "p_audio", "p_boundary"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-14)

    def test_small_movements_keep_their_digits(self):
        angle = 1e-9
        move, norm, audio, _ = of_one([1.0, 0, 0], [np.cos(angle), np.sin(angle), 0], [0.0, 1, 0], [0.0, 0, 1])
        assert move == pytest.approx(angle**2 / 2, rel=1e-6)
        assert (norm, audio) == pytest.approx((angle, angle), rel=1e-6)

    @pytest.mark.parametrize("products", [1, 40, 2**20])
    def test_blocks_change_nothing(self, monkeypatch, products):
        rng = np.random.default_rng(0)
        arrays = [unit(rng.normal(size=(50, 16))) for _ in range(3)]
        wanted = project(*arrays, np.arange(50), np.arange(50)[::-1])
        monkeypatch.setattr("pytest_audioretrieval.metrics.projection.PAIR_PRODUCTS", products)
        found = project(*arrays, np.arange(50), np.arange(50)[::-1])
        for name in ("move", "shift_norm", "p_audio", "p_boundary"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-15)
