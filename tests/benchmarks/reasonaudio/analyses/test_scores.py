"""ReasonAudio's table from runs set by hand, and the command that prints it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_audioretrieval.__main__ import main
from pytest_audioretrieval.benchmarks.reasonaudio.analyses.scores import score_tables
from tests.runs.test_choice_and_texts import CHOICES, QUERIES, VECTORS, Fake, dataset


class Named(Fake):
    spec = SimpleNamespace(id="fake")


def test_by_hand() -> None:
    """Query q0 (negation) finds its two clips at ranks 2 and 3, q1 (order) its one at rank 1."""
    queries, choices = score_tables([Named(VECTORS)], dataset(*QUERIES, *CHOICES))
    ndcg = (1 / np.log2(3) + 0.5) / (1 + 1 / np.log2(3))
    assert [column.name for column in queries.columns] == [
        "model", "negation Acc@1", "negation nDCG@10", "order Acc@1", "order nDCG@10", "Avg.",
    ]  # fmt: skip
    assert queries.rows[0][0] == "fake"
    assert queries.rows[0][1:] == pytest.approx((0, 100 * ndcg, 100, 100, 25 * (ndcg + 2)))
    assert choices.rows == (("fake", 50.0, 50.0),)
    assert [column.name for column in choices.columns] == ["model", "order", "overlap"]


def test_what_a_dataset_does_not_ask_is_said() -> None:
    queries, choices = score_tables([Named(VECTORS)], dataset(*CHOICES))
    assert queries.note == "does not apply: the dataset has no queries: name one that has"
    assert choices.rows


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clips").mkdir()
    (tmp_path / "dataset.toml").write_text('name = "empty"\nlicence = "CC0"\nlayout = "reasonaudio"\n')
    arguments = ["reasonaudio", "score", "builtin/tiny-clap-fused", "--dataset", str(tmp_path)]
    assert main(arguments) == 2
    assert "queries.jsonl" in capsys.readouterr().err
    assert main([*arguments[:-1], "sounds-single", "--json", str(tmp_path / "out.json")]) == 0
    told = json.loads((tmp_path / "out.json").read_text())
    assert [table["note"] for table in told["tables"]] == [
        "does not apply: the dataset has no queries: name one that has",
        "does not apply: the dataset has no two-option items: name one that has",
    ]
