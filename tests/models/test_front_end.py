"""Log-mels against transformers' extractor, and against formulas worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import ClapFeatureExtractor

from pytest_audioretrieval.audio.decode import decode
from pytest_audioretrieval.audio.window import prepare
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.front_end import LogMel
from pytest_audioretrieval.models.inference import unit_rows
from pytest_audioretrieval.pinning.protocol import NAMED
from tests.examples import examples

Vectors = npt.NDArray[np.float32]
RATE, LIMIT, FRAMES, HALF = 48_000, 480_000, 1001, 512
BANKS = ("fusion", "rand_trunc")
PADDINGS = ("repeatpad", "repeat", "pad")
#: 0.001 dB is what may move nothing; 0.00001 is what rounding to float32 moves near 100 dB.
ASKED, FOUND = 1e-3, 2e-5
RECORDINGS = sorted((Path(__file__).parents[2] / "pytest_audioretrieval/data/sounds/recordings").glob("*.*"))


def sine(frequency: float, samples: int = 2 * RATE, level: float = 0.5) -> Vectors:
    return (level * np.sin(2 * np.pi * frequency * np.arange(samples) / RATE)).astype(np.float32)


def noise(samples: int, seed: int = 0) -> Vectors:
    return np.random.default_rng(seed).normal(0, 0.1, samples).astype(np.float32)


def theirs(extractor: Any, windows: Sequence[Vectors]) -> npt.NDArray[np.float32]:
    made: npt.NDArray[np.float32] = extractor(list(windows), sampling_rate=RATE, return_tensors="np")["input_features"]
    return made


def ours(extractor: Any, windows: Sequence[Vectors]) -> npt.NDArray[np.float32]:
    made: npt.NDArray[np.float32] = LogMel(extractor)(windows, "cpu")[0].numpy()
    return made


def assert_same(mine: npt.NDArray[np.float32], expected: npt.NDArray[np.float32], limit: float = FOUND) -> None:
    assert mine.shape == expected.shape
    assert mine.dtype == expected.dtype == np.float32
    difference = np.abs(mine - expected)
    audible = np.maximum(mine, expected) > -80
    assert difference[audible].max(initial=0.0) <= min(limit, ASKED)
    assert difference.max() <= ASKED


# --- the filters


def filters(scale: str, *, mels: int, window: int, high: int) -> npt.NDArray[np.float64]:
    """Filters that transformers makes at 48 kHz from 0 to ``high`` Hz, float64 [window // 2 + 1, mels]."""
    extractor = ClapFeatureExtractor(
        feature_size=mels, fft_window_size=window, sampling_rate=RATE, frequency_min=0, frequency_max=high
    )
    made: npt.NDArray[np.float64] = extractor.mel_filters if scale == "htk" else extractor.mel_filters_slaney
    return made


def test_an_htk_filter_by_hand() -> None:
    """0 to 14 kHz is 0 to 2595 log10(21) mels; of 4 edges the second lies at 700 (21^(1/3) - 1) = 1231.2 Hz."""
    bank = filters("htk", mels=2, window=48, high=14_000)  # a bin is 1 kHz
    second, third = 700 * (21 ** (1 / 3) - 1), 700 * (21 ** (2 / 3) - 1)
    assert (round(second, 1), round(third, 1)) == (1231.2, 4628.2)
    assert bank.shape == (25, 2)
    assert bank[0, 0] == 0.0
    assert bank[1, 0] == pytest.approx(1000 / 1231.2, abs=1e-4)
    assert bank[3, 0] == pytest.approx((4628.2 - 3000) / (4628.2 - 1231.2), abs=1e-4)
    assert bank[3, 1] == pytest.approx((3000 - 1231.2) / (4628.2 - 1231.2), abs=1e-4)
    assert bank[10, 1] == pytest.approx((14_000 - 10_000) / (14_000 - 4628.2), abs=1e-4)
    assert bank[14:].max() == 0.0


def test_a_slaney_filter_by_hand() -> None:
    """Linear to 1 kHz, mel 15; 6.4 kHz is 27 mels higher: 7 equal steps of 6 mels, below 1 kHz of 400 Hz."""
    bank = filters("slaney", mels=6, window=480, high=6_400)  # a bin is 100 Hz
    edges = [0, 400, 800, *(1000 * 6.4 ** ((mel - 15) / 27) for mel in (18, 24, 30, 36, 42))]
    assert bank[2, 0] == pytest.approx(0.5 * 2 / 800)  # half way up, of a band of 800 Hz
    assert bank[4, 0] == pytest.approx(2 / 800)
    assert bank[7, 1] == pytest.approx((700 - 400) / 400 * 2 / (edges[3] - 400))
    assert bank[50, 5] == pytest.approx((6400 - 5000) / (6400 - edges[6]) * 2 / (6400 - edges[5]))
    fine = filters("slaney", mels=6, window=48_000, high=6_400)
    np.testing.assert_allclose(fine.sum(axis=0), 1.0, rtol=1e-5)  # each band's area over 1 Hz bins


def test_a_tone_on_a_bin_by_hand() -> None:
    """A sine of amplitude a on bin k gives (a 1024 / 4)^2 there and a quarter of it on either side."""
    k, a = 85, 0.25
    frequency = k * RATE / 1024
    extractor = ClapFeatureExtractor()
    bank = extractor.mel_filters
    power = np.zeros(513)
    power[k], power[[k - 1, k + 1]] = (a * 1024 / 4) ** 2, (a * 1024 / 4) ** 2 / 4
    expected = 10 * np.log10(np.maximum(power @ bank, 1e-10))
    heard = expected > 0
    assert heard.sum() == 2
    mine = ours(extractor, [sine(frequency, LIMIT, a)])[0, 0, 500]
    np.testing.assert_allclose(mine[heard], expected[heard], atol=1e-4)


# --- against the extractor


@pytest.mark.slow
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("truncation", BANKS)
def test_sounds_of_every_kind(truncation: str, padding: str) -> None:
    """Pure tones are what float32 transforms get wrong by decibels."""
    extractor = ClapFeatureExtractor(truncation=truncation, padding=padding, frequency_min=50)
    windows = [
        noise(LIMIT),
        noise(130_001, seed=1),
        sine(1000, LIMIT, 1.0),
        sine(85 * RATE / 1024, 7 * RATE, 1.0),
        np.full(3 * RATE, 0.5, dtype=np.float32),
        np.concatenate([np.zeros(RATE, np.float32), np.ones(1, np.float32), np.zeros(RATE, np.float32)]),
        (1e-4 * noise(5 * RATE)).astype(np.float32),
    ]
    assert_same(ours(extractor, windows), theirs(extractor, windows))


@pytest.mark.slow
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("truncation", BANKS)
def test_lengths_at_the_corners(truncation: str, padding: str) -> None:
    """Corner cases are lengths at which tiles, zeros and mirrored ends meet, and those below fault 40."""
    extractor = ClapFeatureExtractor(truncation=truncation, padding=padding)
    lengths = (1, 2, 479, 480, 512, 513, 239_999, 240_000, 240_001, LIMIT - HALF - 1, LIMIT - HALF, LIMIT - 1, LIMIT)
    windows = [noise(length, seed=length) for length in lengths]
    assert_same(ours(extractor, windows), theirs(extractor, windows))


@pytest.mark.slow
@examples(25)
@given(length=st.integers(1, LIMIT), padding=st.sampled_from(PADDINGS), truncation=st.sampled_from(BANKS))
def test_any_length(length: int, padding: str, truncation: str) -> None:
    extractor = ClapFeatureExtractor(truncation=truncation, padding=padding)
    windows = [noise(length, seed=length)]
    assert_same(ours(extractor, windows), theirs(extractor, windows))


@pytest.mark.parametrize("truncation", BANKS)
def test_silence_is_the_floor_to_the_bit(truncation: str) -> None:
    """Fault 21."""
    extractor = ClapFeatureExtractor(truncation=truncation)
    mine = ours(extractor, [np.zeros(n, dtype=np.float32) for n in (1, RATE, LIMIT)])
    np.testing.assert_array_equal(mine, np.float32(-100))
    assert mine.shape == (3, 4 if truncation == "fusion" else 1, FRAMES, 64)


@pytest.mark.slow
@pytest.mark.parametrize("truncation", BANKS)
def test_recordings(truncation: str) -> None:
    extractor = ClapFeatureExtractor(truncation=truncation, frequency_min=50)
    sounds = [path for path in RECORDINGS if path.suffix in (".flac", ".ogg", ".wav")][::6]
    assert len(sounds) >= 8
    windows = [prepare(decode(path, name=path.name), NAMED["short-clip"])[0] for path in sounds]
    assert_same(ours(extractor, windows), theirs(extractor, windows))


def test_other_settings_are_followed() -> None:
    """Settings other than those of the laion checkpoints count too."""
    extractor = ClapFeatureExtractor(
        truncation="rand_trunc", sampling_rate=16_000, max_length_s=2, hop_length=160, fft_window_size=400,
        feature_size=40, frequency_min=100, frequency_max=7_000, top_db=80,
    )  # fmt: skip
    windows = [noise(n, seed=n) for n in (31_999, 9_000, 32_000)]
    expected = extractor(windows, sampling_rate=16_000, return_tensors="np")["input_features"]
    assert expected.shape == (3, 1, 201, 40)
    assert_same(ours(extractor, windows), expected)


# --- batches


@pytest.mark.parametrize("truncation", BANKS)
def test_a_batch_is_its_windows_one_by_one_to_the_bit(truncation: str) -> None:
    front = LogMel(ClapFeatureExtractor(truncation=truncation))
    windows = [noise(n, seed=n) for n in (1, 4_800, LIMIT + 48_000, 96_000, LIMIT - 1, LIMIT, LIMIT + 48_000)]
    together, longer = front(windows, "cpu")
    alone = [front([window], "cpu") for window in windows]
    assert torch.equal(together, torch.cat([features for features, _ in alone]))
    assert longer.tolist() == [flags[0].tolist() for _, flags in alone]
    assert longer[:, 0].tolist() == [False, False, True, False, False, False, True]


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU takes many windows and frames at once; here with its block size on the CPU."""
    front = LogMel(ClapFeatureExtractor())
    windows = [noise(n, seed=n) for n in (7, 96_000, LIMIT, 300_000, LIMIT + 48_000)]
    small = front(windows, "cpu")[0]
    monkeypatch.setattr("pytest_audioretrieval.models.front_end.CPU_FRAMES", 2 * FRAMES)
    torch.testing.assert_close(front(windows, "cpu")[0], small, atol=FOUND, rtol=0)


def test_the_windows_are_left_as_they_were() -> None:
    window = noise(LIMIT)
    before = window.copy()
    LogMel(ClapFeatureExtractor())([window], "cpu")
    np.testing.assert_array_equal(window, before)


# --- long windows


@pytest.mark.parametrize(
    "samples", [LIMIT + 1, LIMIT + 479, LIMIT + 480, LIMIT + 960, LIMIT + 1440, 12 * RATE, 700_001]
)
def test_long_windows_of_a_fused_model_are_a_draw_of_the_extractor(
    samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault 40 from above. The draws are fixed to the first, middle and last of the three ranges it offers."""
    picks = iter([0.0, 0.5, 1.0])

    def pick(choices: Any) -> Any:
        place = next(picks)
        return choices[-1] if place == 1.0 else choices[int(place * len(choices))]

    extractor, window = ClapFeatureExtractor(), noise(samples)
    monkeypatch.setattr(np.random, "choice", pick)
    made = extractor([window], sampling_rate=RATE, return_tensors="np")
    features, longer = LogMel(extractor)([window], "cpu")
    assert_same(features.numpy(), made["input_features"])
    assert longer.tolist() == [[samples >= LIMIT + 480]]


def test_long_windows_of_an_unfused_model_are_their_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    extractor, window = ClapFeatureExtractor(truncation="rand_trunc"), noise(LIMIT + 1001)
    monkeypatch.setattr(np.random, "randint", lambda low, high: (high - 1) // 2)
    features, longer = LogMel(extractor)([window], "cpu")
    assert_same(features.numpy(), theirs(extractor, [window]))
    assert_same(features.numpy(), ours(extractor, [window[500 : 500 + LIMIT]]))
    assert longer.tolist() == [[True]]


@pytest.mark.slow
def test_crops_do_not_depend_on_the_state_of_numpy(tiny_clap: Path) -> None:
    """Fault 4: 6 s at 300 Hz, then 6 s at 3 kHz, the whole of it heard; ``first`` hears another sound."""
    model = Clap(tiny_clap, device="cpu")
    window = np.concatenate([sine(300, 6 * RATE), sine(3000, 6 * RATE)])
    made = set()
    for seed in range(3):
        np.random.seed(seed)
        made.add(model.embed_audio([window], NAMED["fixed-crops"]).tobytes())
    assert len(made) == 1
    crops = model.embed_audio([window, window[:LIMIT]], NAMED["fixed-crops"])
    first = model.embed_audio([window[:LIMIT]], NAMED["short-clip"])
    assert float((crops[1] * first[0]).sum()) > 0.999999
    assert float((crops[0] * first[0]).sum()) < 0.9999


# --- through a model


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fused", "unfused"])
def test_vectors_are_those_of_the_extractors_log_mels(kind: str, tiny_clap: Path, tiny_clap_unfused: Path) -> None:
    model = Clap(tiny_clap if kind == "fused" else tiny_clap_unfused, device="cpu")
    windows = [noise(RATE), sine(440), sine(3000, LIMIT), noise(300_000), np.zeros(RATE, np.float32)]
    with torch.inference_mode():
        output = model.model.get_audio_features(
            input_features=torch.from_numpy(theirs(model._extractor, windows)),
            is_longer=torch.zeros(len(windows), 1, dtype=torch.bool),
        )
    expected = unit_rows(output, len(windows))
    made = model.embed_audio(windows, NAMED["short-clip"])
    assert (made.astype(np.float64) * expected).sum(axis=1).min() >= 0.999999


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 7, 11, 12, 16, 105])
def test_the_number_of_threads_changes_no_bit(rows: int) -> None:
    """``rows`` frames in the last block; products of 5 to 11 rows depend on the threads (MKL)."""
    log_mel, threads = LogMel(ClapFeatureExtractor(padding="pad")), torch.get_num_threads()
    noise = np.random.default_rng(0).normal(size=(128 + rows - 2) * 480).astype(np.float32) / 8
    try:
        found = []
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(log_mel([noise], "cpu")[0])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(*found)
