from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.masb.analyses.analyse import analyse
from pytest_audioretrieval.benchmarks.masb.analyses.prior import WithPrior, prior_tables, text_only_answers
from pytest_audioretrieval.data.types import Choice, Option
from tests.benchmarks.masb.analyses.toy_models import Fake, answers, dataset, mirror, rows, swap

CHOICES = [*(swap(n, "order") for n in (1, 2, 3, 4)), swap(5, "role"), swap(6, "role")]
#: P(right chosen), shown first and shown second: on average .8, .6, .2, .5 of slice order, .9 and .7 of role.
PREFERS = {
    "right 1": (0.9, 0.7),
    "right 2": (0.8, 0.4),
    "right 3": (0.3, 0.1),
    "right 4": (0.5, 0.5),
    "right 5": (1.0, 0.8),
    "right 6": (0.625, 0.775),
}
READER = Fake("reader", prefers=PREFERS)
CLUSTERS = (["a", "b", "c", "d"], ["e", "f"])
HEARD = answers("m", order=([1.0, 0.0, 0.0, 1.0], CLUSTERS[0]), role=([1.0, 1.0], CLUSTERS[1]))


@pytest.fixture(scope="module")
def tables() -> tuple[dict[Any, Any], dict[Any, Any]]:
    prior = text_only_answers(READER, CHOICES)  # type: ignore[arg-type]
    unheard, both = prior_tables([WithPrior(HEARD, prior), WithPrior(prior.answers, prior)])
    return rows(unheard), rows(both)


def test_the_prior_by_itself(tables: tuple[dict[Any, Any], dict[Any, Any]]) -> None:
    unheard = tables[0]
    assert list(unheard) == [("reader", "order"), ("reader", "role"), ("reader", "all")]
    order, role, both = unheard.values()
    assert [(row["n"], row["ties"], row["accuracy"]) for row in unheard.values()] == [
        (4, 1, 0.625),
        (2, 0, 1.0),
        (6, 1, 0.75),
    ]
    assert order["position bias"] == pytest.approx((0.2 + 0.4 + 0.2 + 0) / 4)
    assert role["position bias"] == pytest.approx((0.2 - 0.15) / 2)
    assert both["position bias"] == pytest.approx(0.85 / 6)
    assert (order["p"], role["p"]) == (1, 0.5)
    assert role["Holm p"] == 1


def test_with_audio_and_without(tables: tuple[dict[Any, Any], dict[Any, Any]]) -> None:
    order = tables[1]["m", "reader", "order"]
    assert (order["n"], order["clusters"], order["accuracy"]) == (4, 4, 0.5)
    assert (order["prior right"], order["n right"], order["prior wrong"], order["n wrong"]) == (0.5, 2, 0.0, 1)
    assert (order["prior ties"], order["prior-balanced"]) == (1, 0.25)
    # Alike .625, expected .5 x .625 + .5 x .375.
    assert order["kappa"] == pytest.approx((0.625 - 0.5) / 0.5)
    assert -1 <= order["kappa low"] < order["kappa"] < order["kappa high"] <= 1


def test_halves_that_are_empty_and_choices_that_never_differ(tables: tuple[dict[Any, Any], dict[Any, Any]]) -> None:
    role = tables[1]["m", "reader", "role"]
    assert (role["prior right"], role["prior wrong"], role["n wrong"], role["prior-balanced"]) == (1, None, 0, None)
    assert (role["kappa"], role["kappa low"], role["kappa high"]) == (None, None, None)
    assert tables[1]["reader", "reader", "all"]["prior wrong"] == 0


def test_why_there_is_no_kappa() -> None:
    prior = text_only_answers(READER, CHOICES)  # type: ignore[arg-type]
    note = prior_tables([WithPrior(HEARD, prior)])[1].note
    assert "no kappa in 1 places, the first is m, role: both always make the same choice" in note
    one = answers("m", order=([1.0] * 4, ["a"] * 4), role=([1.0] * 2, ["a"] * 2))
    note = prior_tables([WithPrior(one, prior)])[1].note
    assert "no kappa in 3 places, the first is m, order: all pairs are of one cluster" in note


def analysed(*models: Fake, prior: Fake | None = None, choices: list[Choice] | None = None) -> list[Any]:
    found = analyse(models, dataset(CHOICES if choices is None else choices), prior)  # type: ignore[arg-type]
    assert [table.title.partition(":")[0][-1] for table in found] == ["1", "2", "2", "3", "4", "4"]
    return found[1:3]


def test_whose_prior_models_are_held_against() -> None:
    plain, scorer, other = Fake("plain"), Fake("scorer", prefers=PREFERS), Fake("other", prefers=PREFERS)
    unheard, both = analysed(plain, scorer, other)
    assert {key[0] for key in rows(unheard)} == {"scorer", "other"}
    assert {key[:2] for key in rows(both)} == {("scorer", "scorer"), ("other", "other")}
    assert unheard.note.endswith("no text prior for plain: pass --prior MODEL, a pair scorer")
    unheard, both = analysed(plain, scorer, prior=READER)
    assert {key[0] for key in rows(unheard)} == {"reader"}
    assert {key[:2] for key in rows(both)} == {("plain", "reader"), ("scorer", "reader")}
    assert "no text prior" not in unheard.note
    assert scorer.calls.count("text_preference") == 1


def test_no_prior_at_all() -> None:
    for table in analysed(Fake("plain")):
        assert table.note == "does not apply: no text prior for plain: pass --prior MODEL, a pair scorer"


def test_choices_that_have_no_prior() -> None:
    """They are mirror pairs, and two clips for one text."""
    clips = Choice("two clips", Option("text", "a"), Option("text", "b"), "c", "order")
    for table in analysed(READER, choices=[*mirror(1), clips]):
        assert table.note == "does not apply: the dataset has no choices between two texts outside of mirror pairs"
    unheard, both = analysed(READER, choices=[CHOICES[0], clips, *mirror(1), CHOICES[1]])
    assert rows(unheard)["reader", "all"]["n"] == rows(both)["reader", "reader", "all"]["n"] == 2


def test_the_right_text_is_asked_for_in_both_orders() -> None:
    prior = text_only_answers(READER, CHOICES[:2])  # type: ignore[arg-type]
    assert prior.right_first.tolist() == [0.9, 0.8]
    assert np.allclose(prior.wrong_first, [0.3, 0.6])
    assert prior.answers.correct.tolist() == [1, 1]
