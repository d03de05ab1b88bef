"""Tests of margins by hand, and of the paper's, whose cells of Table 14 average to Tables 2, 3 and 24."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats import Marginal, marginal, worsened_share

FORMS = ["Statement", "Question", "Key phrase", "Command", "Indirect"]
#: CORA, Table 14: MeanRD on AudioCaps, 963 items a cell.
AUDIOCAPS = {
    "LAION": [32.16, 62.50, 58.76, 47.29, 47.43],
    "M2D": [21.63, 13.53, 0.24, 59.77, 18.79],
    "MGA": [4.28, 19.69, 2.62, 13.13, 115.80],
    "MS-CLAP": [-143.23, -151.06, 32.72, -152.71, -135.51],
}
#: CORA, Table 24: pairs, MeanRD, and worsened pairs in percent.
DATASETS = {
    "AudioCaps": (19_260, -1.61, 43.2),
    "Clotho": (19_880, 27.71, 51.6),
    "MACS": (10_000, 49.69, 50.2),
    "MECAT": (16_960, 71.43, 55.5),
}


@pytest.fixture(scope="module")
def cells():
    values = np.array(list(AUDIOCAPS.values())).ravel()
    return values, np.repeat(list(AUDIOCAPS), 5).tolist(), FORMS * 4


def test_margins_of_table_14_by_form_are_table_2(cells):
    values, _, form = cells
    found = marginal(values, form, counts=[963] * 20)
    printed = {"Command": -8.13, "Indirect": 11.63, "Key phrase": 23.58, "Question": -13.83, "Statement": -21.29}
    assert [key for (key,) in found] == list(printed)
    assert [one.mean for one in found.values()] == pytest.approx(list(printed.values()), abs=0.0101)
    assert {one.n for one in found.values()} == {4 * 963}


def test_margins_of_table_14_by_model_are_table_3(cells):
    values, model, _ = cells
    found = marginal(values, model, counts=[963] * 20)
    assert [one.mean for one in found.values()] == pytest.approx([49.63, 22.79, 31.10, -109.96], abs=0.0101)


def test_grand_mean_of_table_14_is_table_24(cells):
    assert marginal(cells[0], counts=[963] * 20)[()] == Marginal(19_260, pytest.approx(-1.61, abs=0.0051))


def test_the_interaction_is_the_cells_themselves(cells):
    values, model, form = cells
    found = marginal(values, model, form, counts=[963] * 20)
    assert found["MGA", "Indirect"] == Marginal(963, pytest.approx(115.80))
    assert len(found) == 20
    assert list(found) == sorted(found)


def test_datasets_weigh_by_their_pairs():
    """CORA, section 4.3.1, prints MeanRD 33.711 and 49.91 % worsened over 66,100 pairs; a plain mean is 36.8."""
    counts, drops, worsened = zip(*DATASETS.values(), strict=True)
    assert marginal(drops, counts=counts)[()] == Marginal(66_100, pytest.approx(33.711, abs=0.005))
    assert marginal(worsened, counts=counts)[()].mean == pytest.approx(49.91, abs=0.05)


def test_worsened_counts_falls_only():
    found = worsened_share([3, 0, -2, 1, 0, 0], ["a", "a", "a", "a", "b", "b"])
    assert found == {("a",): Marginal(4, 0.5), ("b",): Marginal(2, 0.0)}
    assert worsened_share([3, 0, -2, 1, 0])[()] == Marginal(5, 0.4)


@given(st.lists(st.tuples(st.floats(-100, 100), st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1))
def test_cells_with_their_counts_average_to_the_margins_of_the_pairs(pairs):
    values, first, second = zip(*pairs, strict=True)
    cells = marginal(values, first, second)
    means, counts = [one.mean for one in cells.values()], [one.n for one in cells.values()]
    again = marginal(means, [key[0] for key in cells], counts=counts)
    direct = marginal(values, first)
    assert again.keys() == direct.keys()
    for key, one in direct.items():
        mine = [value for value, label in zip(values, first, strict=True) if (label,) == key]
        assert again[key] == Marginal(len(mine), pytest.approx(one.mean, abs=1e-9))
        assert one.mean == pytest.approx(sum(mine) / len(mine), abs=1e-9)


@pytest.mark.parametrize(
    ("values", "by", "counts", "message"),
    [
        ([1, 2], ["a"], None, "^lengths differ: 2 of values, 2 of counts, 1 of label 0, "),
        ([1, 2], ["a", "b"], [1], "^lengths differ: 2 of values, 1 of counts, 2 of label 0, "),
        (
            [1, 2],
            ["a", "b"],
            [1, 0],
            r"^counts\[1\] is 0, expected a whole number of at least 1: leave out cells without pairs$",
        ),
        ([1, 2], ["a", "b"], [2.5, 1], r"^counts\[0\] is 2.5, "),
        ([1, np.nan], ["a", "b"], None, r"^values\[1\] is nan, "),
        ([1, 2], ["a", 2], None, r"^label 0\[1\] is 2, expected a label"),
    ],
)
def test_what_has_no_margins(values, by, counts, message):
    with pytest.raises(DataError, match=message):
        marginal(values, by, counts=counts)
