from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.stats import control_sets, interaction_sets, projection_sets
from pytest_audioretrieval.stats.features import interaction, rows

FIXED = {"dataset": ["AudioCaps", "Clotho"], "model": ["M2D", "M2D"], "form": ["Command", "Question"]}
ROWS = [dict(zip(FIXED, values, strict=True)) for values in zip(*FIXED.values(), strict=True)]


def test_rows_hold_labels_and_plain_numbers():
    found = rows({"form": np.array(["a", "b"]), "tal": np.array([1, 2], dtype=np.float32)})
    assert found == [{"form": "a", "tal": 1.0}, {"form": "b", "tal": 2.0}]
    assert [type(value) for value in found[0].values()] == [str, float]
    with pytest.raises(DataError, match=r"^lengths differ: 2 of form, 1 of tal, "):
        rows({"form": ["a", "b"], "tal": [1]})


def test_table_5_adds_one_signal_at_a_time():
    found = projection_sets(FIXED, {"shift_norm": [0.1, 0.2], "p_audio": [3, 4]})
    assert found == {
        "fixed effects only": ROWS,
        "+ shift_norm": [ROWS[0] | {"shift_norm": 0.1}, ROWS[1] | {"shift_norm": 0.2}],
        "+ p_audio": [ROWS[0] | {"p_audio": 3.0}, ROWS[1] | {"p_audio": 4.0}],
    }


def test_table_18_has_a_column_for_every_cell_it_names():
    dataset, model, form = (list(values) for values in zip(*product("AB", "xyz", "12345"), strict=True))
    found = interaction_sets(dataset, model, form)
    columns = {name: len({pair for row in features for pair in row.items()}) for name, features in found.items()}
    assert columns == {
        "additive model/dataset/query": 2 + 3 + 5,
        "model-dataset + query": 2 * 3 + 5,
        "pairwise query interactions": 2 * 3 + 3 * 5 + 2 * 5,
        "full model-dataset-query cell": 2 * 3 * 5,
    }


def test_table_21_adds_tbmd_to_tal():
    alone, both = control_sets(FIXED, [1, 2], [3, 4])
    assert alone == [ROWS[0] | {"tal": 1.0}, ROWS[1] | {"tal": 2.0}]
    assert both == [ROWS[0] | {"tal": 1.0, "tbmd": 3.0}, ROWS[1] | {"tal": 2.0, "tbmd": 4.0}]


def test_no_two_combinations_read_alike():
    assert len(set(interaction(["a", "a-b"], ["b-c", "c"]))) == 2
    assert interaction(["a", "b", "a"], ["x", "x", "x"])[0::2] == interaction(["a", "a"], ["x", "x"])


def test_a_signal_is_no_fixed_effect():
    with pytest.raises(SpecError, match=r"^form is a fixed effect and a signal, expected different names"):
        projection_sets(FIXED, {"form": [1, 2]})
    with pytest.raises(SpecError, match=r"^tal is a fixed effect and a signal"):
        control_sets(FIXED | {"tal": ["a", "b"]}, [1, 2], [3, 4])
    with pytest.raises(DataError, match=r"^dataset\[0\] is 1, expected a label"):
        projection_sets({"dataset": [1, 2]}, {})
