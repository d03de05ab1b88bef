"""The trainer of the built-in checkpoints, on a training that takes seconds."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import ClapModel, ClapProcessor, logging

from pytest_audioretrieval.data.sounds import recipe as sounds
from pytest_audioretrieval.data.sounds.render import mix
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.pinning.protocol import Protocol
from tools import train_tiny_clap as trainer

STAGE = trainer.Stage(0, 16, epochs=2, rate=1e-3, near=4, batch=8)
RECIPE = trainer.Recipe(fused=True, stage=STAGE, seed="7")
NAME = "tiny"


class StoppedError(Exception):
    """The error of a run that was killed."""


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """A training on few clips: four to validate on, a small tokenizer, no progress bars."""
    logging.disable_progress_bar()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "compositions", lambda split: sounds.compositions(split)[:4])
        patch.setattr(trainer, "training_compositions", lambda n, near: sounds.training_compositions(min(n, 60), near))
        yield
    logging.enable_progress_bar()


def fresh(tmp_path_factory: pytest.TempPathFactory, name: str) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp(name)
    return base / "work", base / "out"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Work folder and checkpoint of a run without interruption."""
    work, out = fresh(tmp_path_factory, "whole")
    trainer.train(NAME, RECIPE, work, out)
    return work, out / NAME


def epochs(folder: Path) -> list[dict[str, Any]]:
    rows = json.loads((folder / "training.json").read_text())["epochs"]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.mark.slow
def test_what_is_saved_is_a_clap_that_the_library_and_the_adapter_load(trained: tuple[Path, Path]) -> None:
    _, folder = trained
    model, report = ClapModel.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    processor = ClapProcessor.from_pretrained(folder)
    assert processor.feature_extractor.sampling_rate == 48_000
    inputs = processor.tokenizer(["a cow mooing, then a door slamming"], return_tensors="pt")
    assert model.get_text_features(**inputs).pooler_output.shape == (1, 96)
    adapter = Clap(folder, device="cpu")
    assert adapter.text_limit == 512
    assert adapter.embed_text(["a cow mooing"], Protocol()).shape == (1, 96)


def test_the_record_says_how_it_was_made_and_what_was_measured(trained: tuple[Path, Path]) -> None:
    _, folder = trained
    record = json.loads((folder / "training.json").read_text())
    assert record["command"] == "python tools/train_tiny_clap.py tiny"
    assert record["recipe"]["stage"]["clips"] == 16
    assert record["recipe"]["seed"] == "7"
    assert [row["epoch"] for row in record["epochs"]] == [0, 1]
    assert record["validation"].items() <= record["epochs"][-1].items()


@pytest.mark.parametrize("name", trainer.RECIPES)
def test_shipped_checkpoints_are_of_the_recipes_that_stand_here(name: str) -> None:
    record = json.loads((trainer.OUT / name / "training.json").read_text())
    assert record["recipe"] == asdict(trainer.RECIPES[name])


def test_training_moves_the_weights_and_lowers_the_loss(trained: tuple[Path, Path]) -> None:
    work, folder = trained
    start = trainer.new_model(RECIPE, trainer.tokenizer(work / "tokenizer"))
    saved = load_file(folder / "model.safetensors")
    assert not torch.equal(
        start.state_dict()["audio_projection.linear1.weight"], saved["audio_projection.linear1.weight"]
    )
    assert epochs(folder)[1]["loss"] < epochs(folder)[0]["loss"]


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bits(
    trained: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    work, out = fresh(tmp_path_factory, "killed")
    whole = trainer.validate
    calls = []

    def killed(*args: Any) -> dict[str, float]:
        calls.append(args)
        if len(calls) == 2:
            raise StoppedError
        return whole(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "validate", killed)
        with pytest.raises(StoppedError):
            trainer.train(NAME, RECIPE, work, out)
    assert not out.exists()
    assert len(torch.load(work / "tiny.pt", weights_only=True)["history"]) == 1
    torch.manual_seed(99)
    random.seed(99)
    trainer.train(NAME, RECIPE, work, out)
    expected, found = (load_file(folder / "model.safetensors") for folder in (trained[1], out / NAME))
    assert expected.keys() == found.keys()
    assert [name for name in expected if not torch.equal(expected[name], found[name])] == []
    assert epochs(out / NAME) == epochs(trained[1])


@pytest.mark.slow
def test_a_finished_run_is_saved_again_without_training(trained: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "_epoch", lambda *args: pytest.fail("trained"))
        trainer.train(NAME, RECIPE, trained[0], tmp_path)
    written = (tmp_path / NAME / "model.safetensors").read_bytes()
    assert written == (trained[1] / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_a_recipe_may_go_on_from_a_checkpoint(trained: tuple[Path, Path], tmp_path: Path) -> None:
    """With a learning rate close to zero the model stays where it started."""
    onward = trainer.Recipe(
        fused=True, start=NAME, stage=trainer.Stage(0, 8, epochs=1, rate=1e-12, batch=8, misjoined=True), seed="8"
    )
    out = trained[1].parent
    trainer.train("next", onward, tmp_path, out)
    start, end = (load_file(out / name / "model.safetensors") for name in (NAME, "next"))
    assert all(
        torch.allclose(start[key].float(), end[key].float(), atol=1e-6)
        for key in start
        if "running" not in key and "batches" not in key
    )


@pytest.mark.slow
@pytest.mark.parametrize("fused", [True, False])
def test_log_mel_is_what_the_library_extracts(fused: bool) -> None:
    front = trainer.extractor(fused)
    rng = np.random.default_rng(0)
    clips = [np.divide(mix(clip), 32_768, dtype=np.float32) for clip in sounds.compositions("test")[:3]]
    clips += [rng.uniform(-0.5, 0.5, n).astype(np.float32) for n in (1_000, 240_000, 480_000)]
    for samples in clips:
        library = front([samples], sampling_rate=48_000, return_tensors="np")["input_features"][0]
        assert library.shape == (4 if fused else 1, 1001, 64)
        ours = trainer.log_mel(samples, fused, front)
        assert ours.shape == (trainer.FRAMES, trainer.MELS)
        for channel in library:
            assert np.abs(ours - channel).max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("fused", [True, False])
def test_the_trainer_and_the_adapter_embed_alike(fused: bool, trained: tuple[Path, Path], tmp_path: Path) -> None:
    """Training reads one channel of float16 features; the adapter gives the sound to the library's front-end."""
    words = trainer.tokenizer(tmp_path / "tokenizer")
    recipe = trainer.Recipe(fused=fused, stage=STAGE, seed="3")
    model = trainer.new_model(recipe, words)
    trainer.save("random", recipe, model, words, {}, tmp_path)
    clips = sounds.compositions("test")[:4]
    mels = trainer.features(clips, fused, tmp_path / "mels.npy")
    texts = ["a cow mooing", "a cow mooing, then a door slamming"]
    with torch.inference_mode():
        ours = trainer.encode_audio(model, mels).numpy()
        ours_text = trainer.encode_text(model, words, texts).numpy()
    adapter = Clap(tmp_path / "random", device="cpu")
    theirs = adapter.embed_audio([np.divide(mix(clip), 32_768, dtype=np.float32) for clip in clips], Protocol())
    assert np.sum(ours * theirs, axis=1).min() > 0.9999
    np.testing.assert_allclose(ours_text, adapter.embed_text(texts, Protocol()), atol=1e-5)


def test_features_are_made_once_and_again_after_a_break(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clips, path = sounds.compositions("validation")[:2], tmp_path / "mels.npy"
    first = trainer.features(clips, True, path)
    monkeypatch.setattr(trainer, "log_mel", lambda *args: pytest.fail("made again"))
    assert torch.equal(first, trainer.features(clips, True, path))
    path.with_suffix(".done").unlink()
    with pytest.raises(pytest.fail.Exception, match="made again"):
        trainer.features(clips, True, path)


def test_misjoined_captions_name_the_right_sounds_in_another_arrangement() -> None:
    clips = sounds.training_compositions(200, 8)
    told = trainer._misjoin(clips)
    names = [[frozenset(n for moment in clip for n in moment) for clip in side] for side in (clips, told)]
    assert names[0] == names[1]
    assert sorted(map(repr, told)) == sorted(map(repr, clips))
    alone = [i for i, s in enumerate(names[0]) if names[0].count(s) == 1]
    assert [i for i in range(200) if told[i] == clips[i]] == alone


@pytest.mark.parametrize("near", [4, 8])
def test_near_misses_lie_side_by_side(near: int) -> None:
    stage = trainer.Stage(0, 600, epochs=1, rate=1e-3, near=near, batch=96)
    clips = sounds.training_compositions(600, near)
    rows = list(trainer.batches(clips, stage, random.Random("1")))
    assert [len(batch) for batch in rows] == [96] * 6
    order = [i for batch in rows for i in batch]
    assert len(set(order)) == len(order)
    sets = [frozenset(name for moment in clips[i] for name in moment) for i in order]
    borders = sum(one != other for one, other in pairwise(sets))
    assert borders + 1 == len(set(sets))
    cut = [set(sets[i : i + 96]) for i in range(0, len(sets), 96)]
    assert all(len(one & other) <= 1 for one, other in pairwise(cut))
    assert order != sorted(order)
    assert rows == list(trainer.batches(clips, stage, random.Random("1")))
    assert rows != list(trainer.batches(clips, stage, random.Random("2")))


@pytest.mark.slow
def test_ungrouped_batches_shuffle_neighbours_four_by_four() -> None:
    stage = trainer.Stage(0, 24, epochs=1, rate=1e-3, grouped=False, batch=12)
    rows = list(trainer.batches(sounds.training_compositions(24, 4), stage, random.Random("1")))
    fours = [batch[i : i + 4] for batch in rows for i in range(0, 12, 4)]
    assert sorted(fours) == [[i, i + 1, i + 2, i + 3] for i in range(0, 24, 4)]


def test_validation_counts_hits() -> None:
    """Two clips, two captions each, hand-made vectors: one caption of the second clip points to the first."""
    audio = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    text = {"a": [1.0, 0.1], "b": [0.9, 0.2], "c": [0.2, 0.95], "d": [0.8, 0.3]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "encode_audio", lambda model, mels: audio)
        patch.setattr(trainer, "encode_text", lambda model, words, texts: torch.tensor([text[t] for t in texts]))
        data = trainer.Data([], torch.zeros(2, 1), [["a", "b"], ["c", "d"]])
        found = trainer.validate(torch.nn.Identity(), None, data)
    assert found == {"T2A R@1": 0.75, "T2A R@5": 1.0, "T2A R@10": 1.0, "A2T R@1": 1.0}


@pytest.mark.slow
def test_the_test_split_is_never_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def noted(split: str) -> list[sounds.Composition]:
        asked.append(split)
        return sounds.compositions("validation")[:2]

    monkeypatch.setattr(trainer, "compositions", noted)
    once = trainer.Recipe(fused=True, stage=trainer.Stage(0, 8, epochs=1, rate=1e-3, batch=8), seed="7")
    trainer.train(NAME, once, tmp_path / "work", tmp_path / "out")
    assert asked == ["validation"]


def test_the_command_line_names_the_recipes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train_tiny_clap.py", "tiny-clap", "--work", "w"])
    with pytest.raises(SystemExit):
        trainer.main()
    assert "tiny-clap-fused" in capsys.readouterr().err


@pytest.mark.slow
def test_the_tokenizer_reads_every_caption_without_unknowns(tmp_path: Path) -> None:
    words = trainer.tokenizer(tmp_path)
    assert (words.pad_token_id, words.bos_token_id, words.eos_token_id) == (1, 0, 2)
    assert words.model_max_length == 512
    text = "after a hi-hat held shut, one hears the meow of a cat"
    ids = words(text)["input_ids"]
    assert words.unk_token_id not in ids
    assert words.decode(ids, skip_special_tokens=True) == text
