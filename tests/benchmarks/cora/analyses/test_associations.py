from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from pytest_audioretrieval.benchmarks.cora.analyses.associations import association_tables, hard_negative_table
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Pairs
from tests.benchmarks.cora.analyses.planted import FORMS, cells, make_pairs, random_pairs

PAIRS = random_pairs()
OVERALL, BY_DATASET, BY_MODEL, BY_FORM, WITHOUT = association_tables(PAIRS)
SIGNALS = {"move": "move", "TAL": "tal", "TBMD": "tbmd"}


def r(pairs: Pairs, mask: np.ndarray, signal: str) -> float:
    return float(np.corrcoef(getattr(pairs, signal)[mask], pairs.rank_drop[mask])[0, 1])


def test_overall_by_both_coefficients() -> None:
    rows = cells(OVERALL)
    assert list(rows) == ["move", "TAL", "HNP", "TBMD"]
    for name, signal in (*SIGNALS.items(), ("HNP", "hnp")):
        assert rows[name]["N"] == len(PAIRS)
        assert rows[name]["Pearson r"] == pytest.approx(r(PAIRS, np.full(len(PAIRS), True), signal))
        rho = spearmanr(getattr(PAIRS, signal), PAIRS.rank_drop).statistic
        assert rows[name]["Spearman rho"] == pytest.approx(rho)
        for coefficient in ("Pearson r", "Spearman rho"):
            low, high = rows[name][f"{coefficient} low"], rows[name][f"{coefficient} high"]
            assert low < rows[name][coefficient] < high
            assert high - low < 0.25


@pytest.mark.parametrize(
    ("table", "label"),
    [(BY_DATASET, "dataset"), (BY_MODEL, "model"), (BY_FORM, "form")],
    ids=["dataset", "model", "form"],
)
def test_by_label(table, label: str) -> None:
    rows = cells(table)
    assert list(rows) == PAIRS.levels(label)
    for name, row in rows.items():
        mask = getattr(PAIRS, label) == name
        assert row["N"] == mask.sum()
        for heading, signal in SIGNALS.items():
            assert row[f"r({heading},RD)"] == pytest.approx(r(PAIRS, mask, signal))


def test_without_one_form() -> None:
    rows = cells(WITHOUT)
    assert list(rows) == sorted(FORMS)
    for form, row in rows.items():
        assert row["N"] == len(PAIRS) * 4 // 5
        assert row["r(TAL,RD)"] == pytest.approx(r(PAIRS, PAIRS.form != form, "tal"))


def test_all_pairs_of_a_clip_are_resampled_together() -> None:
    """Ten copies of each pair are no more evidence, so the interval stays as it is."""
    once = make_pairs(tal=np.arange(40.0), rank_drop=np.arange(40) ** 2 % 17, clip=[str(i) for i in range(40)])
    copied = once.where(np.repeat(np.arange(40), 10))
    narrow, wide = (cells(association_tables(pairs)[0])["TAL"] for pairs in (once, copied))
    for end in ("Pearson r", "Pearson r low", "Pearson r high"):
        assert narrow[end] == pytest.approx(wide[end])


def test_a_constant_leaves_its_cells_empty_and_the_rest_stands() -> None:
    calm = np.where(PAIRS.form == "statement", 0, PAIRS.rank_drop)
    pairs = make_pairs(
        rank_drop=calm, tal=PAIRS.tal, move=PAIRS.move, tbmd=PAIRS.tbmd, form=PAIRS.form, clip=PAIRS.clip
    )
    table = association_tables(pairs)[3]
    rows = cells(table)
    assert rows["statement"]["r(TAL,RD)"] is rows["statement"]["r(TAL,RD) low"] is None
    assert rows["command"]["r(TAL,RD)"] > 0.5
    assert table.note.startswith(
        "no correlation in 3 places, the first is move (x) with RankDrop (y) of statement: y has one value in all 120"
    )
    assert "\n" not in table.note


def test_one_label_does_not_apply() -> None:
    tables = association_tables(PAIRS.where((PAIRS.model == "A") & (PAIRS.form == "command")))
    assert [table.note for table in tables] == [
        "",
        "",
        "does not apply: all pairs are of one model, A: add another model",
        "does not apply: all pairs are of one form, command: add another form",
        "does not apply: all pairs are of one form, command: add another form",
    ]


def test_the_three_hard_negatives() -> None:
    values = [row[2] for row in hard_negative_table(PAIRS).rows]
    everything = np.full(len(PAIRS), True)
    expected = [r(PAIRS, everything, name) for name in ("tbmd_reformulated_hn", "tbmd_source_hn", "tbmd")]
    np.testing.assert_allclose(values, expected)
