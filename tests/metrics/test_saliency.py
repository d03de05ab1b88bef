"""Tests of signed masses, rank groups and the sample of CORA, Appendix I, by hand and by property."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.saliency import by_rank_group, normalised, rank_groups, sample, signed_masses

NAMES = ("content", "intent", "form", "special")
values = hnp.arrays(np.float64, st.integers(0, 9), elements=st.floats(-1e3, 1e3))


def test_masses_by_hand() -> None:
    """The queries are 'find a dog .' with 2, -1, 4, -1 and 'rain' with -3, so shares are of 8 and of 3."""
    found = signed_masses([[2, -1, 4, -1], [-3.0]], [["intent", "form", "content", "form"], ["content"]], NAMES[:3])
    expected = {
        "content+": [0.5, 0],
        "content-": [0, 1],
        "intent+": [0.25, 0],
        "intent-": [0, 0],
        "form+": [0, 0],
        "form-": [0.25, 0],
    }
    assert list(found) == list(expected)
    for name, column in expected.items():
        np.testing.assert_allclose(found[name], column, atol=1e-12)


@given(values, st.floats(1e-2, 1e2), st.data())
def test_shares_do_not_depend_on_the_gradients_scale_and_add_up(saliency, scale, data) -> None:
    labels = data.draw(st.lists(st.sampled_from(NAMES), min_size=len(saliency), max_size=len(saliency)))
    one, two = (signed_masses([v], [labels], NAMES) for v in (saliency, saliency * scale))
    total = sum(float(v[0]) for v in one.values())
    assert total == pytest.approx(1, abs=1e-6) or np.abs(saliency).sum() < 1e-5
    assert all(v[0] >= 0 for v in one.values())
    if np.abs(saliency).sum() > 1e-3:
        for name in one:
            assert one[name] == pytest.approx(two[name], abs=1e-6)
        signed = sum(one[f"{name}+"][0] - one[f"{name}-"][0] for name in NAMES)
        assert signed == pytest.approx(saliency.sum() / np.abs(saliency).sum(), abs=1e-6)


def test_a_query_without_saliency_has_no_mass() -> None:
    assert normalised([0.0, 0.0]).tolist() == [0, 0]
    np.testing.assert_allclose(normalised([1.0, -1.0], epsilon=2.0), [0.25, -0.25])


def test_equal_ranks_are_stable() -> None:
    assert rank_groups([3, 3, 3], [2, 3, 4]) == ["improved/stable", "improved/stable", "worsened"]


def test_means_by_rank_group_by_hand() -> None:
    found = by_rank_group([1, 5, 2, 2], [4, 2, 3, 2], [-0.2, 0.1, -0.4, 0.3], {"form-": np.array([0.1, 0.2, 0.3, 0.6])})
    worse, rest = found["worsened"], found["improved/stable"]
    assert (worse.pairs, worse.mean_rd, rest.pairs, rest.mean_rd) == (2, 2.0, 2, -1.5)
    assert worse.mean_margin == pytest.approx(-0.3)
    assert rest.mean_margin == pytest.approx(0.2)
    assert worse.masses == {"form-": pytest.approx(0.2)}
    assert rest.masses == {"form-": pytest.approx(0.4)}
    assert list(by_rank_group([1], [1], [0.0], {})) == ["improved/stable"]


def test_sample_takes_up_to_so_many_of_each_stratum() -> None:
    strata = ["b"] * 30 + ["a"] * 4 + ["c"] * 10
    drawn = sample(strata, 10, seed=7)
    assert [strata[i] for i in drawn].count("b") == 10
    assert drawn[10:].tolist() == list(range(30, 44))
    assert (np.diff(drawn) > 0).all()
    assert drawn.tolist() == sample(strata, 10, seed=7).tolist()
    assert drawn.tolist() != sample(strata, 10, seed=8).tolist()
    assert sample([], 10, seed=7).tolist() == []


def test_sample_is_fair() -> None:
    counts = np.bincount(np.concatenate([sample(["a"] * 5, 2, seed) for seed in range(500)]), minlength=5)
    assert counts.sum() == 1000
    assert (np.abs(counts - 200) < 60).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: normalised([np.nan]), "saliency has values that are not finite, expected"),
        (lambda: normalised([[1.0]]), r"saliency has shape \(1, 1\), expected"),
        (
            lambda: signed_masses([[1.0]], [], NAMES),
            "saliency is of 1 queries and groups of 0, expected the same number",
        ),
        (
            lambda: signed_masses([[1.0]], [[]], NAMES),
            "query 0 has 1 tokens and 0 groups, expected one group for each token",
        ),
        (lambda: signed_masses([[1.0]], [["verb"]], NAMES), "query 0 has the group 'verb', expected one of content"),
        (
            lambda: rank_groups([1], [1, 2]),
            r"source ranks have shape \(1,\) and ranks \(2,\), expected one of each for each pair",
        ),
        (lambda: by_rank_group([1], [1], [0, 1], {}), "margin has 2 entries, expected one for each of 1 pairs"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_a_sample_of_none_is_refused() -> None:
    with pytest.raises(SpecError, match="size is 0, expected at least 1"):
        sample(["a"], 0, seed=1)
