"""Tests of the checks of numbers and labels, with one line for everything that is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats.checks import labels, labels_or_numbers, numbers, same_length


@pytest.mark.parametrize(
    ("values", "shape", "message"),
    [
        ([1.0, np.nan], "[P]", r"^y\[1\] is nan, expected finite numbers: leave it out and count it$"),
        ([[1.0, 2.0], [np.inf, 0.0]], "[I, F]", r"^y\[1, 0\] is inf, "),
        (
            [[1.0]],
            "[P]",
            r"^y has shape \(1, 1\), expected \[P\], none of them 0: pass at least one value and as many axes$",
        ),
        ([1.0], "[I, F]", r"^y has shape \(1,\), expected \[I, F\]"),
        ([], "[P]", r"^y has shape \(0,\), "),
        (1.0, "[P]", r"^y has shape \(\), "),
        (["a"], "[P]", r"^y holds no numbers, expected an array of shape \[P\]: pass numbers alone$"),
        ([1, None], "[P]", "^y holds no numbers"),
        ([1, [2]], "[P]", "^y holds no numbers"),
        ([1j], "[P]", "^y holds no numbers"),
    ],
)
def test_what_is_no_column_of_numbers(values, shape, message):
    with pytest.raises(DataError, match=message):
        numbers("y", values, shape)


@pytest.mark.parametrize("values", [[0, 1], np.array([0, 1], dtype=np.float32), [False, True], np.array([0, 1], "u1")])
def test_any_real_numbers_become_float64(values):
    found = numbers("y", values)
    assert found.dtype == np.float64
    assert found.tolist() == [0.0, 1.0]


def test_labels_are_text():
    assert labels("form", np.array(["b", "a"])) == ["b", "a"]
    assert labels("form", (name for name in "ba")) == ["b", "a"]
    with pytest.raises(DataError, match=r"^form\[1\] is 3, expected a label, which is text: pass str of it$"):
        labels("form", ["a", 3])


def test_a_column_is_labels_or_numbers():
    assert labels_or_numbers("form", ["a", "b"]) == ["a", "b"]
    assert labels_or_numbers("form", np.array(["a", "b"])) == ["a", "b"]
    assert labels_or_numbers("tal", [1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match=r"^form\[1\] is 1\.5, expected a label"):
        labels_or_numbers("form", ["a", 1.5])
    with pytest.raises(DataError, match=r"^form has shape \(0,\)"):
        labels_or_numbers("form", [])


def test_columns_of_one_length():
    assert same_length({"x": [1, 2], "y": "ab"}) == 2
    with pytest.raises(
        DataError, match=r"^lengths differ: 2 of x, 1 of y, expected as many of each: align them in the same order$"
    ):
        same_length({"x": [1, 2], "y": [1]})
