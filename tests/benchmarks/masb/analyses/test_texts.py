from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.masb.analyses.analyse import analyse
from tests.benchmarks.masb.analyses.toy_models import Fake, dataset, rewording, rows


def at(degrees: float) -> tuple[float, float]:
    return float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))


def distance(degrees: float) -> float:
    return 1 - float(np.cos(np.radians(degrees)))


GIVEN = [
    rewording(1, "order", cluster="x", recording="x1"),
    rewording(2, "order", cluster="x", recording="x2"),
    rewording(3, "order", cluster="y", recording="y"),
    rewording(4, "timbre", cluster="z", recording="z"),
]
#: Where each caption points, how far its swap and its paraphrase turn from it, in degrees.
TURNS = {1: (0, 10, 30), 2: (60, 20, 20), 3: (90, 60, 40), 4: (180, 5, 0)}
VECTORS: dict[str, Any] = {}
for _number, (_start, _swap, _paraphrase) in TURNS.items():
    VECTORS[f"text {_number}"] = at(_start)
    VECTORS[f"swap {_number}"] = at(_start + _swap)
    VECTORS[f"paraphrase {_number}"] = at(_start - _paraphrase)
# To the bit as far as the swap is: the same vector.
VECTORS["paraphrase 2"] = VECTORS["swap 2"]


def text_table(*models: Fake, rewordings: Any = GIVEN) -> Any:
    return analyse(models, dataset(rewordings=rewordings))[3]  # type: ignore[arg-type]


FOUND = rows(text_table(Fake("m", vectors=VECTORS)))


def test_medians_by_hand() -> None:
    order = FOUND["m", "order"]
    assert order["to swap"] == pytest.approx(distance(20), abs=1e-6)
    assert order["to paraphrase"] == pytest.approx(distance(30), abs=1e-6)
    assert order["swap / paraphrase"] == pytest.approx(distance(20) / distance(30), rel=1e-5)
    # Of each caption the median to the three others, of all slices: turned by 90, 60 and 90 degrees.
    assert order["to others"] == pytest.approx(distance(90), abs=1e-6)


def test_how_many_move_farther_under_the_swap() -> None:
    assert list(FOUND) == [("m", "order"), ("m", "timbre"), ("m", "all")]
    order = FOUND["m", "order"]
    assert (order["n"], order["ties"], order["farther under swap"], order["clusters"]) == (3, 1, 0.5, 2)
    assert (order["p"], order["clustered p"]) == (1, 1)
    assert [FOUND["m", "all"][name] for name in ("n", "ties", "farther under swap", "clusters")] == [4, 1, 0.625, 3]


def test_a_paraphrase_that_never_moves_has_no_ratio() -> None:
    timbre = FOUND["m", "timbre"]
    assert (timbre["to swap"], timbre["to paraphrase"]) == (pytest.approx(distance(5), abs=1e-6), 0)
    assert (timbre["swap / paraphrase"], timbre["farther under swap"]) == (None, 1)


def test_pair_scorers_are_left_out_and_named() -> None:
    scorer = Fake("scorer", prefers={})
    found = text_table(Fake("m", vectors=VECTORS), scorer)
    assert {key[0] for key in rows(found)} == {"m"}
    assert found.note.endswith("left out, as pair scorers have no text vectors: scorer")
    assert text_table(scorer).note == "does not apply: left out, as pair scorers have no text vectors: scorer"


def test_where_there_is_nothing_to_compare() -> None:
    model = Fake("m", vectors=VECTORS)
    note = "does not apply: the dataset has no captions with an attribute swap and a paraphrase: name one that has"
    assert (text_table(model, rewordings=[]).note, model.calls) == (note, [])
    assert text_table(model, rewordings=GIVEN[:1]).note.startswith("does not apply: all texts are of one recording")


def test_recordings_of_one_cluster_are_others_to_each_other() -> None:
    """Clusters are resampled, but a caption is compared with those of other recordings."""
    found = rows(text_table(Fake("m", vectors=VECTORS), rewordings=GIVEN[:2]))["m", "all"]
    assert found["to others"] == pytest.approx(distance(60), abs=1e-6)
    assert found["clusters"] == 1
