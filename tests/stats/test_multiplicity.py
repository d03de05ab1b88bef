from __future__ import annotations

import numpy as np
import pytest

from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.stats import holm


def test_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1 is 0.04, 0.06, 0.06, 0.04; a step never lies below the one before.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_false_findings_stay_below_the_level_and_bonferroni_is_never_better():
    rng = np.random.default_rng(0)
    p = rng.random((4_000, 5))
    adjusted = np.array([holm(row) for row in p.tolist()])
    assert (adjusted.min(axis=1) <= 0.05).mean() == pytest.approx(0.05, abs=0.012)
    assert (adjusted <= np.minimum(1, 5 * p) + 1e-15).all()
    assert (adjusted >= p).all()


@pytest.mark.parametrize("wrong", [float("nan"), 1.5, -0.1, "0.1", None])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(DataError, match=r"p_values\[1\] is .*, expected a number from 0 to 1"):
        holm([0.1, wrong])
