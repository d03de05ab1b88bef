"""CLAP adapter: input of the model, refusals and warnings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel, ClapProcessor

from pytest_audioretrieval.errors import AudioError, ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.inference import unit_rows
from pytest_audioretrieval.pinning.protocol import NAMED
from pytest_audioretrieval.pinning.spec import BUILTIN
from tests.models.tiny_clap import TRANSFORMERS

Vectors = npt.NDArray[np.float32]
SHORT, NATIVE = NAMED["short-clip"], NAMED["processor-native"]
RATE, LIMIT = 48_000, 480_000
TONES = (220.0, 440.0, 1000.0, 3000.0, 150.0, 600.0, 5000.0, 9000.0)
ULP = 2e-6
#: What the joint processor calls its clips.
SOUND = "audio" if TRANSFORMERS >= (4, 57) else "audios"


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
def flags(fused: Clap, monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
    """The ``is_longer`` of each forward pass."""
    seen: list[list[bool]] = []
    forward = fused.model.get_audio_features

    def spy(*, input_features: torch.Tensor, is_longer: torch.Tensor) -> Any:
        assert is_longer.shape == (len(input_features), 1)
        seen.append(is_longer[:, 0].tolist())
        return forward(input_features=input_features, is_longer=is_longer)

    monkeypatch.setattr(fused.model, "get_audio_features", spy)
    return seen


@pytest.mark.slow
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
    assert not any(part.training for part in fused.model.modules())
    ClapModel.from_pretrained(copy).half().save_pretrained(copy)
    halved = Clap(copy, device="cpu")
    assert {p.dtype for p in halved.model.parameters()} == {torch.float32}
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    with pytest.raises(AudioError, match=f"window 1 has {samples} samples, the model reads {LIMIT}"):
        fused.embed_audio([tone(440), tone(440, samples)], SHORT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "raw"),
    [(LIMIT - 1, False), (LIMIT, False), (LIMIT + 1, False), (LIMIT + 479, False), (LIMIT + 480, True)],
)
def test_the_corner_at_ten_seconds(
    samples: int, raw: bool, fused: Clap, tiny_clap: Path, flags: list[list[bool]]
) -> None:
    """Fault 40: up to 479 samples over 10 s the processor says "not longer", then draws; the length says longer."""
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
        (torch.zeros(1, 96_000), "is Tensor torch.float32 (1, 96000)"),  # fault 16
        (torch.zeros(96_000), "is Tensor torch.float32 (96000,)"),
        (np.zeros((2, 96_000), dtype=np.float32), "is ndarray float32 (2, 96000)"),  # fault 17
        (np.zeros((96_000, 2), dtype=np.float32), "is ndarray float32 (96000, 2)"),
        (np.full(96_000, 16_384, dtype=np.int16), "is ndarray int16 (96000,)"),  # fault 18
        (np.zeros(96_000), "is ndarray float64 (96000,)"),
        (np.full(96_000, 0.5 * 32_768, dtype=np.float32), "an amplitude of 16384, expected floats in +-1"),
        (np.zeros(0, dtype=np.float32), "is ndarray float32 (0,)"),  # fault 19
        ([0.0, 0.1], "is list"),
        (np.array([0, np.nan, 0], dtype=np.float32), "samples that are not finite"),  # fault 20
        (np.array([0, np.inf, 0], dtype=np.float32), "samples that are not finite"),
    ],
)
def test_what_is_no_clip_is_refused_before_the_front_end(window: Any, expected: str, fused: Clap) -> None:
    with pytest.raises(AudioError) as caught:
        fused.embed_audio([tone(440), window], SHORT)
    assert str(caught.value).startswith("window 1 ")
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
        text=["rain"], sampling_rate=RATE, return_tensors="pt", **{SOUND: clip}, **options
    )["input_features"]
    assert leaked.shape != plain.shape or (leaked - plain).abs().max() > 1
    seen: list[torch.Tensor] = []
    forward = fused.model.get_audio_features
    monkeypatch.setattr(
        fused.model, "get_audio_features", lambda **given: (seen.append(given["input_features"]), forward(**given))[1]
    )
    fused.embed_audio([clip], SHORT)
    torch.testing.assert_close(seen[0], plain[:, :1], atol=1e-4, rtol=0)
    if leaked.shape != plain.shape:
        with pytest.raises(ModelError, match=r"front-end returned .* expected \(1, 4, 1001, 64\)"):
            fused._checked(leaked, 1)


def test_a_fused_model_needs_one_channel_where_nothing_is_long(fused: Clap) -> None:
    """The other three are shrunk like the first and then not read; one long window in the batch needs all four."""
    short, long = tone(440, 3 * RATE), np.concatenate([tone(440, 8 * RATE), tone(880, 8 * RATE)])
    for windows in ([short, short[: 2 * RATE]], [short, long]):
        features, longer = fused._log_mel(windows, "cpu")
        assert tuple(features.shape) == (2, 4, 1001, 64)
        with torch.inference_mode():
            output = fused.model.get_audio_features(input_features=features, is_longer=longer)
        whole = unit_rows(output, 2)
        made = fused.embed_audio(windows, NAMED["fixed-crops"])
        np.testing.assert_allclose(made, whole, atol=1e-6)


@pytest.mark.slow
def test_a_tokenizer_that_remembers_truncation_crops_neither_sound_nor_text(fused: Clap, copy: Path) -> None:
    """Fault 85: through the joint processor such a folder gives 1 frame of log-mels instead of 1,001."""
    processor = ClapProcessor.from_pretrained(copy)
    processor.tokenizer(["rain"], truncation=True, max_length=77)
    processor.save_pretrained(copy)
    assert json.loads((copy / "tokenizer.json").read_text())["truncation"]["max_length"] == 77
    again = ClapProcessor.from_pretrained(copy)(sampling_rate=RATE, return_tensors="pt", **{SOUND: tone(440)})
    if TRANSFORMERS >= (5, 24):  # 5.0 and before do without
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
        np.testing.assert_allclose(unit_rows(output, 2), expected, rtol=1e-6)


@pytest.mark.parametrize("bad", [0.0, float("nan"), float("inf")])
def test_a_vector_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(ModelError, match="input 1 of the batch has a vector that is zero or not finite"):
        unit_rows(torch.tensor([[1.0, 0.0], [bad, 0.0]]), 2)
    with pytest.raises(ModelError, match=r"model returned \(2, 1, 1\) for 2 inputs"):
        unit_rows(torch.ones(2, 1, 1), 2)
    with pytest.raises(ModelError, match=r"model returned \(2, 1\) for 3 inputs"):
        unit_rows(torch.ones(2, 1), 3)
