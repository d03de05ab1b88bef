"""Examples and tables of docs/tutorials/backend.md and docs/reference/models.md."""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import torch

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.base.registered import MODELS
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse
from tests.embedding.fake import clip
from tests.models.registered import ENTRY_POINTS

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = (DOCS / "tutorials/backend.md").read_text(encoding="utf-8")
PAGE = (DOCS / "reference/models.md").read_text(encoding="utf-8")


def block(holding: str) -> str:
    """The one block of Python on the page that holds a text."""
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", TUTORIAL, flags=re.S) if holding in code)
    assert len(code.splitlines()) <= 40
    return str(code)


def test_the_example_scores_pairs_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = block("class Calibrated")
    (tmp_path / "scorers.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    pairs = [
        (text, clip(f"{step}", np.sin(np.arange(9600) * step) / 2)) for step in (0.05, 0.2) for text in ("rain", "bell")
    ]
    means = Resources(Protocol(), tmp_path / "cache", Tracker(), device="cpu")
    scores = SingleModel(parse("scorers:Calibrated"), means).pair_scores(pairs)
    cosines = SingleModel(parse("builtin/tiny-clap-fused"), means).pair_scores(pairs)
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(-5 * cosines)), rtol=1e-4)
    again = SingleModel(parse("scorers:Calibrated"), means)
    assert again.pair_scores(pairs).tolist() == scores.tolist()
    assert "model" not in vars(again)
    assert [part.tolist() for part in again.text_preference([("rain", "bell")])] == [[0.5], [0.5]]
    sys.modules.pop("scorers")


#: The interface of the file in nttcslab/m2d, over two random matrices.
PORTABLE = """
import torch
from types import SimpleNamespace

class PortableM2D(torch.nn.Module):
    def __init__(self, weight_file):
        super().__init__()
        self.cfg = SimpleNamespace(sample_rate=16_000)
        self.audio, self.text = torch.load(weight_file, weights_only=True)

    def encode_clap_audio(self, batch_audio):
        return torch.stack([batch_audio.std(1), batch_audio.mean(1)], dim=1) @ self.audio

    def encode_clap_text(self, batch_text, truncate=False):
        return torch.tensor([[float(len(text)), 1.0] for text in batch_text]) @ self.text
"""


def test_the_backend_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "portable_m2d.py").write_text(PORTABLE)
    (tmp_path / "m2d_clap.py").write_text(block("class M2DClap"))
    weights = tmp_path / "weights.pth"
    torch.save(tuple(torch.eye(2, 3) + place for place in range(2)), weights)
    monkeypatch.syspath_prepend(tmp_path)
    (lines,) = (lines for lines in re.findall(r"```toml\n(.*?)```", TUTORIAL, flags=re.S) if "m2d" in lines)
    points = tomllib.loads(lines)["project"]["entry-points"][MODELS]
    monkeypatch.setattr(
        "pytest_audioretrieval.pinning.spec.backends", lambda: {n: EntryPoint(n, v, MODELS) for n, v in points.items()}
    )
    embedder = SingleModel(
        parse(f"m2d:{weights}"), Resources(Protocol(sample_rate=16_000), None, Tracker(), device="cpu")
    )
    assert embedder.identity.weights_sha256 == hashlib.sha256(weights.read_bytes()).hexdigest()
    sounds = [clip(f"{step}", np.sin(np.arange(9600) * step) / 2) for step in (0.05, 0.2)]
    assert embedder.clips(sounds).shape == embedder.texts(["rain", "bells"]).shape == (2, 3)
    with pytest.raises(ModelError, match="the protocol feeds 48000 Hz, M2D-CLAP hears 16000 Hz"):
        SingleModel(parse(f"m2d:{weights}"), Resources(Protocol(), None, Tracker(), device="cpu")).clips(sounds)
    for name in ("m2d_clap", "portable_m2d"):
        sys.modules.pop(name)


def test_every_backend_of_the_package_and_every_system_has_a_row() -> None:
    for name in ENTRY_POINTS:
        assert f"| `{name}:" in PAGE, name
    systems = {row.split(" | ")[0] for row in PAGE.splitlines() if row.startswith("| ")}
    for system in ("M2D-CLAP", "MGA-CLAP", "OEA-", "RobustCLAP", "AudioCLIP", "CLaMP 3", "MuQ-MuLan", "Wav2CLIP"):
        assert any(row.startswith(f"| {system}") for row in systems), system
