"""The CLAP adapter: what it feeds the model, what it refuses, what it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel, ClapProcessor, RobertaTokenizer, logging

from pytest_audioretrieval.errors import AudioError, ModelError
from pytest_audioretrieval.models import clap
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.protocol import NAMED
from pytest_audioretrieval.spec import BUILTIN

Vectors = npt.NDArray[np.float32]
SHORT, NATIVE = NAMED["short-clip"], NAMED["processor-native"]
RATE, LIMIT = 48_000, 480_000
TONES = (220.0, 440.0, 1000.0, 3000.0, 150.0, 600.0, 5000.0, 9000.0)
ULP = 2e-6


def tone(frequency: float, samples: int = 2 * RATE) -> Vectors:
    return (0.5 * np.sin(2 * np.pi * frequency * np.arange(samples) / RATE)).astype(np.float32)


def tones(count: int = 8) -> list[Vectors]:
    return [tone(frequency) for frequency in TONES[:count]]


@pytest.fixture(scope="module")
def fused(tiny_clap: Path) -> Clap:
    return Clap(tiny_clap, device="cpu")


@pytest.fixture(scope="module")
def unfused(tiny_clap_unfused: Path) -> Clap:
    return Clap(tiny_clap_unfused, device="cpu")


@pytest.fixture
def copy(tiny_clap: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_clap, tmp_path / "copy"))


@pytest.fixture
def flags(fused: Clap, monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
    """The ``is_longer`` of each forward pass."""
    seen: list[list[bool]] = []
    forward = fused._model.get_audio_features

    def spy(*, input_features: torch.Tensor, is_longer: torch.Tensor) -> Any:
        assert is_longer.shape == (len(input_features), 1)
        seen.append(is_longer[:, 0].tolist())
        return forward(input_features=input_features, is_longer=is_longer)

    monkeypatch.setattr(fused._model, "get_audio_features", spy)
    return seen


@pytest.mark.parametrize("kind", ["fused", "unfused"])
def test_vectors_are_those_of_the_models_own_joint_forward(
    kind: str, tiny_clap: Path, tiny_clap_unfused: Path, fused: Clap, unfused: Clap
) -> None:
    """Independent route: ``ClapModel.forward`` pools and normalises on its own (fault 77: not ``output[0]``)."""
    folder, mine = (tiny_clap, fused) if kind == "fused" else (tiny_clap_unfused, unfused)
    model = ClapModel.from_pretrained(folder).eval()
    windows, texts = tones(3), ["a dog barks", "rain", "a bell rings twice"]
    features = ClapFeatureExtractor.from_pretrained(folder)(windows, sampling_rate=RATE, return_tensors="pt")
    words = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        both = model(**words, input_features=features["input_features"], is_longer=torch.zeros(3, 1, dtype=torch.bool))
    audio, text = mine.embed_audio(windows, SHORT), mine.embed_text(texts, SHORT)
    np.testing.assert_allclose(audio, both.audio_embeds.numpy(), atol=ULP)
    np.testing.assert_allclose(text, both.text_embeds.numpy(), atol=ULP)
    assert audio.dtype == text.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(audio, axis=1), 1, atol=1e-6)


def test_the_model_is_in_eval_mode_and_float32(fused: Clap, copy: Path) -> None:
    assert not any(part.training for part in fused._model.modules())
    ClapModel.from_pretrained(copy).half().save_pretrained(copy)
    halved = Clap(copy, device="cpu")
    assert {p.dtype for p in halved._model.parameters()} == {torch.float32}
    # As float16 keeps 11 bits, the same model to within a percent, yet not the same bits.
    cosine = np.sum(halved.embed_audio(tones(2), SHORT) * fused.embed_audio(tones(2), SHORT), axis=1)
    assert ((cosine > 0.999) & (cosine < 1.0 + 1e-6)).all()


def test_short_clips_are_never_flagged_longer(fused: Clap, flags: list[list[bool]]) -> None:
    """Faults 1, 78: the processor flags one short clip of each batch at random; we go by the true length."""
    made = []
    for seed in range(3):
        np.random.seed(seed)
        made.append(fused.embed_audio(tones(4), SHORT).tobytes())
    assert flags == [[False] * 4] * 3
    assert len(set(made)) == 1


def test_the_processors_draw_is_reproduced_on_demand(fused: Clap, flags: list[list[bool]]) -> None:
    """Fault 1, as ``np.random.randint(0, 4)`` draws it; a batch of one is always flagged."""
    for seed in range(6):
        np.random.seed(seed)
        drawn = np.random.randint(0, 4)
        np.random.seed(seed)
        fused.embed_audio(tones(4), NATIVE)
        assert flags[-1] == [position == drawn for position in range(4)]
    assert len({tuple(row) for row in flags}) > 1
    fused.embed_audio(tones(1), NATIVE)
    assert flags[-1] == [True]


def test_the_flag_moves_a_real_checkpoints_vector_far() -> None:
    """Fault 86: why the draw matters. A batch of one is always flagged by the processor."""
    model = Clap(BUILTIN / "tiny-clap-fused", device="cpu")
    plain, flagged = model.embed_audio(tones(1), SHORT), model.embed_audio(tones(1), NATIVE)
    assert float((plain * flagged).sum()) < 0.9999


@pytest.mark.parametrize("kind", ["fused", "unfused"])
def test_a_batch_of_eight_is_eight_batches_of_one(kind: str, request: pytest.FixtureRequest) -> None:
    """Faults 3, 11, 12: only the order of float additions may differ, and no rank."""
    model: Clap = request.getfixturevalue(kind)
    batch = [
        tone(f, n) for f, n in zip(TONES, (1, 100, 4800, 2 * RATE, 3 * RATE, 7 * RATE, LIMIT - 1, LIMIT), strict=True)
    ]
    together = model.embed_audio(batch, SHORT)
    alone = np.concatenate([model.embed_audio([window], SHORT) for window in batch])
    np.testing.assert_allclose(together, alone, atol=ULP)
    np.testing.assert_array_equal(model.embed_audio(batch[::-1], SHORT)[::-1].argmax(1), alone.argmax(1))


def test_padding_beside_a_longer_text_changes_nothing(fused: Clap) -> None:
    """Fault 50: the text's own attention mask is passed."""
    texts = ["rain", "a dog barks at a passing car and then a second dog answers from across the street"]
    together = fused.embed_text(texts, SHORT)
    alone = np.concatenate([fused.embed_text([text], SHORT) for text in texts])
    np.testing.assert_allclose(together, alone, atol=ULP)
    assert float(together[0] @ together[1]) < 0.9999


@pytest.mark.parametrize("samples", [LIMIT - 1, LIMIT])
def test_ten_seconds_fit(samples: int, fused: Clap, flags: list[list[bool]]) -> None:
    assert fused.embed_audio([tone(440, samples)], SHORT).shape == (1, 12)
    assert flags == [[False]]


@pytest.mark.parametrize("samples", [LIMIT + 1, LIMIT + 479, LIMIT + 480, 12 * RATE])
def test_what_the_processor_would_crop_at_random_is_refused(samples: int, fused: Clap) -> None:
    """Faults 4, 40."""
    with pytest.raises(AudioError, match=f"window 1: {samples} samples, the model reads {LIMIT}"):
        fused.embed_audio([tone(440), tone(440, samples)], SHORT)


@pytest.mark.parametrize(
    ("samples", "raw"),
    [(LIMIT - 1, False), (LIMIT, False), (LIMIT + 1, False), (LIMIT + 479, False), (LIMIT + 480, True)],
)
def test_the_corner_at_ten_seconds(
    samples: int, raw: bool, fused: Clap, tiny_clap: Path, flags: list[list[bool]]
) -> None:
    """Fault 40: up to 479 samples over 10 s the processor says "not longer", then draws; the true length says longer."""
    clips = [tone(440, samples), tone(440, 12 * RATE)]
    extractor = ClapFeatureExtractor.from_pretrained(tiny_clap)
    assert extractor(clips, sampling_rate=RATE)["is_longer"] == [[raw], [True]]
    fused.embed_audio(clips, NATIVE)
    fused.embed_audio(clips, replace(NATIVE, is_longer="true_length"))
    assert flags == [[raw, True], [samples > LIMIT, True]]


@pytest.mark.parametrize("kind", ["fused", "unfused"])
def test_a_long_clip_under_processor_native_is_a_draw(kind: str, request: pytest.FixtureRequest) -> None:
    """Fault 4: 6 s at 300 Hz, then 6 s at 3 kHz; one seed gives one vector, another seed another."""
    model: Clap = request.getfixturevalue(kind)
    clip = np.concatenate([tone(300, 6 * RATE), tone(3000, 6 * RATE)])

    def drawn(seed: int) -> bytes:
        np.random.seed(seed)
        return model.embed_audio([clip], NATIVE).tobytes()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (torch.zeros(1, 96_000), "found Tensor torch.float32 (1, 96000)"),  # fault 16
        (torch.zeros(96_000), "found Tensor torch.float32 (96000,)"),
        (np.zeros((2, 96_000), dtype=np.float32), "found ndarray float32 (2, 96000)"),  # fault 17
        (np.zeros((96_000, 2), dtype=np.float32), "found ndarray float32 (96000, 2)"),
        (np.full(96_000, 16_384, dtype=np.int16), "found ndarray int16 (96000,)"),  # fault 18
        (np.zeros(96_000), "found ndarray float64 (96000,)"),
        (np.full(96_000, 0.5 * 32_768, dtype=np.float32), "an amplitude of 16384, expected floats in +-1"),
        (np.zeros(0, dtype=np.float32), "found ndarray float32 (0,)"),  # fault 19
        ([0.0, 0.1], "found list"),
        (np.array([0, np.nan, 0], dtype=np.float32), "samples that are not finite"),  # fault 20
        (np.array([0, np.inf, 0], dtype=np.float32), "samples that are not finite"),
    ],
)
def test_what_is_no_clip_is_refused_before_the_front_end(window: Any, expected: str, fused: Clap) -> None:
    with pytest.raises(AudioError) as caught:
        fused.embed_audio([tone(440), window], SHORT)
    assert str(caught.value).startswith("window 1: ")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_rate_than_the_models_is_refused(fused: Clap) -> None:
    with pytest.raises(ModelError, match="the protocol feeds 44100 Hz, this model hears 48000 Hz"):
        fused.embed_audio(tones(1), replace(SHORT, sample_rate=44_100))


@pytest.mark.parametrize("options", [{"max_length": 77}, {"truncation": True}, {"padding": "max_length"}])
def test_settings_of_the_text_never_reach_the_audio(
    options: dict[str, Any], fused: Clap, tiny_clap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faults 46 to 48: what the joint processor hands on changes the log-mels of a 3 s tone; ours are the plain ones.

    The first two are also caught by shape, were they ever to arrive.
    """
    clip = tone(440, 3 * RATE)
    front = ClapFeatureExtractor.from_pretrained(tiny_clap)
    plain = front([clip], sampling_rate=RATE, return_tensors="pt")["input_features"]
    leaked = ClapProcessor.from_pretrained(tiny_clap)(
        text=["rain"], audio=clip, sampling_rate=RATE, return_tensors="pt", **options
    )["input_features"]
    assert leaked.shape != plain.shape or not torch.equal(leaked, plain)
    seen: list[torch.Tensor] = []
    forward = fused._model.get_audio_features
    monkeypatch.setattr(
        fused._model, "get_audio_features", lambda **given: (seen.append(given["input_features"]), forward(**given))[1]
    )
    fused.embed_audio([clip], SHORT)
    assert torch.equal(seen[0], plain)
    if leaked.shape != plain.shape:
        with pytest.raises(ModelError, match=r"front-end returned .* expected \(1, 4, 1001, 64\)"):
            fused._checked(leaked, 1)


def test_a_tokenizer_that_remembers_truncation_crops_neither_sound_nor_text(fused: Clap, copy: Path) -> None:
    """Fault 85: through the joint processor such a folder gives 1 frame of log-mels instead of 1,001."""
    processor = ClapProcessor.from_pretrained(copy)
    processor.tokenizer(["rain"], truncation=True, max_length=77)
    processor.save_pretrained(copy)
    assert json.loads((copy / "tokenizer.json").read_text())["truncation"]["max_length"] == 77
    again = ClapProcessor.from_pretrained(copy)(audio=tone(440), sampling_rate=RATE, return_tensors="pt")
    assert again["input_features"].shape == (1, 4, 1, 64)
    remembering = Clap(copy, device="cpu")
    text = "a dog barks " * 20
    np.testing.assert_array_equal(remembering.embed_audio(tones(2), SHORT), fused.embed_audio(tones(2), SHORT))
    np.testing.assert_array_equal(remembering.embed_text([text], SHORT), fused.embed_text([text], SHORT))
    assert remembering.count_cut([text], SHORT) == 0


def test_long_texts_are_cut_and_counted(fused: Clap) -> None:
    """Fault 44: RoBERTa has 514 positions, 2 of which hold no token; a token here is a character."""
    assert fused.text_limit == 512
    long = "dog " * 600
    fits, over = "d" * 510, "d" * 511
    np.testing.assert_array_equal(fused.embed_text([long], SHORT), fused.embed_text([long[:510]], SHORT))
    np.testing.assert_array_equal(fused.embed_text([over], SHORT), fused.embed_text([fits], SHORT))
    assert [fused.count_cut([text], SHORT) for text in (fits, over, long)] == [0, 1, 1]
    assert fused.count_cut([fits, over, long], SHORT) == 2
    assert fused.embed_text(["dog " * 10_000], SHORT).shape == (1, 12)


def test_the_protocols_text_limit_is_kept(fused: Clap) -> None:
    ten = replace(SHORT, max_text_tokens=10)
    np.testing.assert_array_equal(fused.embed_text(["abcdefghij"], ten), fused.embed_text(["abcdefgh"], ten))
    assert [fused.count_cut([text], ten) for text in ("abcdefgh", "abcdefghi")] == [0, 1]
    for limit in (1, 2):
        with pytest.raises(ModelError, match=f"cut to {limit} tokens, of which 2 are special"):
            fused.embed_text(["rain"], replace(SHORT, max_text_tokens=limit))


def test_features_are_unwrapped_by_type() -> None:
    """Fault 77: a tensor before transformers 5, an output with ``pooler_output`` since; ``[0]`` is something else."""
    rows = torch.tensor([[3.0, 4.0], [0.0, -2.0]])
    expected = [[0.6, 0.8], [0.0, -1.0]]
    for output in (rows, SimpleNamespace(pooler_output=rows, last_hidden_state=torch.zeros(2, 5, 2))):
        np.testing.assert_allclose(clap._unit(output, 2), expected, rtol=1e-6)


@pytest.mark.parametrize("bad", [0.0, float("nan"), float("inf")])
def test_a_vector_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(ModelError, match="input 1 of the batch has a vector that is zero or not finite"):
        clap._unit(torch.tensor([[1.0, 0.0], [bad, 0.0]]), 2)
    with pytest.raises(ModelError, match=r"model returned \(2, 1, 1\) for 2 inputs"):
        clap._unit(torch.ones(2, 1, 1), 2)
    with pytest.raises(ModelError, match=r"model returned \(2, 1\) for 3 inputs"):
        clap._unit(torch.ones(2, 1), 3)


def _edit(file: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = json.loads((folder / file).read_text())
        change(content)
        (folder / file).write_text(json.dumps(content))

    return damage


def _write(file: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: void((folder / file).write_bytes(content))


def void(_: object) -> None:
    return None


def _truncate(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])


def _remove(*files: str) -> Callable[[Path], None]:
    return lambda folder: void([(folder / file).unlink() for file in files])


def _add_tokens(folder: Path) -> None:
    words = RobertaTokenizer.from_pretrained(folder)
    words.add_tokens(["<sound>"])
    words.save_pretrained(folder)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (_truncate, "is no loadable CLAP"),
        (_write("model.safetensors", b""), "is no loadable CLAP"),
        (_write("model.safetensors", b"\x80\x04" * 100), "is no loadable CLAP"),
        (_remove("config.json"), "is no loadable CLAP"),
        (_write("config.json", b'{"model_type": '), "is no loadable CLAP"),
        (_remove("model.safetensors"), "is no loadable CLAP"),
        (_remove("tokenizer.json", "tokenizer_config.json"), "holds no vocabulary, expected one of"),
        (_remove("tokenizer.json"), "holds no vocabulary, expected one of"),
        (_write("tokenizer.json", b"{}"), "is no loadable CLAP"),
        (_remove("processor_config.json"), "is no loadable CLAP"),
        (_edit("config.json", lambda c: c.update(model_type="bert")), "says model_type 'bert', expected 'clap'"),
        (_write("config.json", b"{}"), "says model_type None, expected 'clap'"),
        (_edit("config.json", lambda c: c["text_config"].update(hidden_size="wide")), "is no loadable CLAP"),
        (_edit("config.json", lambda c: c["text_config"].update(num_hidden_layers=2)), "weights lack 16 tensors"),
        (_edit("config.json", lambda c: c.update(projection_dim=24)), "is no loadable CLAP"),
        (
            _edit("processor_config.json", lambda c: c["feature_extractor"].update(truncation="rand_trunc")),
            "truncation is 'rand_trunc', a model with enable_fusion=True was trained with 'fusion'",
        ),
        (_add_tokens, "the tokenizer has 101 tokens, the model 100"),
    ],
)
def test_a_damaged_folder_is_one_line(
    damage: Callable[[Path], None], expected: str, copy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(copy)
    capfd.readouterr()
    with pytest.raises(ModelError) as caught:
        Clap(copy, device="cpu")
    text = str(caught.value)
    assert text.startswith(str(copy))
    assert expected in text
    assert "\n" not in text
    assert capfd.readouterr() == ("", "")


def test_code_in_a_folder_is_neither_run_nor_asked_about(
    fused: Clap, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left to itself transformers asks on the terminal, for 15 s, whether to run it."""
    (copy / "evil.py").write_text("raise SystemExit('ran')")
    named = {"AutoTokenizer": ["evil.Slow", "evil.Fast"], "AutoConfig": "evil.Config"}
    _edit("config.json", lambda content: content.update(auto_map=named))(copy)
    _edit("tokenizer_config.json", lambda content: content.update(auto_map=named, tokenizer_class="Evil"))(copy)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked"))
    made = Clap(copy, device="cpu").embed_text(["a dog barks"], SHORT)
    np.testing.assert_array_equal(made, fused.embed_text(["a dog barks"], SHORT))


def test_loading_says_nothing_and_leaves_transformers_as_it_was(tiny_clap: Path, copy: Path) -> None:
    """In a process of its own: transformers' log handler keeps the stderr of its import."""
    _remove("model.safetensors")(copy)
    script = f"""
import warnings, numpy as np
from pathlib import Path
from transformers import logging
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.protocol import Protocol
warnings.simplefilter("error")
before = logging.get_verbosity(), logging.is_progress_bar_enabled()
model = Clap(Path({str(tiny_clap)!r}), device="cpu")
model.embed_audio([np.ones(100, dtype=np.float32)], Protocol())
model.embed_text(["dog " * 600], Protocol())
model.count_cut(["dog " * 600], Protocol())
try:
    Clap(Path({str(copy)!r}), device="cpu")
except ModelError:
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_the_users_verbosity_and_bars_come_back(tiny_clap: Path) -> None:
    logging.disable_progress_bar()
    try:
        Clap(tiny_clap, device="cpu")
        assert not logging.is_progress_bar_enabled()
    finally:
        logging.enable_progress_bar()
