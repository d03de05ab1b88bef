"""Models of a hub through the real client, against a stub on the loopback interface."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pytest_audioretrieval.api import load_retriever
from pytest_audioretrieval.errors import ModelError, PinError
from pytest_audioretrieval.models import registry
from pytest_audioretrieval.models.bridges import qwen2_audio
from pytest_audioretrieval.pinning.pins import Pin, Pins
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse
from tests.models.hub.stub import ALWAYS, HubStub, point_client
from tests.models.tiny_qwen2_audio import build_tiny_qwen2_audio
from tests.versions import needs

COMMIT, OTHER = "0123456789abcdef0123456789abcdef01234567", "f" * 40
UNWANTED = {
    "pytorch_model.bin": b"\x80\x04 a pickle",
    "README.md": b"# tiny",
    "modeling.py": b"raise SystemExit",
    "onnx/config.json": b"{}",
}


@pytest.fixture
def stub(tiny_clap: Path) -> Iterator[HubStub]:
    files = {path.name: path.read_bytes() for path in sorted(tiny_clap.iterdir())}
    with HubStub("owner/tiny", COMMIT, files | UNWANTED).running() as running:
        yield running


@pytest.fixture(autouse=True)
def client(stub: HubStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stub that the real client is pointed at, with an empty cache and no token."""
    point_client(stub, tmp_path / "hub", monkeypatch)


@pytest.fixture(autouse=True)
def pinned(stub: HubStub, monkeypatch: pytest.MonkeyPatch) -> Pin:
    digests = {
        name: hashlib.sha256(content).hexdigest() for name, content in stub.files.items() if name not in UNWANTED
    }
    pin = Pin(COMMIT, dict(digests))
    monkeypatch.setattr(registry, "project_pins", lambda own: Pins({"owner/tiny": pin}, {}))
    return pin


def error_of(text: str, *, offline: bool = False, allow_unpinned: bool = False) -> str:
    with pytest.raises((ModelError, PinError)) as caught:
        registry.describe(parse(text), offline=offline, allow_unpinned=allow_unpinned)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_first_download_brings_the_pinned_bytes_and_no_pickle(stub: HubStub, tiny_clap: Path) -> None:
    found = registry.describe(parse("owner/tiny"), offline=False, allow_unpinned=False)
    assert (found.id, found.revision) == ("owner/tiny", COMMIT)
    assert found.folder is not None
    assert {p.name: p.read_bytes() for p in found.folder.iterdir()} == {
        p.name: p.read_bytes() for p in tiny_clap.iterdir()
    }
    assert not [path for path in stub.asked if path.endswith(tuple(UNWANTED))]
    here = registry.describe(parse(str(tiny_clap)), offline=True, allow_unpinned=False)
    assert found.weights_sha256 == here.weights_sha256


@pytest.mark.slow
def test_a_hub_model_is_the_folder_it_came_from(tiny_clap: Path) -> None:
    there = load_retriever("owner/tiny", device="cpu")
    here = load_retriever(str(tiny_clap), device="cpu", offline=True)
    texts = ["a dog barks", "rain"]
    np.testing.assert_array_equal(there.embed_text(texts, Protocol()), here.embed_text(texts, Protocol()))


def test_wrong_bytes_are_refused_before_they_are_opened(stub: HubStub, pinned: Pin) -> None:
    """Their size is right, so that only the hash can tell; the cache is checked afterwards too."""
    content = bytearray(stub.files["model.safetensors"])
    content[-1] ^= 1
    stub.announced["model.safetensors"] = stub.files["model.safetensors"]
    stub.files["model.safetensors"] = bytes(content)
    for offline in (False, True):
        text = error_of("owner/tiny", offline=offline)
        found, expected = hashlib.sha256(content).hexdigest(), pinned.files["model.safetensors"]
        assert text.startswith(f"owner/tiny: sha256 of model.safetensors is {found}, PINS.json expects {expected}")


def test_a_pinned_file_that_the_hub_lacks(stub: HubStub) -> None:
    del stub.files["tokenizer.json"]
    assert error_of("owner/tiny").startswith("owner/tiny: tokenizer.json is missing, PINS.json expects it")


@pytest.mark.parametrize("text", [f"owner/absent@{COMMIT}", f"owner/tiny@{OTHER}"])
def test_what_the_hub_does_not_have(text: str) -> None:
    found = error_of(text, allow_unpinned=True)
    assert found == f"{text}: the hub has no such id or commit (404): check both, and set HF_TOKEN if it is private"


def test_a_name_that_the_client_refuses() -> None:
    text = f"owner/{'x' * 100}@{COMMIT}"
    assert "could not be downloaded" in error_of(text, allow_unpinned=True)


@needs("huggingface-hub", "1", "it resumes a transfer that breaks")
def test_a_connection_that_breaks(stub: HubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    stub.broken["model.safetensors"] = ALWAYS
    assert error_of("owner/tiny").startswith(f"owner/tiny@{COMMIT}: it could not be downloaded: ")
    # Half a download is no model: refused offline, completed online.
    assert "it is not, or not whole, in the local cache: " in error_of("owner/tiny", offline=True)
    stub.broken.clear()
    assert registry.describe(parse("owner/tiny"), offline=False, allow_unpinned=False).revision == COMMIT


def test_offline_with_a_cold_cache(stub: HubStub) -> None:
    assert error_of("owner/tiny", offline=True) == (
        f"owner/tiny@{COMMIT}: it is not, or not whole, in the local cache: "
        "download it once with a network connection, without --retrieval-offline and HF_HUB_OFFLINE"
    )
    assert stub.asked == []


def test_offline_with_a_warm_cache(stub: HubStub) -> None:
    online = registry.describe(parse("owner/tiny"), offline=False, allow_unpinned=False)
    stub.asked.clear()
    assert registry.describe(parse("owner/tiny"), offline=True, allow_unpinned=False) == online
    assert stub.asked == []


@pytest.mark.slow
def test_an_unreachable_hub(monkeypatch: pytest.MonkeyPatch, stub: HubStub) -> None:
    """Port 9 of the loopback interface: nobody listens. What is cached still serves."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert f"owner/tiny@{COMMIT}: the hub was not reached" in error_of("owner/tiny")
    monkeypatch.setattr(constants, "ENDPOINT", stub.url)
    online = registry.describe(parse("owner/tiny"), offline=False, allow_unpinned=False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert registry.describe(parse("owner/tiny"), offline=False, allow_unpinned=False) == online


@pytest.mark.parametrize(
    ("text", "allow_unpinned", "expected"),
    [
        ("owner/tinny", False, "owner/tinny is not pinned (pinned are owner/tiny): name a commit"),
        ("owner/tinny", True, "owner/tinny is not pinned (pinned are owner/tiny): name a commit"),
        (
            "else/where",
            True,
            "else/where is not pinned: name a commit and pass --retrieval-allow-unpinned, or run ",
        ),
        (
            f"else/where@{COMMIT}",
            False,
            "PINS.json does not pin it, expected a pinned commit or --retrieval-allow-unpinned",
        ),
        (
            f"owner/tiny@{OTHER}",
            False,
            f"PINS.json pins {COMMIT}, expected a pinned commit or --retrieval-allow-unpinned",
        ),
    ],
)
def test_an_unpinned_model_is_refused_before_anything_is_asked(
    text: str, allow_unpinned: bool, expected: str, stub: HubStub
) -> None:
    assert expected in error_of(text, allow_unpinned=allow_unpinned)
    assert stub.asked == []


def test_a_folder_of_that_name_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: HubStub) -> None:
    (tmp_path / "checkpoints/best").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert error_of("checkpoints/best") == (
        "checkpoints/best is no pinned hub id: if the folder of that name is meant, write ./checkpoints/best"
    )
    assert stub.asked == []


def test_an_unpinned_commit_is_served_when_allowed(stub: HubStub) -> None:
    stub.commit = OTHER
    stub.files["config.json"] += b"\n"
    found = registry.describe(parse(f"owner/tiny@{OTHER}"), offline=False, allow_unpinned=True)
    assert found.revision == OTHER
    # The pinned commit's hashes say nothing of another commit, and allowing it never waives them for the pinned one.
    stub.commit = COMMIT
    assert "sha256 of config.json" in error_of(f"owner/tiny@{COMMIT}", allow_unpinned=True)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("huggingface_hub.snapshot_download", full)
    assert error_of("owner/tiny") == (
        f"owner/tiny@{COMMIT}: the local cache cannot be written: [Errno {code}] {os.strerror(code)}: make room there, "
        "or set HF_HOME to another folder"
    )


def test_an_audio_llm_comes_with_its_chat_template(stub: HubStub, tmp_path: Path) -> None:
    made = build_tiny_qwen2_audio(tmp_path / "made")
    stub.files = {path.name: path.read_bytes() for path in sorted(made.iterdir())} | UNWANTED
    name = f"owner/tiny@{OTHER}"
    stub.commit = OTHER
    with pytest.raises(
        PinError, match=f"^owner/tiny@{OTHER}: PINS.json pins {COMMIT}, expected a pinned commit or --retr"
    ):
        qwen2_audio.weights_sha256(name)
    found = qwen2_audio.weights_sha256(name, allow_unpinned=True)
    assert found == qwen2_audio.weights_sha256(str(made))
    asked = len(stub.asked)
    heard = qwen2_audio.load(name, device="cpu").processor.chat_template
    assert (heard, len(stub.asked)) == ((made / "chat_template.jinja").read_text(), asked)
