"""Backend ``laion_clap:CHECKPOINT.pt``, as far as it works without its environment."""

from __future__ import annotations

import hashlib
import sys
import tomllib
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.base.registered import MODELS
from pytest_audioretrieval.errors import AudioError, ModelError, PinError
from pytest_audioretrieval.models import laion
from pytest_audioretrieval.models.laion import LAION_PYTHON, LaionClap
from pytest_audioretrieval.models.registry import describe
from pytest_audioretrieval.models.types import is_retriever
from pytest_audioretrieval.pinning import spec as specs
from pytest_audioretrieval.pinning.pins import Pin, Pins, load_pins
from pytest_audioretrieval.pinning.protocol import Protocol, parse_custom
from pytest_audioretrieval.pinning.spec import parse

ROOT = Path(__file__).parents[2]
TOLD = {"device": "cpu", "fused": True, "text_limit": 77, "special": 2}


class StubWorker:
    """Stub of ``Worker`` that notes its requests and answers zeros."""

    def __init__(self, versions: dict[str, str | None] | None = None) -> None:
        self.hello = {"worker": 1, "versions": versions or {"laion_clap": "1.1.7"}, "tokenizer": {"vocab.json": "0"}}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.closed = False

    def ask(self, operation: str, arrays: Any = (), **fields: Any) -> tuple[dict[str, Any], list[Any]]:
        self.asked.append((operation, fields))
        rows = len(arrays) or len(fields.get("texts", ()))
        return {"count": 2, **TOLD}, [np.zeros((rows, 3), np.float32)]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> StubWorker:
    made = StubWorker()
    monkeypatch.setattr(laion, "Worker", lambda *_, **__: made)
    return made


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the backend as an installed package does; a checkout in front of an older one is not installed."""
    point = metadata.EntryPoint("laion_clap", entry(), MODELS)
    monkeypatch.setattr(specs, "backends", lambda: {"laion_clap": point})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "some-best.pt"
    path.write_bytes(b"weights")
    return path


def entry() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    value: str = project["entry-points"][MODELS]["laion_clap"]
    return value


def identity(path: Path, *, allow_unpinned: bool) -> str:
    return describe(parse(f"laion_clap:{path}"), offline=True, allow_unpinned=allow_unpinned).weights_sha256


def pinned(monkeypatch: pytest.MonkeyPatch, files: dict[str, str | None]) -> None:
    pins = Pins(models={"laion_clap:some-best.pt": Pin(None, files)}, datasets={})
    monkeypatch.setattr(laion, "project_pins", lambda own: pins)


@pytest.mark.usefixtures("registered", "worker")
def test_a_pickle_that_is_not_pinned_is_refused(checkpoint: Path) -> None:
    digest = hashlib.sha256(b"weights").hexdigest()
    with pytest.raises(PinError) as caught:
        identity(checkpoint, allow_unpinned=False)
    assert str(caught.value) == (
        f"laion_clap:some-best.pt is a pickle that PINS.json does not pin (sha256 {digest}): compare the hash with its "
        "publisher's and pass --retrieval-allow-unpinned"
    )
    assert len(identity(checkpoint, allow_unpinned=True)) == 64


@pytest.mark.usefixtures("registered", "worker")
def test_a_pinned_one_has_to_have_its_bytes(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(b"weights").hexdigest()
    pinned(monkeypatch, {"some-best.pt": digest})
    assert len(identity(checkpoint, allow_unpinned=False)) == 64
    checkpoint.write_bytes(b"other weights")
    for allowed in (False, True):
        with pytest.raises(PinError, match=f"PINS.json expects {digest}: it is not the pinned checkpoint"):
            identity(checkpoint, allow_unpinned=allowed)
    pinned(monkeypatch, {"some-best.pt": None})
    with pytest.raises(PinError, match="does not pin"):
        identity(checkpoint, allow_unpinned=False)


def test_the_published_checkpoint_is_pinned() -> None:
    pin = load_pins().model("laion_clap:630k-audioset-best.pt")
    assert pin is not None
    assert pin.files["630k-audioset-best.pt"] == "8053c9775516af2f4902e1e8281e356cc1bf7a85e8b761908170767b77c3f037"


def test_all_that_decides_is_in_the_identity(checkpoint: Path, worker: StubWorker) -> None:
    def found() -> str:
        return LaionClap.weights_sha256(str(checkpoint), allow_unpinned=True)

    first = found()
    assert found() == first
    assert worker.closed
    worker.hello["versions"] = {"laion_clap": "1.1.8"}
    second = found()
    worker.hello["tokenizer"] = {"vocab.json": "1"}
    third = found()
    checkpoint.write_bytes(b"weights2")
    assert len({first, second, third, found()}) == 4


@pytest.mark.usefixtures("worker")
def test_no_such_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^laion_clap:none\.pt: there is no such file: give the path of a checkpoint"):
        LaionClap("none.pt", device="cpu")
    with pytest.raises(ModelError, match="there is no such file"):
        LaionClap.weights_sha256(str(tmp_path))
    (tmp_path / "circle.pt").symlink_to("circle.pt")
    with pytest.raises(ModelError, match="there is no such file"):
        LaionClap.weights_sha256(str(tmp_path / "circle.pt"))


def test_the_protocol_decides(checkpoint: Path, worker: StubWorker) -> None:
    model = LaionClap(str(checkpoint), device="cuda:1")
    assert is_retriever(model)
    assert (model.device, model.fused, model.text_limit, model.versions) == ("cpu", True, 77, {"laion_clap": "1.1.7"})
    assert worker.asked.pop() == ("load", {"path": str(checkpoint), "device": "cuda:1"})
    assert model.embed_audio([np.ones(9, np.float32)] * 2, Protocol(seed=5)).shape == (2, 3)
    assert worker.asked.pop() == ("audio", {"seed": 5})
    for asked, limit in ((512, 77), (77, 77), (20, 20)):
        assert model.embed_text(["rain"], Protocol(max_text_tokens=asked)).shape == (1, 3)
        assert worker.asked.pop() == ("text", {"texts": ["rain"], "limit": limit})
        assert model.count_cut(["rain"], Protocol(max_text_tokens=asked)) == 2
        assert worker.asked.pop() == ("count", {"texts": ["rain"], "limit": limit})
    with pytest.raises(ModelError, match="cut to 2 tokens, of which 2 are special"):
        model.embed_text(["rain"], Protocol(max_text_tokens=2))


@pytest.mark.parametrize(
    ("window", "settings", "error", "expected"),
    [
        (np.ones(9, np.float32), {"sample_rate": 44_100}, ModelError, "feeds 44100 Hz, this model hears 48000 Hz"),
        (np.ones(480_001, np.float32), {}, AudioError, "480001 samples, the model reads 480000"),
        (np.ones(9), {}, AudioError, "expected a float32 array"),
        (np.full(9, np.nan, np.float32), {}, AudioError, "not finite"),
        (np.full(9, 300, np.float32), {}, AudioError, "an amplitude of 300"),
    ],
)
def test_windows_it_would_misread(
    window: Any, settings: dict[str, Any], error: type[Exception], expected: str, checkpoint: Path, worker: StubWorker
) -> None:
    model = LaionClap(str(checkpoint), device="cpu")
    with pytest.raises(error, match=expected):
        model.embed_audio([window], Protocol(**settings))
    assert len(worker.asked) == 1


def test_long_clips_reach_it_whole_under_processor_native_alone(checkpoint: Path, worker: StubWorker) -> None:
    model = LaionClap(str(checkpoint), device="cpu")
    long = [np.ones(480_001, np.float32)]
    assert model.embed_audio(long, Protocol(window="processor")).shape == (1, 3)
    assert [operation for operation, _ in worker.asked] == ["load", "audio"]


def test_without_its_environment(checkpoint: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fault 82."""
    monkeypatch.chdir(tmp_path)
    for value, place in (("", tmp_path / ".venv-laion/bin/python"), ("env/python", tmp_path / "env/python")):
        monkeypatch.setenv(LAION_PYTHON, value)
        with pytest.raises(ModelError) as caught:
            LaionClap(str(checkpoint), device="cpu")
        assert str(caught.value) == (
            f"laion_clap runs in an environment of its own, and there is no {place}: build it with `make laion` in "
            "the folder of this package's sources, and name its Python with --retrieval-laion-python, ini "
            "retrieval_laion_python or RETRIEVAL_LAION_PYTHON"
        )


def test_an_environment_without_the_package(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LAION_PYTHON, sys.executable)
    with pytest.raises(
        ModelError, match=r"^laion_clap: \S+ has no package laion_clap: build it with `make laion` in .*$"
    ):
        LaionClap(str(checkpoint), device="cpu")


def test_the_protocol_that_the_page_names() -> None:
    page = (ROOT / "docs/reference/models.md").read_text(encoding="utf-8")
    line = "laion: " + page.partition("`retrieval_protocols = laion: ")[2].partition("`")[0]
    expected = replace(Protocol(), name="laion", quantize_int16=True, max_text_tokens=77)
    assert parse_custom([line]) == {"laion": expected}


def test_its_class_is_registered() -> None:
    assert metadata.EntryPoint("laion_clap", entry(), MODELS).load() is LaionClap
