"""Bridge to mteb, by a wrapper that measures the sound that reaches it.

Runs against mteb itself where it is installed, else against a stand-in with the same interface.
"""

from __future__ import annotations

import hashlib
import socket
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pytest_audioretrieval.errors import ModelError, PinError, SpecError
from pytest_audioretrieval.models.bridges.mteb import load, weights_sha256
from pytest_audioretrieval.models.types import is_retriever
from pytest_audioretrieval.pinning.protocol import Protocol
from tests.models import mteb_stand_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "tests/ear"
#: What mteb's model card must have and nothing here reads.
BLANK = (
    "release_date", "languages", "n_parameters", "memory_usage_mb", "embed_dim", "license", "open_weights",
    "public_training_code", "public_training_data", "similarity_fn_name", "use_instructions", "training_datasets",
)  # fmt: skip
#: Words the wrapper reads of a text.
READ = 12


class Ear:
    """Hears at ``rate``; the vector of a sound is its frequency by zero crossings and its length in seconds."""

    rate, longest, shortest = 48_000, None, None

    def __init__(self, name: str, revision: str | None, device: str | None = None, **_: Any) -> None:
        self.said = (name, revision, device)
        self.asked: list[dict[str, Any]] = []

    def encode(self, inputs: Any, **asked: Any) -> Any:
        from mteb.models.modality_collators import AudioCollator

        self.asked.append({**asked, "kinds": list(inputs.dataset.features)})
        if "audio" in inputs.dataset.features:
            inputs.collate_fn = AudioCollator(
                target_sampling_rate=self.rate, max_samples=self.longest, min_samples=self.shortest
            )
            return np.array([self.heard(item["array"]) for batch in inputs for item in batch["audio"]])
        return torch.tensor([self.read(text) for batch in inputs for text in batch["text"]], dtype=torch.bfloat16)

    def heard(self, window: Any) -> list[float]:
        crossings = np.count_nonzero(np.diff(np.signbit(window)))
        return [crossings / 2 / len(window) * self.rate, len(window) / self.rate]

    @staticmethod
    def read(text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(" ".join(text.split()[:READ]).encode()).digest()[:4], "big")
        return np.random.default_rng(seed).normal(size=8).tolist()


def tone(hertz: float, seconds: float = 2.0, rate: int = 48_000) -> Any:
    return (np.sin(2 * np.pi * hertz * (np.arange(round(seconds * rate)) + 0.5) / rate) / 2).astype(np.float32)


Register = Callable[..., type[Ear]]


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Put a wrapper into mteb's registry."""
    mteb_stand_in.provide(tmp_path / "stand-in", monkeypatch)
    from mteb.models import ModelMeta
    from mteb.models.model_implementations import MODEL_REGISTRY

    def register(
        name: str = NAME, *, revision: str | None = COMMIT, modalities: Any = ("audio", "text"), **ear: Any
    ) -> Any:
        kind = type("Ear", (ear.pop("base", Ear),), ear)
        blank = dict.fromkeys(BLANK)
        meta = ModelMeta(
            name=name, loader=kind, revision=revision, modalities=list(modalities), max_tokens=float("inf"),
            framework=["PyTorch"], **blank,
        )  # fmt: skip
        monkeypatch.setitem(MODEL_REGISTRY, name, meta)
        return kind

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    yield register
    mteb_stand_in.forget(tmp_path / "stand-in")


def test_windows_reach_the_wrapper_as_they_are(register: Register) -> None:
    """Fault 25, by a pure tone: 440 Hz are heard as 440 Hz, a 2 s window as 2 s; the vectors are unit vectors."""
    register()
    model: Any = load(NAME, device="cpu")
    assert is_retriever(model)
    found = model.embed_audio([tone(440), tone(880, 1.0), tone(220)], Protocol(audio_batch=2))
    heard = np.array([[440, 2], [880, 1], [220, 2]])
    np.testing.assert_allclose(found, heard / np.linalg.norm(heard, axis=1, keepdims=True), rtol=2e-3)
    assert found.dtype == np.float32
    assert model._model.said == (NAME, COMMIT, "cpu")
    assert model._model.mteb_model_meta.name == NAME


def test_another_rate_is_refused_and_said(register: Register) -> None:
    """A tone at 44.1 kHz would become 404 Hz (fault 25); nothing is resampled, so torchaudio is not needed."""
    register(rate=44_100)
    model = load(NAME, device="cpu")
    with pytest.raises(ModelError) as caught:
        model.embed_audio([tone(440)], Protocol())
    assert str(caught.value) == (
        "mteb:tests/ear: the protocol feeds 48000 Hz, mteb's wrapper hears 44100 Hz: set the protocol's "
        "sample_rate=44100"
    )
    (found,) = model.embed_audio([tone(440, rate=44_100)], Protocol(sample_rate=44_100))
    assert found[0] / found[1] == pytest.approx(220, rel=2e-3)
    assert "torchaudio" not in sys.modules


def test_a_window_is_whole_or_refused(register: Register) -> None:
    register(longest=48_000)
    model = load(NAME, device="cpu")
    with pytest.raises(ModelError, match=r"a window has 96000 samples, mteb's wrapper reads 48000: .* seconds=1$"):
        model.embed_audio([tone(440)], Protocol())
    (found,) = model.embed_audio([tone(440)], Protocol(window="processor"))
    assert found[0] / found[1] == pytest.approx(440, rel=2e-3)


def test_short_windows_are_padded_as_the_wrapper_asks(register: Register) -> None:
    register(shortest=96_000)
    (found,) = load(NAME, device="cpu").embed_audio([tone(440, 1.0)], Protocol())
    assert found[0] / found[1] == pytest.approx(220 / 2, rel=5e-3)


def test_texts_are_queries_and_sounds_are_documents(register: Register) -> None:
    register()
    model: Any = load(NAME, device="cpu")
    texts = model.embed_text(["rain", "a dog", "rain"], Protocol(text_batch=2))
    assert texts.shape == (3, 8)
    np.testing.assert_allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-6)
    assert texts[0].tolist() == texts[2].tolist() != texts[1].tolist()
    model.embed_audio([tone(440)], Protocol())
    asked = [(a["prompt_type"].name, a["kinds"], a["task_metadata"].name, a["batch_size"]) for a in model._model.asked]
    task = "AudioCapsT2ARetrieval"
    assert asked == [("query", ["text"], task, 2), ("document", ["audio"], task, 1)]


def test_a_text_whose_last_word_changes_nothing_is_cut(register: Register) -> None:
    register()
    model = load(NAME, device="cpu")
    read, cut = ("a " * 5 + "somewhat " * (READ - 5), "somewhat " * (READ + 1))
    assert model.text_limit == 0
    assert model.count_cut([read, cut, "rain", "w" * 100], Protocol()) == 1


def test_a_wrapper_that_resamples_by_itself_is_said_once(register: Register) -> None:
    class Own(Ear):
        def encode(self, inputs: Any, **asked: Any) -> Any:
            return np.array([self.heard(item["array"]) for batch in inputs for item in batch["audio"]])

    register(base=Own)
    model = load(NAME, device="cpu")
    with pytest.warns(UserWarning, match="brings sounds to its own rate by itself: nobody checks how it hears 48000"):
        model.embed_audio([tone(440)], Protocol())
    model.embed_audio([tone(440)], Protocol())


def test_a_missing_package_is_named(register: Register) -> None:
    class Needy(Ear):
        def encode(self, inputs: Any, **asked: Any) -> Any:
            import torch_of_tomorrow

            return torch_of_tomorrow

    register(base=Needy)
    with pytest.raises(ModelError) as caught:
        load(NAME, device="cpu").embed_audio([tone(440)], Protocol())
    assert str(caught.value) == (
        "mteb:tests/ear: mteb's wrapper needs a package: No module named 'torch_of_tomorrow': "
        "pip install torch_of_tomorrow"
    )


def test_an_mteb_that_fails_when_it_is_imported_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mteb.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mteb", raising=False)
    with pytest.raises(
        ModelError, match=r"^mteb:a/b needs mteb: 'mteb' fails when .*::nms.*: mend the installation of mteb$"
    ):
        load("a/b", device="cpu")


def test_what_a_wrapper_raises_is_one_line_and_mteb_is_left_as_it_was(register: Register) -> None:
    from mteb.models.modality_collators import AudioCollator

    class Broken(Ear):
        def heard(self, window: Any) -> list[float]:
            raise RuntimeError("shapes\ndo not match")

    before = AudioCollator.__dict__["resample_audio"]
    register(base=Broken)
    with pytest.raises(ModelError, match=r"^mteb:tests/ear: mteb's wrapper failed: RuntimeError: shapes$"):
        load(NAME, device="cpu").embed_audio([tone(440)], Protocol())
    assert AudioCollator.__dict__["resample_audio"] is before


def test_offline_a_wrapper_that_connects_is_stopped_when_it_loads_and_when_it_embeds(register: Register) -> None:
    class Early(Ear):
        def __init__(self, *said: Any, **more: Any) -> None:
            socket.create_connection(("127.0.0.1", 9))

    class Late(Ear):
        def encode(self, inputs: Any, **asked: Any) -> Any:
            socket.create_connection(("127.0.0.1", 9))

    expected = (
        r"^mteb:tests/ear: mteb's wrapper failed: OSError: no network is reached here, asked for '127.0.0.1': "
        "--retrieval-offline forbids the network: download what is missing once with a network connection$"
    )
    register(base=Early)
    with pytest.raises(ModelError, match=expected):
        load(NAME, device="cpu", offline=True)
    register(base=Late)
    model = load(NAME, device="cpu", offline=True)
    for embed in (lambda: model.embed_text(["rain"], Protocol()), lambda: model.embed_audio([tone(440)], Protocol())):
        with pytest.raises(ModelError, match=expected):
            embed()
    with pytest.raises(ModelError, match=r"^mteb:tests/ear: mteb's wrapper failed: ConnectionRefusedError: [^:]*$"):
        load(NAME, device="cpu").embed_text(["rain"], Protocol())


def test_models_that_are_not_there_or_do_not_hear(register: Register) -> None:
    register("tests/reader", modalities=["text"])
    with pytest.raises(SpecError, match=r"^mteb:tests/nobody: Model 'tests/nobody' not found in MTEB registry\."):
        load("tests/nobody", device="cpu")
    with pytest.raises(SpecError, match=r"^mteb:tests/reader reads text, expected audio and text: see mteb"):
        weights_sha256("tests/reader", allow_unpinned=True)


@pytest.mark.parametrize("revision", [None, "no_revision", "2", f"{COMMIT}_{COMMIT}"])
def test_no_commit_no_run(register: Register, revision: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    register(revision=revision)
    monkeypatch.setattr(metadata, "version", lambda name: "9.9")
    with pytest.raises(PinError) as caught:
        weights_sha256(NAME)
    assert str(caught.value) == (
        f"mteb:tests/ear: mteb 9.9 pins revision {revision!r}, expected a commit: "
        "pass --retrieval-allow-unpinned to judge what it loads all the same"
    )
    assert weights_sha256(NAME, allow_unpinned=True) == ""


def snapshot(tmp_path: Path, **files: bytes) -> Path:
    folder = tmp_path / f"hub/models--tests--ear/snapshots/{COMMIT}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("_", ".", 1)).write_bytes(content)
    return folder


def test_weights_are_those_in_the_hubs_cache(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register()
    monkeypatch.setattr(metadata, "version", lambda name: "9.9")
    assert weights_sha256(NAME) == ""
    with pytest.raises(
        ModelError, match=f"^mteb:tests/ear: tests/ear@{COMMIT}: it is not, or not whole, in the local cache: "
    ):
        weights_sha256(NAME, offline=True)
    folder = snapshot(tmp_path, config_json=b"{}")
    assert weights_sha256(NAME, offline=True) == ""
    snapshot(tmp_path, model_safetensors=b"1")
    first = weights_sha256(NAME, offline=True)
    assert len(first) == 64
    snapshot(tmp_path, README_md=b"hello")
    assert weights_sha256(NAME) == first
    for change in ({"model_safetensors": b"2"}, {"modeling_py": b"pass"}):
        snapshot(tmp_path, **change)
        assert weights_sha256(NAME) != first
        first = weights_sha256(NAME)
    monkeypatch.setattr(metadata, "version", lambda name: "10")
    assert weights_sha256(NAME) != first
    (folder / "adapter_config.json").write_text("{}")
    assert weights_sha256(NAME) == ""
