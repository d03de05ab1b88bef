"""Consistency of CORA's tables: Tables 14 to 17 give Tables 2, 3, 13 and 24, and the counts of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_audioretrieval.errors import BaselineError
from pytest_audioretrieval.runs.published import Publication, read
from tests.benchmarks.cora.cora_paper import (
    CELLS,
    COUNTS,
    FORMS,
    FULL_TABLES,
    ITEMS,
    MODELS,
    PAPER,
    RANKS,
    RECALL,
    STATED,
    TABLES,
    half,
    hit_count,
    marginal,
    near,
    records,
    row,
    value,
)

# --- the file


def test_every_table_is_there_with_all_its_rows() -> None:
    rows = {1: 5, 2: 20, 3: 16, 4: 5, 5: 4, 6: 3, 13: 9, 14: 20, 15: 20, 16: 20, 17: 20}
    rows |= {18: 4, 19: 3, 20: 3, 21: 4, 22: 8, 23: 5, 24: 4, 25: 4, 26: 3}
    assert {number: len(table.rows) for number, table in TABLES.items()} == rows
    assert len(PAPER.tables) == len(TABLES)
    assert len(PAPER.stated) == len(STATED)
    assert {(cell["dataset"], cell["model"], cell["form"]) for cell in CELLS} == {
        (dataset, model, form)
        for dataset in ITEMS
        for model in ("LAION", "M2D", "MGA", "MS-CLAP")
        for form in ("Statement", "Question", "Key phrase", "Command", "Indirect")
    }


def test_candidate_sets_are_what_the_text_says() -> None:
    found: dict[str, set[int]] = {}
    for number, table in TABLES.items():
        found.setdefault(table.candidates, set()).add(number)
    assert found == {
        "not applicable": {1},
        "pooled": {2, 3, 20, 23, 24},
        "per-dataset": {4, 26},
        "both": {21},
        "not stated": {5, 6, 13, 14, 15, 16, 17, 18, 19, 22, 25},
    }


@pytest.mark.parametrize("cells", [["Clotho"], ["Clotho", 1.0, 2.0], [1.0, "Clotho"]])
def test_a_row_that_does_not_fit_is_refused(tmp_path: Path, cells: list[Any]) -> None:
    table = {"number": 9, "caption": "", "candidates": "pooled", "rows": [cells]}
    table["columns"] = [{"name": "dataset"}, {"name": "MeanRD", "unit": "ranks", "decimals": 2}]
    path = tmp_path / "mine.json"
    path.write_bytes(msgspec.json.encode({"source": "", "protocol": "", "figures": [], "tables": [table]}))
    with pytest.raises(BaselineError, match=r"table 9: row .* does not fit its columns"):
        read(path)


def test_it_holds_no_figure_a_run_could_be_held_against() -> None:
    """The paper names neither commits nor protocol, so no run of ours is the same measurement."""
    assert (PAPER.figures, PAPER.differences, PAPER.protocol) == ([], [], "not stated")
    assert msgspec.json.decode(msgspec.json.encode(PAPER), type=Publication) == PAPER


# --- Tables 14 to 17 give back the others


@pytest.mark.parametrize(
    ("number", "levels"), [(2, ("dataset", "form")), (3, ("dataset", "model")), (24, ("dataset",))], ids=str
)
def test_mean_rank_drop_of_a_marginal_table(number: int, levels: tuple[str, ...]) -> None:
    found = marginal("MeanRD", *levels)
    printed = {tuple(record[level] for level in levels): record["MeanRD"] for record in records(number)}
    assert found.keys() == printed.keys()
    wrong = {key: (found[key], printed[key]) for key in found if not near(found[key], printed[key], 2 * RANKS)}
    assert wrong == {}


def test_mean_rank_drop_over_all_pairs() -> None:
    (found,) = marginal("MeanRD").values()
    assert near(found, value("MeanRD, pooled"), RANKS + 0.0005)
    assert found == pytest.approx(33.7119, abs=1e-4)


@pytest.mark.parametrize("weighted", [True, False])
def test_order_of_forms_in_figure_1(weighted: bool) -> None:
    """The figure prints no numbers. Its extremes hold with and without items as weights."""
    means = marginal("MeanRD", "form", weighted=weighted)
    order = [form for (form,) in sorted(means, key=lambda key: means[key])]
    middle = ["Question", "Key phrase", "Command"] if weighted else ["Key phrase", "Question", "Command"]
    assert order == ["Statement", *middle, "Indirect"]


@pytest.mark.parametrize("column", ["source R@5", "CORA R@5", "delta R@5", "MeanRD"])
def test_table_13_by_model(column: str) -> None:
    slack = half(14, column) + half(13, column)
    means = marginal(column, "model")
    assert [model for (model,), mean in means.items() if not near(mean, row(13, model)[column], slack)] == []


def test_table_13_needs_the_retained_items_as_weights() -> None:
    """A plain mean of LAION's 20 cells is 121.01, not 104.71."""
    assert marginal("MeanRD", "model")["LAION",] == pytest.approx(104.714, abs=1e-3)
    assert marginal("MeanRD", "model", weighted=False)["LAION",] == pytest.approx(121.0075)


def test_recall_of_table_13_to_the_last_digit() -> None:
    """Hits are whole numbers: each printed cell has one, and their sums give Table 13 without rounding slack."""
    for model in ("LAION", "MS-CLAP", "M2D", "MGA"):
        cells = [cell for cell in CELLS if cell["model"] == model]
        pairs = sum(ITEMS[cell["dataset"]] for cell in cells)
        source, cora = (
            100 * sum(hit_count(cell, f"{name} R@5") for cell in cells) / pairs for name in ("source", "CORA")
        )
        printed = row(13, model)
        assert (round(source, 2), round(cora, 2)) == (printed["source R@5"], printed["CORA R@5"])
        assert round(cora - source, 2) == printed["delta R@5"]


def test_a_source_caption_has_one_recall_for_all_forms() -> None:
    recalls = {(cell["dataset"], cell["model"], cell["source R@5"]) for cell in CELLS}
    assert len(recalls) == len(ITEMS) * MODELS


# --- the change of R@5


#: Printed CORA minus printed source is not the printed delta, because each of the three was rounded by itself.
ROUNDED = {
    ("AudioCaps", "M2D", "Indirect"): (53.8, 68.7, -15.0),
    ("AudioCaps", "MGA", "Statement"): (61.7, 63.2, -1.6),
    ("AudioCaps", "MGA", "Question"): (55.6, 63.2, -7.7),
    ("AudioCaps", "MGA", "Key phrase"): (61.7, 63.2, -1.6),
    ("AudioCaps", "MS-CLAP", "Question"): (39.0, 10.1, 29.0),
    ("AudioCaps", "MS-CLAP", "Key phrase"): (9.0, 10.1, -1.0),
    ("AudioCaps", "MS-CLAP", "Command"): (39.0, 10.1, 29.0),
    ("Clotho", "LAION", "Indirect"): (23.3, 29.9, -6.5),
    ("Clotho", "M2D", "Indirect"): (27.8, 37.9, -10.2),
    ("MECAT", "LAION", "Indirect"): (9.4, 9.7, -0.2),
    ("MECAT", "MS-CLAP", "Command"): (3.2, 8.1, -5.0),
    ("M2D",): (29.57, 34.89, -5.31),
    ("MultiCLAP-ScoreAvg-MinMax",): (35.5, 38.28, -2.77),
}


def test_delta_recall_is_cora_minus_source_within_rounding() -> None:
    off, wrong = {}, []
    for number in (*FULL_TABLES, 13):
        for record in records(number):
            key = tuple(record[name] for name in ("dataset", "model", "form", "retriever") if name in record)
            shown = (record["CORA R@5"], record["source R@5"], record["delta R@5"])
            if not near(shown[0] - shown[1], shown[2], 0):
                off[key] = shown
            if not near(shown[0] - shown[1], shown[2], 3 * half(number, "delta R@5")):
                wrong.append(key)
    assert off == ROUNDED
    assert wrong == []


def test_delta_recall_is_exact_in_whole_hits() -> None:
    """This holds for all 80 cells, also for those of ``ROUNDED``."""
    for cell in CELLS:
        gained = hit_count(cell, "CORA R@5") - hit_count(cell, "source R@5")
        assert near(100 * gained / ITEMS[cell["dataset"]], cell["delta R@5"], RECALL)


# --- what else holds


def test_counts_of_table_1() -> None:
    total = row(1, "Total")
    for column in ("source captions", "validation", "test", "excluded", "retained", "evaluations"):
        assert sum(record[column] for record in COUNTS) == total[column]
    for record in records(1):
        assert record["validation"] + record["test"] == record["source captions"]
        assert record["test"] - record["excluded"] == record["retained"]
        assert record["retained"] * FORMS * MODELS == record["evaluations"]
    assert (total["source captions"], total["test"], total["excluded"], total["retained"]) == (5567, 3367, 62, 3305)
    assert value("pairs") == total["evaluations"] == 66_100
    assert [record["N"] for record in records(24)] == [record["evaluations"] for record in COUNTS]


def test_rows_printed_twice_are_the_same() -> None:
    for label in ("M2D", "MGA", "MultiCLAP-ScoreAvg-Z", "MultiCLAP-ScoreAvg-MinMax"):
        assert row(25, label).items() <= row(13, label).items()
    for label in ("OEA-Qwen3B-Cl", "OEA-Qwen3B-AC", "RobustCLAP"):
        assert (row(6, label)["CORA R@5"], row(6, label)["MeanRD"]) == (
            row(13, label)["CORA R@5"],
            row(13, label)["MeanRD"],
        )
    assert row(4, "Average over views")["MeanRD"] == value("MeanRD, per-dataset") == 3.881


def test_correlations_of_the_abstract() -> None:
    for name in ("r(move, RD)", "r(TAL, RD)", "r(TBMD, RD)"):
        assert value(f"abstract: {name}") == value(name)
        assert value(f"leave-one-form-out {name}, lowest") < value(name) < value(f"leave-one-form-out {name}, highest")
    for model in ("OEA-Qwen3B-Cl", "OEA-Qwen3B-AC"):
        for name in ("r(move, RD)", "r(TBMD, RD)"):
            assert value(f"abstract: {name} of {model}") == row(6, model)[name]


def test_weighted_columns_of_table_24() -> None:
    """Cells good to 0.05 give 49.94 % worsened, the text 49.91 %; cells good to 0.005 give 33.710, the text 33.711."""
    total = row(1, "Total")["evaluations"]
    worsened, drop = (
        sum(record["N"] * record[name] for record in records(24)) / total for name in ("worsened", "MeanRD")
    )
    assert round(100 * value("worsened pairs") / total, 2) == value("worsened") == 49.91
    assert (round(worsened, 2), near(worsened, value("worsened"), half(24, "worsened") + 0.005)) == (49.94, True)
    assert (round(drop, 3), near(drop, value("MeanRD, pooled"), half(24, "MeanRD") + 0.0005)) == (33.71, True)


def test_same_pool_comparison() -> None:
    """Appendix A.5: 5.28 - 4.17 = 1.11 and 1.10 differ by less than their rounding, 0.015."""
    items = value("items shared with UIQ")
    assert items == sum(ITEMS.values()) - ITEMS["MACS"] == 2805
    for name in ("CORA", "CORA without diversification", "UIQ"):
        assert items * value(f"{name}: forms") * MODELS == value(f"{name}: pairs")
    for other in ("CORA without diversification", "UIQ"):
        gap = value("CORA: MeanRD") - value(f"{other}: MeanRD")
        assert near(gap, value(f"CORA minus {other}"), 3 * 0.005)


def test_increments_and_reductions() -> None:
    """Rounding: 0.626 - 0.615 = 0.011, printed 0.010 (Table 21); 6.33 - 4.14 = 2.19, printed 2.18 (Appendix M)."""
    alone, both, gain = (row(21, name) for name in ("TAL-only (Pearson r)", "TAL + dynamic-HN TBMD", "Increment"))
    for name in ("per-dataset", "pooled"):
        assert near(both[name] - alone[name], gain[name], 3 * half(21, name))
    plain = row(26, "No canonicalizer")["MeanRD"]
    for label, name in (("General rewriting", "general"), ("CORA-aware", "CORA-aware")):
        assert near(plain - row(26, label)["MeanRD"], value(f"rewriting: reduction, {name}"), 3 * half(26, "MeanRD"))
    outcomes = [value(f"rewriting: items {name}") for name in ("improved", "worsened", "unchanged")]
    assert sum(outcomes) == value("rewriting: items") == 500


def test_counts_of_the_saliency_audit() -> None:
    """10 pairs x 4 datasets x 4 forms x 2 groups; a mean of 160 whole ranks has few third decimals."""
    per_model = 10 * len(ITEMS) * 4 * 2
    assert value("saliency pairs per model") == per_model == 320
    assert value("saliency pairs") == sum(record["N"] for record in records(22)) == MODELS * per_model
    for record in records(22):
        assert near(round(record["MeanRD"] * record["N"]) / record["N"], record["MeanRD"], half(22, "MeanRD"))
