"""The pair scorer that docs/models.md shows is one, and short."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from pytest_audioretrieval.embedding.embedder import Embedder, Means
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.progress import Tracker
from pytest_audioretrieval.protocol import Protocol
from pytest_audioretrieval.spec import parse
from tests.embedding.fake import clip

PAGE = (Path(__file__).parents[2] / "docs/models.md").read_text(encoding="utf-8")


def test_the_example_scores_pairs_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    assert len(code.splitlines()) <= 40
    (tmp_path / "scorers.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    pairs = [
        (text, clip(f"{step}", np.sin(np.arange(9600) * step) / 2)) for step in (0.05, 0.2) for text in ("rain", "bell")
    ]
    means = Means(Protocol(), Store(tmp_path / "cache"), Tracker(), device="cpu")
    scores = Embedder(parse("scorers:Calibrated"), means).pair_scores(pairs)
    cosines = Embedder(parse("builtin/tiny-clap-fused"), means).pair_scores(pairs)
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(-5 * cosines)), rtol=1e-4)
    again = Embedder(parse("scorers:Calibrated"), means)
    assert again.pair_scores(pairs).tolist() == scores.tolist()
    assert "model" not in vars(again)
    assert [part.tolist() for part in again.text_preference([("rain", "bell")])] == [[0.5], [0.5]]
    sys.modules.pop("scorers")
