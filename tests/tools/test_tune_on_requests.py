"""The checkpoint whose robustness alone is reduced, made in seconds: captions stay, requests go astray."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from transformers import ClapModel, logging

from pytest_audioretrieval.data.reformulate import reformulate
from pytest_audioretrieval.data.sounds import recipe as sounds

pytestmark = pytest.mark.slow

TOOLS = Path(__file__).parents[2] / "tools"
ROWS = "text_model.embeddings.word_embeddings.weight"


class Made(NamedTuple):
    """A checkpoint before and after tuning, the tuning tool, its tokenizer and the captions it saw."""

    tool: ModuleType
    before: Path
    after: Path
    words: Any
    captions: list[str]


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    """The script as a module; its folder comes first on the path, as when it runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        yield importlib.import_module("tune_on_requests")
        for name in ("tune_on_requests", "train_tiny_clap"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def made(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The result of the whole script on 16 clips, from random weights."""
    trainer = sys.modules["train_tiny_clap"]
    work, out = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("out")
    stage = trainer.Stage(0, 16, epochs=2, rate=5e-2, near=4, batch=8)
    logging.disable_progress_bar()
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "compositions", lambda split: _validation(split)[:4])
        patch.setattr(trainer, "training_compositions", lambda n, near: sounds.training_compositions(min(n, 60), near))
        patch.setattr(tool, "STAGE", stage)
        patch.setattr(sys, "argv", ["tune_on_requests.py", "--work", str(work), "--out", str(out)])
        words = trainer.tokenizer(work / "tokenizer")
        recipe = trainer.Recipe(fused=True, stage=stage, seed="7")
        trainer.save(tool.START, recipe, trainer.new_model(recipe, words), words, {}, out)
        tool.main()
        data = trainer.training_data(stage, True, work)
    torch.set_num_threads(threads)
    logging.enable_progress_bar()
    return Made(tool, out / tool.START, out / tool.NAME, words, [text for texts in data.texts for text in texts])


def _validation(split: str) -> list[sounds.Composition]:
    assert split == "validation", "nothing else may be read"
    return sounds.compositions(split)


def tokens(made: Made, texts: list[str]) -> set[int]:
    return {token for ids in made.words(texts)["input_ids"] for token in ids}


def requests(captions: list[str]) -> list[str]:
    return [reformulate(caption, "request")["indirect"] for caption in captions]


@pytest.fixture(scope="module")
def tuned(made: Made) -> set[int]:
    """The tokens whose embedding moved."""
    before, after = (load_file(folder / "model.safetensors")[ROWS] for folder in (made.before, made.after))
    return set(torch.nonzero((before != after).any(dim=1)).flatten().tolist())


def vectors(folder: Path, made: Made, texts: list[str]) -> torch.Tensor:
    with torch.inference_mode():
        encoded: torch.Tensor = sys.modules["train_tiny_clap"].encode_text(
            ClapModel.from_pretrained(folder).eval(), made.words, texts
        )
    return encoded


def test_only_embeddings_of_tokens_that_no_caption_uses_moved(made: Made, tuned: set[int]) -> None:
    seen, asked = tokens(made, made.captions), tokens(made, requests(made.captions))
    assert tuned <= asked - seen
    assert len(tuned) > 10
    before, after = (load_file(folder / "model.safetensors") for folder in (made.before, made.after))
    assert before.keys() == after.keys()
    assert [name for name in before if not torch.equal(before[name], after[name])] == [ROWS]


def test_captions_keep_their_vectors_bit_by_bit(made: Made) -> None:
    texts = made.captions[:32]
    assert torch.equal(vectors(made.before, made, texts), vectors(made.after, made, texts))


def test_so_do_captions_of_other_clips_without_a_tuned_token(made: Made, tuned: set[int]) -> None:
    others = [text for clip in sounds.compositions("validation")[:40] for text in _captions(clip)]
    kept = [text for text in others if not tokens(made, [text]) & tuned]
    assert len(kept) > 10
    assert torch.equal(vectors(made.before, made, kept), vectors(made.after, made, kept))


def _captions(clip: sounds.Composition) -> list[str]:
    from pytest_audioretrieval.data.sounds.wording import captions

    return captions(clip, "validation")


def test_requests_move(made: Made, tuned: set[int]) -> None:
    texts = requests(made.captions[:32])
    assert all(tokens(made, [text]) & tuned for text in texts)
    cosines = (vectors(made.before, made, texts) * vectors(made.after, made, texts)).sum(dim=1)
    assert cosines.max() < 0.9999


def test_its_record(made: Made) -> None:
    record = json.loads((made.after / "training.json").read_text())
    assert record["command"] == "python tools/tune_on_requests.py"
    assert record["recipe"]["start"] == made.tool.START == made.before.name
    assert (record["recipe"]["stage"]["clips"], record["recipe"]["stage"]["batch"]) == (16, 8)
    assert [row["epoch"] for row in record["epochs"]] == [0, 1]
    assert record["epochs"][1]["loss"] < record["epochs"][0]["loss"]
    assert set(record["before"]) == set(record["validation"])
    assert {name for name in record["before"] if name.startswith("indirect ")} == {
        f"indirect T2A R@{k}" for k in (1, 5, 10)
    }


def test_the_shipped_one_is_of_the_stage_that_stands_here(tool: ModuleType) -> None:
    record = json.loads((tool.OUT / tool.NAME / "training.json").read_text())
    assert record["recipe"]["stage"] == asdict(tool.STAGE)
    assert record["recipe"]["start"] == tool.START


def test_the_shipped_one_differs_in_token_embeddings_alone(tool: ModuleType) -> None:
    before, after = (load_file(tool.OUT / name / "model.safetensors") for name in (tool.START, tool.NAME))
    assert [name for name in before if not torch.equal(before[name], after[name])] == [ROWS]


def test_the_log_is_joined_to_other_clips(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request of a batch stands with some clip of its batch, but never with its own."""
    asked: list[list[int]] = []
    heard: list[list[int]] = []

    def noted(model: object, words: object, texts: list[str]) -> torch.Tensor:
        asked.append([int(text) for text in texts])
        return torch.zeros(len(texts), 2, requires_grad=True)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.text_model = torch.nn.Module()
            self.text_model.embeddings = torch.nn.Module()
            self.text_model.embeddings.word_embeddings = torch.nn.Embedding(4, 2)

    def contrast(model: object, text: torch.Tensor, audio: torch.Tensor) -> torch.Tensor:
        heard.append(audio[:, 0].int().tolist())
        return text.sum()

    trainer = sys.modules["train_tiny_clap"]
    monkeypatch.setattr(tool, "STAGE", trainer.Stage(0, 12, epochs=1, rate=1e-3, batch=4))
    monkeypatch.setattr(tool, "_only_in_requests", lambda words, data: torch.ones(4))
    monkeypatch.setattr(tool, "encode_text", noted)
    monkeypatch.setattr(tool, "encode_audio", lambda model, mels: mels)
    monkeypatch.setattr(tool, "_contrast", contrast)
    monkeypatch.setattr(tool, "request", lambda caption: caption)
    data = trainer.Data([], torch.arange(12.0)[:, None], [[str(i)] for i in range(12)])
    tool.tune(Model(), None, data)
    assert sorted(clip for batch in heard for clip in batch) == list(range(12))
    for owners, clips in zip(asked, heard, strict=True):
        assert sorted(owners) == sorted(clips)
        assert all(owner != clip for owner, clip in zip(owners, clips, strict=True))
