"""Model of a spec: loaded at most once, and only for a missing vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.embedding.store import place
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse


def made(model: Path, store: Path | None) -> SingleModel:
    return SingleModel(parse(str(model)), Resources(Protocol(), store, Tracker()))


def test_a_run_that_finds_every_vector_knows_where_they_were_made(tiny_clap: Path, tmp_path: Path) -> None:
    first = made(tiny_clap, tmp_path)
    assert first.device == "auto"
    vectors = first.texts(["rain", "a dog barks"])
    assert first.device == first.retriever.device == "cpu"
    second = made(tiny_clap, tmp_path)
    np.testing.assert_array_equal(second.texts(["rain", "a dog barks"]), vectors)
    assert "model" not in vars(second)
    assert second.device == "cpu"
    (place(tmp_path, "auto") / "device").write_text("cuda:1")
    assert second.device == "cuda:1"


def test_the_same_texts_are_asked_for_once(tiny_clap: Path) -> None:
    embedder = made(tiny_clap, None)
    assert embedder.texts(["rain"]) is embedder.texts(["rain"])
    assert embedder.texts(["rain"]) is not embedder.texts(["snow"])
