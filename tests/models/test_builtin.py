"""Built-in checkpoints: small, pinned, loadable, and neither perfect nor useless."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from transformers import ClapModel, ClapProcessor

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.data.sounds.render import mix
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.registry import DECIDING, RECORDS, deciding_files, describe
from pytest_audioretrieval.pinning.pins import load_pins
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import BUILTIN, builtin_names, parse
from tests.models.tiny_clap import TRANSFORMERS

NAMES = builtin_names()
#: Those with a baseline in the package.
JUDGED = ("tiny-clap-fused", "tiny-clap-unfused")
#: How each was made that the trainer has no recipe for.
COMMANDS = {"tiny-clap-fused-brittle": "python tools/tune_on_requests.py"}

each = pytest.mark.parametrize("name", NAMES)


def test_there_are_both_architectures_and_an_upgrade() -> None:
    assert {*JUDGED, "tiny-clap-fused-v2", *COMMANDS} <= set(NAMES)
    assert {path.name for path in BUILTIN.iterdir() if path.is_dir()} == set(NAMES)


@each
def test_it_is_small_and_holds_nothing_unexpected(name: str) -> None:
    files = list((BUILTIN / name).iterdir())
    assert sum(path.stat().st_size for path in files) <= 4_000_000
    assert all(path.is_file() and path.suffix in DECIDING for path in files)


@each
def test_it_is_the_pinned_one(name: str) -> None:
    pin = load_pins().models[f"builtin/{name}"]
    assert pin.files == deciding_files(BUILTIN / name)
    assert set(pin.files) == {path.name for path in (BUILTIN / name).iterdir()} - set(RECORDS)
    identity = describe(parse(f"builtin/{name}"), offline=True, allow_unpinned=False)
    assert (identity.id, identity.folder) == (f"builtin/{name}", BUILTIN / name)


@pytest.mark.skipif(TRANSFORMERS < (4, 57), reason="before, transformers itself reads no processor saved by 5")
@each
def test_the_library_loads_every_tensor_and_the_processor(name: str) -> None:
    model, report = ClapModel.from_pretrained(BUILTIN / name, output_loading_info=True)
    assert not [key for keys in report.values() for key in keys]
    assert model.config.audio_config.enable_fusion is ("unfused" not in name)
    front = ClapProcessor.from_pretrained(BUILTIN / name).feature_extractor
    assert (front.sampling_rate, front.nb_max_samples, front.feature_size) == (48_000, 480_000, 64)
    assert front.truncation == ("rand_trunc" if "unfused" in name else "fusion")


@pytest.mark.slow
@each
def test_it_tells_sounds_and_their_order_apart(name: str) -> None:
    """Vectors are unit and differ; a cow's and a door's captions each lie nearer to their own sound."""
    model, protocol = Clap(BUILTIN / name, device="cpu"), Protocol()
    clips = [(("cow",),), (("door",),), (("cow",), ("door",)), (("door",), ("cow",))]
    audio = model.embed_audio([np.divide(mix(clip), 32_768, dtype=np.float32) for clip in clips], protocol)
    text = model.embed_text(["a cow mooing", "a door slamming"], protocol)
    assert audio.shape == (4, 96)
    np.testing.assert_allclose(np.linalg.norm(np.concatenate([audio, text]), axis=1), 1, atol=1e-5)
    scores = text @ audio[:2].T
    assert scores[0, 0] > scores[0, 1]
    assert scores[1, 1] > scores[1, 0]
    assert audio[2] @ audio[3] < 0.999
    assert model.text_limit == 512


@each
def test_its_record_names_the_command_that_made_it(name: str) -> None:
    record = json.loads((BUILTIN / name / "training.json").read_text(encoding="utf-8"))
    assert record["command"] == COMMANDS.get(name, f"python tools/train_tiny_clap.py {name}")
    assert len(record["epochs"]) == record["recipe"]["stage"]["epochs"]
    assert record["recipe"]["fused"] is ("unfused" not in name)


def metrics(direction: str, name: str) -> dict[str, float]:
    path: Path = shipped("baselines") / "sounds" / direction / f"builtin--{name}.json"
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    return found


@pytest.mark.parametrize("name", JUDGED)
def test_its_baseline_leaves_room_to_lose_and_to_gain(name: str) -> None:
    """A gate on a model that is perfect, or that guesses, could not show a difference."""
    text_to_audio, audio_to_text = metrics("t2a", name), metrics("a2t", name)
    assert 0.50 <= text_to_audio["R@1"] <= 0.85
    assert text_to_audio["R@5"] >= 0.85
    assert text_to_audio["R@10"] < 0.99
    assert 0.50 <= audio_to_text["R@1"] < audio_to_text["R@10"] <= 1


@pytest.mark.parametrize("direction", ["t2a", "a2t", "forms"])
@pytest.mark.parametrize("name", NAMES)
def test_its_baseline_is_of_these_weights_and_sounds(direction: str, name: str) -> None:
    path = shipped("baselines") / "sounds" / direction / f"builtin--{name}.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    identity = describe(parse(f"builtin/{name}"), offline=True, allow_unpinned=False)
    assert run["model"]["weights_sha256"] == identity.weights_sha256
    pinned = load_pins().dataset_fingerprint("builtin/sounds")
    # The forms that are asked are part of the data.
    assert (run["dataset"]["fingerprint"] == pinned) is (direction != "forms")
    assert run["direction"] == direction
