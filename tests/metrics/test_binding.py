"""Tests of choices, priors and text distances by hand, from MASB's counts and by brute force."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.binding import accuracy, by_prior, correct, sensitivity, text_distances, text_prior


def unit(rng, *shape, dtype=np.float32):
    vectors = rng.normal(size=shape)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(dtype)


# --- choices


def test_choices_by_hand():
    found = correct([0.5, 0.25, -0.125, 0.0], [0.25, 0.5, -0.125, -0.0])
    assert found.dtype == np.float64
    assert found.tolist() == [1, 0, 0.5, 0.5]


def test_only_an_exact_tie_is_a_tie():
    assert correct([np.nextafter(0.3, 1), 0.3], [0.3, np.nextafter(0.3, 1)]).tolist() == [1, 0]


@pytest.mark.parametrize("scores", [([0.1, np.nan], [0.2, 0.3]), ([0.1, 0.2], [np.inf, 0.3])])
def test_scores_that_are_not_finite(scores):
    with pytest.raises(DataError, match=r"(right|wrong)\[\d\] is (nan|inf), expected finite numbers"):
        correct(*scores)
    with pytest.raises(DataError, match="2 of right, 1 of wrong"):
        correct([1, 2], [1])


# --- metrics


def test_accuracy_of_a_run():
    """A tie counts half, whatever the order of the options in the data."""
    run = SimpleNamespace(first_hit_rank=np.array([1, 2, 1, 2]), tied=np.array([0, 0, 1, 1]))
    metric = accuracy()
    assert (metric.name, metric.bounds, metric.higher_is_better) == ("accuracy", (0, 1), True)
    assert metric(run).tolist() == [1, 0, 0.5, 0.5]
    assert metric.value(run) == 0.5


def test_sensitivity_of_a_run():
    run = SimpleNamespace(
        swap_distance=np.array([0.0, 0.25, 0.75, 0.5, 0.0]), paraphrase_distance=np.array([0.5, 0.25, 0.25, 0.0, 0.0])
    )
    metric = sensitivity()
    assert (metric.name, metric.bounds, metric.higher_is_better) == ("sensitivity", (0, 1), True)
    assert metric(run).tolist() == [0, 0.5, 0.75, 1, 0.5]


def test_masb_encoders_are_insensitive():
    """In MASB, Exp. 3, even the largest swap distance with the smallest paraphrase distance gives less than 0.5."""
    run = SimpleNamespace(swap_distance=np.array([0.007, 0.030]), paraphrase_distance=np.array([0.122, 0.062]))
    assert sensitivity()(run) == pytest.approx([7 / 129, 30 / 92])


@pytest.mark.parametrize(("metric", "direction"), [(accuracy(), "choice"), (sensitivity(), "texts")])
def test_another_direction_is_one_line(metric, direction):
    with pytest.raises(SpecError, match=f"ask in direction {direction}"):
        metric(SimpleNamespace(first_hit_rank=np.array([1])))


def test_naming_them_imports_no_numpy():
    code = (
        "import sys; from pytest_audioretrieval.metrics.binding import accuracy, sensitivity; accuracy(); "
        "sensitivity(); print(sorted({'numpy', 'scipy', 'torch'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# --- priors


@pytest.mark.parametrize(
    ("right", "wrong", "halves", "balanced"),
    [
        ((124, 191), (55, 89), (0.65, 0.62), 0.63),
        ((144, 167), (33, 79), (0.86, 0.42), 0.64),
        ((145, 157), (44, 117), (0.92, 0.38), 0.65),
    ],
)
def test_printed_halves(right, wrong, halves, balanced):
    """The cases are timbre, role and order of MASB, Exp. 2."""
    audio = np.repeat([1, 0, 1, 0], [right[0], right[1] - right[0], wrong[0], wrong[1] - wrong[0]])
    found = by_prior(audio, np.repeat([1, 0], [right[1], wrong[1]]))
    assert (round(found.right_half, 2), round(found.wrong_half, 2), round(found.balanced, 2)) == (*halves, balanced)
    assert (found.right_count, found.wrong_count, found.ties) == (right[1], wrong[1], 0)


def test_ties_of_the_prior_are_in_neither_half():
    found = by_prior([1, 0.5, 0, 1, 1], [1, 1, 0, 0.5, 0])
    assert (found.right_half, found.wrong_half, found.balanced) == (0.75, 0.5, 0.625)
    assert (found.right_count, found.wrong_count, found.ties) == (2, 2, 1)


def test_an_empty_half_leaves_nothing_to_balance():
    found = by_prior([1, 0], [1, 1])
    assert (found.right_half, found.wrong_half, found.balanced, found.wrong_count) == (0.5, None, None, 0)
    found = by_prior([1, 0], [0, 0.5])
    assert (found.right_half, found.wrong_half, found.balanced, found.ties) == (None, 1, None, 1)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.integers(0, 1)), min_size=1, max_size=50))
def test_the_halves_give_back_the_accuracy(pairs):
    audio, prior = np.array(pairs, dtype=float).T
    found = by_prior(audio, prior)
    total = found.right_count * (found.right_half or 0) + found.wrong_count * (found.wrong_half or 0)
    assert total == pytest.approx(audio.sum())


def test_both_orders_by_hand():
    found = text_prior([0.75, 1.0, 0.5], [0.25, 1.0, 0.75])
    assert found.right.tolist() == [0.75, 0.5, 0.375]
    assert found.position_bias == pytest.approx((0 + 1 + 0.25) / 3)


@given(st.floats(0, 1), st.floats(-0.2, 0.2))
def test_position_bias_cancels(prior, bias):
    """A scorer adds the same number to the option that comes first, and both orders together cancel it."""
    right, wrong = 0.2 + 0.6 * prior, 0.8 - 0.6 * prior
    found = text_prior([right + bias], [wrong + bias])
    assert found.right[0] == pytest.approx(right)
    assert found.position_bias == pytest.approx(2 * bias)


def test_bad_priors_are_one_line():
    with pytest.raises(DataError, match=r"wrong_first\[1\] is 1.5, expected a probability"):
        text_prior([0.5, 0.5], [0.5, 1.5])
    with pytest.raises(DataError, match=r"prior_correct\[0\] is 0.7, expected 1 \(right\)"):
        by_prior([1], [0.7])
    with pytest.raises(DataError, match="2 of right_first, 1 of wrong_first"):
        text_prior([0.5, 0.5], [0.5])


# --- text distances


def test_distances_by_hand():
    """There are two recordings with two texts each, on the axes of a plane."""
    text = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.float32)
    swap = np.array([[1, 0], [1, 0], [1, 0], [0.6, -0.8]], dtype=np.float32)
    found = text_distances(text, swap, text[::-1].copy(), ["a", "a", "b", "b"])
    assert found.swap == pytest.approx([0, 1, 2, 0.2], abs=1e-7)
    assert found.paraphrase == pytest.approx([1, 1, 1, 1], abs=1e-7)
    assert found.others == pytest.approx([1.5, 1.5, 1.5, 1.5])


def test_a_text_is_at_distance_zero_from_itself():
    text = unit(np.random.default_rng(0), 40, 64)
    found = text_distances(text, text, text, range(40))
    assert not found.swap.any()
    assert not found.paraphrase.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_by_brute_force(dtype, monkeypatch):
    monkeypatch.setattr("pytest_audioretrieval.metrics.scores.PAIR_PRODUCTS", 200)
    rng = np.random.default_rng(1)
    text, swap, paraphrase = (unit(rng, 61, 8, dtype=dtype) for _ in range(3))
    labels = [f"r{code}" for code in rng.integers(0, 20, 61)]
    found = text_distances(text, swap, paraphrase, labels)
    wide = [vectors.astype(np.float64) for vectors in (text, swap, paraphrase)]
    for row in range(61):
        others = [1 - wide[0][row] @ wide[0][k] for k in range(61) if labels[k] != labels[row]]
        assert found.others[row] == pytest.approx(np.median(others), abs=1e-6)
        assert found.swap[row] == pytest.approx(1 - wide[0][row] @ wide[1][row], abs=1e-6)
        assert found.paraphrase[row] == pytest.approx(1 - wide[0][row] @ wide[2][row], abs=1e-6)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_square():
    text = unit(np.random.default_rng(2), 4_000, 16)
    tracemalloc.start()
    text_distances(text, text, text, np.arange(4_000) // 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6 < 8 * 4_000**2


def test_bad_vectors_are_one_line():
    rng = np.random.default_rng(3)
    text, other = unit(rng, 4, 8), unit(rng, 4, 6)
    with pytest.raises(DataError, match=r"different dimensions \(text 8, swap 8, paraphrase 6\)"):
        text_distances(text, text, other, "abcd")
    with pytest.raises(DataError, match="all texts are of one recording"):
        text_distances(text, text, text, "aaaa")
    with pytest.raises(DataError, match=r"swap\[0\] has norm"):
        text_distances(text, text * 2, text, "abcd")
    with pytest.raises(DataError, match="4 of text, 4 of swap, 4 of paraphrase, 3 of recording"):
        text_distances(text, text, text, "abc")
