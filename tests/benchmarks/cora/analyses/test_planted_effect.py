"""All analyses of a model whose rank drop is a function of TAL alone.

Clips lie on a circle. A caption's vector is its clip's, lifted out of the circle's plane; a form turns it by some steps
and puts it on the other side of the plane for about half of them, which moves the text far and no score at all.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.analyse import analyse
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import measure
from pytest_audioretrieval.benchmarks.cora.analyses.pools import pools
from pytest_audioretrieval.report.tables.table import Table
from tests.benchmarks.cora.analyses.planted import FORMS, VectorModel, ask, cells

pytestmark = pytest.mark.slow

CLIPS = 61
STEP = 2 * np.pi / CLIPS
LIFT = 0.6
TURNS = {
    (n, form): int(np.random.default_rng([n, p]).integers(1, 9)) for n in range(CLIPS) for p, form in enumerate(FORMS)
}


def vector(text: str) -> list[float]:
    words = text.replace(",", "").split()
    number = int(re.search(r"[0-9]+", text)[0])  # type: ignore[index]
    if words[0] == "sound":
        return [np.cos(number * STEP), np.sin(number * STEP), 0.0]
    # A quarter of a step more, so that no two clips are equally near.
    turn = TURNS.get((number, words[-1]))
    angle = (number + (turn + 0.25 if turn else 0)) * STEP
    side = -1 if turn and np.random.default_rng([number, len(words[-1]), 7]).random() < 0.5 else 1
    flat = (1 - LIFT**2) ** 0.5
    return [flat * np.cos(angle), flat * np.sin(angle), side * LIFT]


GIVEN = [ask("ring", {str(n): [f"clip {n}"] for n in range(CLIPS)})]


@cache
def tables() -> dict[str, Table]:
    """Return the tables by title, without the reference to the paper."""
    return {table.title.split(" (")[0]: table for table in analyse([VectorModel("circle", vector)], GIVEN)}


def test_each_step_costs_two_ranks() -> None:
    pairs = measure([VectorModel("circle", vector)], pools(GIVEN))
    turns = [
        TURNS[int(item.split("::")[1].split("#")[0]), form] for item, form in zip(pairs.item, pairs.form, strict=True)
    ]
    assert set(pairs.source_rank.tolist()) == {1}
    np.testing.assert_array_equal(pairs.rank_drop, 2 * np.array(turns))
    (row,) = tables()["All pairs"].rows
    assert row[4] == pytest.approx(2 * np.mean(turns))


def test_tal_says_it_all_and_movement_nothing() -> None:
    rows = cells(tables()["Correlation with RankDrop"])
    assert rows["TAL"]["Spearman rho"] > 0.99  # equal steps differ by rounding
    assert rows["TAL"]["Pearson r"] > 0.95
    assert abs(rows["move"]["Pearson r"]) < 0.3
    for title in ("Correlation with RankDrop by form", "Correlation with RankDrop without one form"):
        for row in cells(tables()[title]).values():
            assert row["r(TAL,RD)"] > 0.95
            assert abs(row["r(move,RD)"]) < 0.4


def test_the_oracle_of_tal_is_the_best_rank() -> None:
    rows = cells(tables()["Choosing one form of each item"])
    assert rows["smallest TAL (oracle)"]["MeanRD"] == rows["best rank (oracle)"]["MeanRD"]
    assert rows["smallest move"]["MeanRD"] > rows["best rank (oracle)"]["MeanRD"] + 1


def test_tbmd_is_tal_and_a_constant_so_that_nothing_is_left_of_it() -> None:
    """Every form ends a quarter of a step short of a rival, so HNP is the same for all."""
    assert np.ptp(measure([VectorModel("circle", vector)], pools(GIVEN)).hnp) < 1e-6
    assert tables()["What TBMD adds to TAL"].note.startswith("does not apply: the controls determine x")


def test_one_model_and_one_dataset_are_told_and_the_rest_stands() -> None:
    notes = {title: table.note for title, table in tables().items() if table.note}
    assert notes["By model"] == "does not apply: all pairs are of one model, circle: add another model"
    assert notes["By dataset and form"] == "does not apply: all pairs are of one dataset, ring: add another dataset"
    assert notes["Predicting RankDrop from interactions"] == "no effect of: one dataset, ring; one model, circle"
    assert len(tables()) == 18
    assert all("\n" not in note for note in notes.values())


def test_a_canonicalizer_adds_its_tables() -> None:
    found = analyse(
        [VectorModel("circle", vector)], GIVEN, canonicalizers={"cut": lambda text, form: text.split(",")[0]}
    )
    assert len(found) == 21
    (row,) = cells(found[-2]).values()
    assert (row["improved"], row["worsened"], row["unchanged"]) == (CLIPS, 0, 0)
