"""The worker's handling of a checkpoint, against a stub of laion_clap; the package is not needed."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from pytest_audioretrieval.models.worker import worker_laion
from pytest_audioretrieval.models.worker.worker_laion import Laion, build, hello, read_state

AT = "text_branch.embeddings."


class StubModel(torch.nn.Module):
    """Stub with the tensors that the worker looks at."""

    def __init__(self, width: int, fused: bool, text: Any) -> None:
        super().__init__()
        patches = torch.nn.Module()
        patches.proj = torch.nn.Conv2d(1, width, 1)
        if fused:
            patches.fusion_model = torch.nn.Linear(1, 1)
        self.audio_branch = torch.nn.Module()
        self.audio_branch.patch_embed = patches
        self.text_branch = text


class StubModule:
    """``laion_clap.CLAP_Module``: what it was called with, and answers that show what reached it."""

    made: list[dict[str, Any]]

    def __init__(self, **settings: Any) -> None:
        from transformers import RobertaModel

        StubModule.made.append(settings)
        width = {"HTSAT-tiny": 96, "HTSAT-base": 128, "HTSAT-large": 256}[settings["amodel"]]
        self.model = StubModel(width, settings["enable_fusion"], RobertaModel.from_pretrained("roberta-base"))
        self.eval = self.model.eval

    @staticmethod
    def tokenize(texts: list[str], **settings: Any) -> dict[str, Any]:
        StubModule.made.append(settings)
        return {"input_ids": [[0, *map(ord, text), 2] for text in texts]}

    @staticmethod
    def get_audio_embedding_from_data(windows: list[torch.Tensor], *, use_tensor: bool) -> torch.Tensor:
        assert use_tensor
        return torch.stack([torch.tensor([w[0], np.random.rand(), torch.rand(())]) for w in windows]).double()

    @staticmethod
    def get_text_embedding(
        texts: list[str], *, tokenizer: Callable[[list[str]], Any], use_tensor: bool
    ) -> torch.Tensor:
        assert use_tensor
        return torch.tensor([[float(len(ids))] for ids in tokenizer(texts)["input_ids"]])


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing the package fails."""

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "laion_clap":
                raise OSError("it cannot be imported")

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    package = ModuleType("laion_clap")
    package.CLAP_Module = StubModule  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "laion_clap", package)
    monkeypatch.setattr(worker_laion, "_cached", lambda name: {"tokenizer.json": Path()})
    monkeypatch.setattr(StubModule, "made", [], raising=False)
    return StubModule.made


def weights(*, width: int = 96, fused: bool = False) -> dict[str, Any]:
    """A state_dict of ``StubModel`` with a RoBERTa of its own size."""
    from transformers import RobertaConfig, RobertaModel

    text = RobertaModel(
        RobertaConfig(
            vocab_size=11, hidden_size=64, max_position_embeddings=20, type_vocab_size=1, num_hidden_layers=2,
            intermediate_size=24, num_attention_heads=1,
        )
    )  # fmt: skip
    return StubModel(width, fused, text).state_dict()


def saved(path: Path, content: object) -> str:
    torch.save(content, path)
    return str(path)


@pytest.mark.parametrize("prefix", ["", "module."])
def test_tensors_are_read_with_what_lies_around_them(prefix: str, tmp_path: Path) -> None:
    """Fault 73: numbers as numpy pickles them end torch's own reading of tensors alone."""
    tensors = {f"{prefix}a.module.b": torch.ones(2), f"{prefix}c": torch.zeros(1)}
    around = {"epoch": 3, "loss": np.float64(0.5), "step": np.int64(4), "name": "x", "optimizer": {"state": {}}}
    for content in (tensors, {**around, "state_dict": tensors}):
        found = read_state(saved(tmp_path / "x.pt", content))
        assert {name: tensor.tolist() for name, tensor in found.items()} == {"a.module.b": [1, 1], "c": [0]}


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.path,)  # type: ignore[attr-defined]


@pytest.mark.parametrize("archive", [True, False])
def test_nothing_of_a_pickle_is_run(archive: bool, tmp_path: Path) -> None:
    bomb, fuse = _Bomb(), tmp_path / "went off"
    bomb.path = fuse  # type: ignore[attr-defined]
    path = tmp_path / "x.pt"
    content = {"state_dict": {"a": torch.ones(1)}, "args": bomb}
    if archive:
        torch.save(content, path)
    else:
        path.write_bytes(pickle.dumps({"args": bomb}))
    with pytest.raises(
        ValueError, match=r"x\.pt is not read: .*, expected tensors and numbers alone, .*save its state"
    ):
        read_state(str(path))
    assert not fuse.exists()


@pytest.mark.parametrize("content", [{}, [1], {"a": 3}, {"state_dict": {"a": [1]}}, torch.ones(1)])
def test_what_holds_no_state_dict(content: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.pt holds no state_dict, expected tensors by name"):
        read_state(saved(tmp_path / "x.pt", content))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(("width", "name"), [(96, "HTSAT-tiny"), (128, "HTSAT-base"), (256, "HTSAT-large")])
def test_the_tensors_say_which_model_it_is(width: int, name: str, fused: bool, stub: list[dict[str, Any]]) -> None:
    state = weights(width=width, fused=fused)
    module = build(dict(state), "x.pt", "cpu")
    assert stub == [{"enable_fusion": fused, "device": "cpu", "amodel": name}]
    for there, tensor in module.model.state_dict().items():
        torch.testing.assert_close(tensor, state[there])
    assert module.model.text_branch.config.num_hidden_layers == 2


@pytest.mark.parametrize("there", [True, False])
def test_position_ids_may_be_there_or_not(there: bool, stub: list[dict[str, Any]]) -> None:
    """Fault 72: the package deletes them whether they are there or not."""
    state = weights()
    assert f"{AT}position_ids" not in state
    if there:
        state[f"{AT}position_ids"] = torch.arange(20)[None]
    build(state, "x.pt", "cpu")
    assert len(stub) == 1


def test_robertas_own_weights_are_not_asked_for(stub: list[dict[str, Any]]) -> None:
    from transformers import RobertaModel

    before = RobertaModel.from_pretrained
    build(weights(), "x.pt", "cpu")
    assert before == RobertaModel.from_pretrained


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda s: s.pop("audio_branch.patch_embed.proj.bias"), "lacks 1 tensors, first audio_branch.patch_embed.proj"),
        (lambda s: s.update(extra=torch.ones(1)), "has unknown 1 tensors, first extra: it is no checkpoint of HTSAT-t"),
        (lambda s: s.pop("audio_branch.patch_embed.proj.weight"), "no CLAP with HTSAT: no audio_branch.patch_embed"),
        (lambda s: s.update({worker_laion.FIRST_LAYER: torch.ones(7, 1)}), "no CLAP with HTSAT: 7 channels in it, exp"),
        (lambda s: s.pop(f"{AT}word_embeddings.weight"), "no CLAP with RoBERTa: it has no text_branch.embeddings.word"),
    ],
)
def test_another_model_is_refused(
    change: Callable[[dict[str, Any]], object], expected: str, stub: list[dict[str, Any]]
) -> None:
    state = weights()
    change(state)
    with pytest.raises(ValueError, match=r"^x\.pt ") as caught:
        build(state, "x.pt", "cpu")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("there", "lacks"),
    [
        ({}, "roberta-base, bert-base-uncased, facebook/bart-base"),
        ({"bert-base-uncased": ["vocab.txt"], "facebook/bart-base": ["tokenizer.json"]}, "roberta-base"),
        ({"roberta-base": ["vocab.json"]}, "roberta-base, bert-base-uncased, facebook/bart-base"),
        ({"roberta-base": ["vocab.json", "merges.txt"], "facebook/bart-base": ["tokenizer.json"]}, "bert-base-uncased"),
    ],
)
@pytest.mark.usefixtures("broken")
def test_missing_tokenizers_are_named(there: dict[str, list[str]], lacks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault 80: importing it loads three; without the first, transformers 5 knows no word, and says nothing."""
    monkeypatch.setattr(worker_laion, "_cached", lambda name: dict.fromkeys(there.get(name, []), Path()))
    with pytest.raises(ValueError, match=r"laion_clap loads tokenizers") as caught:
        worker_laion._imported()
    assert f"the hub's cache lacks {lacks}: fetch each once" in str(caught.value)


@pytest.mark.usefixtures("broken")
def test_another_fault_of_its_import_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_laion, "_cached", lambda name: {"tokenizer.json": Path()})
    with pytest.raises(OSError, match="cannot be imported"):
        worker_laion._imported()


def test_tokenizers_it_does_not_use_may_be_missing(stub: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"roberta-base": {"tokenizer.json": Path()}}
    monkeypatch.setattr(worker_laion, "_cached", lambda name: there.get(name, {}))
    assert worker_laion._imported().CLAP_Module is StubModule


def test_the_tokenizer_and_the_libraries_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vocab.json").write_text("{}")
    monkeypatch.setattr(worker_laion, "_cached", lambda name: {"vocab.json": tmp_path / "vocab.json"})
    found = hello()
    assert found["tokenizer"] == {"vocab.json": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}
    assert found["versions"]["torch"] == torch.__version__.partition("+")[0] or "+" in found["versions"]["torch"]
    assert found["versions"]["laion_clap"] is None


def test_operations(tmp_path: Path, stub: list[dict[str, Any]]) -> None:
    laion = Laion()
    told, _ = laion.load([], path=saved(tmp_path / "x.pt", weights(fused=True)), device="cpu")
    assert told == {"device": "cpu", "fused": True, "text_limit": 77, "special": 2}
    assert laion._module.model.training is False
    windows = [np.float32([0.25]), np.float32([-1, 0])]
    _, (first,) = laion.audio(windows, seed=1)
    _, (again,) = laion.audio(windows, seed=1)
    _, (other,) = laion.audio(windows, seed=2)
    assert first.dtype == np.float32
    assert first[:, 0].tolist() == [0.25, -1.0]
    np.testing.assert_array_equal(first, again)
    assert (first[:, 1:] != other[:, 1:]).all()
    for limit, cut in ((10, 10), (512, 77)):
        stub.clear()
        _, (lengths,) = laion.text([], texts=["ab", "a"], limit=limit)
        assert lengths.tolist() == [[4], [3]]
        assert stub == [{"padding": "max_length", "truncation": True, "max_length": cut, "return_tensors": "pt"}]
    assert laion.count([], texts=["ab", "a"], limit=3) == ({"count": 1}, ())


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"), [(True, True, "cuda:0"), (False, True, "mps"), (False, False, "cpu")]
)
def test_the_device_is_chosen_there(
    cuda: bool, mps: bool, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(worker_laion, "build", lambda state, path, device: SimpleNamespace(eval=lambda: device))
    told, _ = Laion().load([], path=saved(tmp_path / "x.pt", {"a": torch.ones(1)}), device="auto")
    assert told["device"] == chosen
