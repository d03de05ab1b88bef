"""Tests with mteb itself: a random CLAP of its registry through the gate, and a task of it as a dataset."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.api import evaluate, load_dataset
from pytest_audioretrieval.pinning import spec as specs
from pytest_audioretrieval.pinning.protocol import Protocol
from tests.plugin.toys import counts

pytestmark = pytest.mark.skipif(find_spec("mteb") is None, reason="needs mteb: make mteb runs this")

#: What mteb's CLAP wrapper has built in.
AS_MTEB = Protocol(quantize_int16=True, max_text_tokens=77)
CONFTEST = """
from mteb.models.model_implementations import MODEL_REGISTRY
from mteb.models.model_implementations.clap_models import ClapZeroShotWrapper

class Tiny(ClapZeroShotWrapper):
    def __init__(self, name, revision, **more):
        super().__init__({folder!r}, None, **more)

known = MODEL_REGISTRY["laion/clap-htsat-fused"]
MODEL_REGISTRY["tiny/clap"] = known.model_copy(update={{"name": "tiny/clap", "loader": Tiny}})
"""


@pytest.fixture
def registered(tiny_clap: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from mteb.models.model_implementations import MODEL_REGISTRY
    from mteb.models.model_implementations.clap_models import ClapZeroShotWrapper

    class Tiny(ClapZeroShotWrapper):  # type: ignore[misc]
        def __init__(self, name: str, revision: str, **more: Any) -> None:
            super().__init__(str(tiny_clap), None, **more)

    known = MODEL_REGISTRY["laion/clap-htsat-fused"]
    monkeypatch.setitem(MODEL_REGISTRY, "tiny/clap", known.model_copy(update={"name": "tiny/clap", "loader": Tiny}))
    assert "mteb" in specs.backends(), "install the package anew: its entry points are older than this test"
    return "mteb:tiny/clap"


def test_the_gate_runs_a_model_of_mteb_without_torchaudio(tiny_clap: Path, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(folder=str(tiny_clap)))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "--model", "mteb:tiny/clap", "--retrieval-dataset", "sounds-single"]
    for arguments, expected in ((["--retrieval-record", "new"], {"recorded": 10}), ([], {"passed": 10})):
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        )
        assert (done.returncode, counts(done)) == (0, expected), done.stdout + done.stderr
    assert find_spec("torchaudio") is None


@pytest.mark.parametrize("direction", ["t2a", "a2t"])
def test_it_ranks_as_our_own_loader_does(direction: Any, registered: str, tiny_clap: Path) -> None:
    dataset = load_dataset("sounds-single")
    theirs, ours = (
        evaluate(model, dataset, direction, protocol=AS_MTEB, device="cpu") for model in (registered, str(tiny_clap))
    )
    assert theirs.queries.first_hit_rank == ours.queries.first_hit_rank
    np.testing.assert_allclose(theirs.queries.margin, ours.queries.margin, atol=2e-6)


def test_it_cuts_the_texts_that_our_own_loader_cuts(registered: str, tiny_clap: Path) -> None:
    from pytest_audioretrieval.api import load_retriever

    texts = ["a dog", "x" * 70 + " a", "a" + " b" * 36, "a" + " b" * 40, "word " * 60]
    theirs, ours = (load_retriever(model, device="cpu") for model in (registered, str(tiny_clap)))
    assert theirs.count_cut(texts, AS_MTEB) == ours.count_cut(texts, AS_MTEB) == 2


def test_a_task_of_mteb(monkeypatch: pytest.MonkeyPatch) -> None:
    import mteb
    from datasets import Audio, Dataset
    from mteb.abstasks.retrieval import AbsTaskRetrieval

    def sound(level: float) -> dict[str, Any]:
        content = io.BytesIO()
        soundfile.write(content, np.full(480, level, dtype=np.float32), 48_000, format="FLAC")
        return {"bytes": content.getvalue(), "path": None}

    class Small(AbsTaskRetrieval):  # type: ignore[misc]
        metadata = mteb.get_task("AudioCapsT2ARetrieval").metadata

        def load_data(self, **_: Any) -> None:
            corpus = Dataset.from_dict({"id": ["a", "b"], "audio": [sound(0.25), sound(0.5)]})
            parts = {
                "queries": Dataset.from_dict({"id": ["q1", "q2"], "text": ["rain", " wind"]}),
                "corpus": corpus.cast_column("audio", Audio()),
                "relevant_docs": {"q1": {"a": 1, "b": 0}, "q2": {"b": 1}},
                "top_ranked": None,
            }
            self.dataset = {"default": {"test": parts}}
            self.data_loaded = True

    monkeypatch.setattr(mteb, "get_task", lambda name: Small())
    made = load_dataset("mteb:Small")
    assert [(caption.id, caption.text, caption.clip) for caption in made.captions] == [
        ("q1", "rain", "a"),
        ("q2", "wind", "b"),
    ]
    np.testing.assert_allclose(made.clips[1].read().samples, np.full((480, 1), 0.5), atol=1e-4)
    assert made.revision == Small.metadata.dataset["revision"]
