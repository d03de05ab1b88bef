from __future__ import annotations

import pytest

from pytest_audioretrieval.benchmarks.masb.analyses.answers import answer_choices
from pytest_audioretrieval.benchmarks.masb.analyses.chance import Family
from pytest_audioretrieval.benchmarks.masb.analyses.swaps import swap_table
from tests.benchmarks.masb.analyses.toy_models import Fake, answers, dataset, mirror, rows, swap

ALONE = [f"c{number}" for number in range(12)]
TWOS = [f"t{number // 2}" for number in range(8)]
#: 12 of 12 and 8 of 8 right; 1 of 12, none of 8; the last slice of both ties.
GIVEN = [
    answers("A", order=([1.0] * 12, ALONE), timbre=([1.0] * 8, TWOS), role=([0.5, 0.5], ["x", "y"])),
    answers("B", order=([1.0] + [0.0] * 11, ALONE), timbre=([0.0] * 8, TWOS), role=([0.5, 1.0], ["x", "y"])),
]
FOUND = rows(swap_table(GIVEN, Family(GIVEN)))
Z2 = 1.959963984540054**2


def test_rows_are_models_by_slice_and_all_slices() -> None:
    assert list(FOUND) == [(model, part) for model in "AB" for part in ("order", "timbre", "role", "all")]
    assert [FOUND["A", part]["n"] for part in ("order", "timbre", "role", "all")] == [12, 8, 2, 22]
    assert [FOUND["B", part]["ties"] for part in ("order", "timbre", "role", "all")] == [0, 0, 1, 1]
    assert [FOUND["A", part]["clusters"] for part in ("order", "timbre", "role", "all")] == [12, 4, 2, 18]


def test_accuracies_by_hand() -> None:
    assert FOUND["A", "all"]["accuracy"] == 21 / 22
    assert FOUND["B", "role"]["accuracy"] == FOUND["B", "role"]["clustered"] == 0.75
    order = FOUND["A", "order"]
    assert (order["accuracy low"], order["accuracy high"]) == (pytest.approx(12 / (12 + Z2)), pytest.approx(1))
    assert FOUND["B", "all"]["accuracy"] == 2.5 / 22


def test_p_values_by_hand() -> None:
    exact = {key: row["p"] for key, row in FOUND.items()}
    assert exact["A", "order"] == pytest.approx(2 / 2**12)
    assert exact["B", "order"] == pytest.approx(2 * (1 + 12) / 2**12)
    assert exact["A", "timbre"] == exact["B", "timbre"] == pytest.approx(2 / 2**8)
    assert exact["A", "role"] == exact["B", "role"] == 1
    clustered = {key: row["clustered p"] for key, row in FOUND.items()}
    assert clustered["A", "order"] == pytest.approx(2 / 2**12)
    assert clustered["A", "timbre"] == pytest.approx(2 / 2**4)


def test_holm_is_over_all_rows_but_those_of_all_slices() -> None:
    exact, clustered = ({key: row[name] for key, row in FOUND.items()} for name in ("Holm p", "clustered Holm p"))
    assert exact["A", "order"] == pytest.approx(6 * 2 / 2**12)
    assert exact["B", "order"] == pytest.approx(5 * 26 / 2**12)
    assert exact["A", "timbre"] == exact["B", "timbre"] == pytest.approx(max(4 * 2 / 2**8, 5 * 26 / 2**12))
    assert exact["B", "role"] == 1
    assert clustered["A", "order"] == pytest.approx(6 * 2 / 2**12)
    assert clustered["B", "order"] == pytest.approx(5 * 26 / 2**12)
    assert clustered["A", "timbre"] == clustered["B", "timbre"] == pytest.approx(4 * 2 / 2**4)
    assert [exact[model, "all"] for model in "AB"] == [clustered[model, "all"] for model in "AB"] == [None, None]


def test_the_verdict_is_that_of_the_clustered_family() -> None:
    assert {key: row["chance"] for key, row in FOUND.items()} == {
        ("A", "order"): "above",
        ("A", "timbre"): "at",
        ("A", "role"): "at",
        ("A", "all"): None,
        ("B", "order"): "below",
        ("B", "timbre"): "at",
        ("B", "role"): "at",
        ("B", "all"): None,
    }


def test_answers_come_from_the_scores_of_both_pairs() -> None:
    given = dataset([swap(1, "order"), swap(2, "role", "both"), *mirror(3), swap(4, "order", "both")])
    scores = {("right 1", "clip 1"): 0.3, ("wrong 1", "clip 1"): 0.2, ("right 2", "clip 2"): 0.1}
    model = Fake("m", lambda text, clip: scores.get((text, clip), 0.2))
    found = answer_choices(model, given)  # type: ignore[arg-type]
    assert model.calls == ["pair_scores"]
    assert found.model == "m"
    assert found.correct.tolist() == [1, 0, 0.5, 0.5, 0.5]
    assert found.slice.tolist() == ["order", "role", "mirror-order", "mirror-order", "order"]
    assert found.cluster.tolist() == ["clip 1", "both", "track 3", "track 3", "both"]


def test_a_dataset_without_choices() -> None:
    model = Fake("m")
    nothing = answer_choices(model, dataset())  # type: ignore[arg-type]
    assert (len(nothing), model.calls) == (0, [])
    assert (
        swap_table([nothing], Family([nothing])).note
        == "does not apply: the dataset has no choices outside of mirror pairs: name one that has"
    )
