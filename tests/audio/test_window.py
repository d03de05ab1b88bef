from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
import soxr
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.audio.window import first, prepare, quantize_int16, resample, tiles, to_mono
from pytest_audioretrieval.errors import AudioError
from pytest_audioretrieval.pinning.protocol import NAMED

SHORT, FULL, NATIVE = NAMED["short-clip"], NAMED["full-clip"], NAMED["processor-native"]
RATES = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_056, 44_100, 47_999, 48_001, 96_000, 192_000]


def tone(hertz, rate, seconds=1.0, amplitude=0.5):
    return (amplitude * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def clip(*channels, rate):
    return Waveform(np.stack(channels, axis=1), rate)


def ramp(n):
    return np.linspace(-1, 1, n, dtype=np.float32)


class TestToMono:
    def test_the_mean_of_the_channels(self):
        mono = to_mono(Waveform(np.array([[0.5, -0.25], [1.0, 1.0], [0.25, 0.0]], np.float32), 48_000))
        assert mono.dtype == np.float32
        np.testing.assert_array_equal(mono, np.float32([0.125, 1.0, 0.125]))

    def test_the_sum_is_exact_before_it_is_rounded(self):
        mono = to_mono(Waveform(np.array([[1.0, 2**-25, 2**-25, -1.0]], np.float32), 48_000))
        np.testing.assert_array_equal(mono, np.float32([2**-26]))

    def test_one_channel_is_itself(self):
        np.testing.assert_array_equal(to_mono(Waveform(ramp(99)[:, None], 48_000)), ramp(99))


class TestResample:
    @pytest.mark.parametrize("rate", RATES)
    @pytest.mark.parametrize("n", [1, 3, 7, 999, 44_101, 65_537])
    def test_length_is_the_rounded_one(self, rate, n):
        exact = Fraction(n * 48_000, rate)
        assert len(resample(np.zeros(n, np.float32), rate, 48_000)) == round(exact)

    def test_half_a_sample_rounds_to_even(self):
        assert len(resample(np.zeros(3, np.float32), 32_000, 48_000)) == 4
        assert len(resample(np.zeros(5, np.float32), 32_000, 48_000)) == 8

    @pytest.mark.parametrize("rate", RATES)
    def test_a_tone_keeps_its_pitch_level_and_phase(self, rate):
        found = resample(tone(1_000, rate), rate, 48_000)
        wanted = tone(1_000, 48_000)
        assert found.dtype == np.float32
        assert len(found) == len(wanted)
        inner = slice(2_400, -2_400)
        np.testing.assert_allclose(found[inner], wanted[inner], rtol=0, atol=2e-5)

    def test_what_the_new_rate_cannot_hold_is_filtered_out(self):
        assert np.abs(resample(tone(15_000, 48_000), 48_000, 16_000)[800:-800]).max() < 1e-5

    def test_at_its_own_rate_a_clip_is_untouched(self):
        np.testing.assert_array_equal(resample(ramp(100), 48_000, 48_000), ramp(100))

    @pytest.mark.parametrize("off", [-2, -1, 0, 1, 2])
    def test_another_soxr_may_round_by_a_sample_or_two(self, monkeypatch, off):
        monkeypatch.setattr(soxr, "resample", lambda *a, **k: ramp(2_000 + off))
        found = resample(np.zeros(1_000, np.float32), 24_000, 48_000)
        np.testing.assert_array_equal(found, [*ramp(2_000 + off), 0, 0][:2_000])

    @pytest.mark.parametrize("off", [-3, 3])
    def test_but_not_by_more(self, monkeypatch, off):
        monkeypatch.setattr(soxr, "resample", lambda *a, **k: ramp(2_000 + off))
        with pytest.raises(AudioError, match=f"found {2_000 + off} samples after soxr 24000 -> 48000, expected 2000"):
            resample(np.zeros(1_000, np.float32), 24_000, 48_000)


class TestWindows:
    @pytest.mark.parametrize("n", [1, 9, 10, 11])
    def test_first(self, n):
        np.testing.assert_array_equal(first(ramp(n), 10), ramp(n)[:10])

    @given(n=st.integers(1, 60), length=st.integers(1, 20))
    def test_tiles_cover_the_clip_once_and_only_the_last_is_short(self, n, length):
        windows = tiles(ramp(n), length)
        np.testing.assert_array_equal(np.concatenate(windows), ramp(n))
        assert len(windows) == ceil(n / length)
        assert [len(w) for w in windows[:-1]] == [length] * (len(windows) - 1)
        assert 1 <= len(windows[-1]) <= length


class TestQuantize:
    def test_values_as_laion_clap_computes_them(self):
        step = 1 / 32767
        samples = np.float32([0.0, 1.0, -1.0, 1.5, -7.0, 0.9 * step, -0.9 * step, 1.9 * step, 0.5])
        wanted = np.float32([0, 1, -1, 1, -1, 0, 0, step, 16383 * step])
        found = quantize_int16(samples)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, wanted)

    @given(st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=50))
    def test_toward_zero_by_less_than_a_step(self, values):
        samples = np.clip(np.float32(values), -1, 1)
        lost = np.abs(samples.astype(np.float64)) - np.abs(quantize_int16(np.float32(values)).astype(np.float64))
        assert (lost > -1e-7).all()
        assert (lost < 1 / 32767 + 1e-7).all()


class TestPrepare:
    @pytest.mark.parametrize("n", [479_999, 480_000, 480_001, 480_479, 480_480])
    def test_lengths_around_ten_seconds(self, n):
        mono = ramp(n)
        waveform = Waveform(mono[:, None], 48_000)
        (window,) = prepare(waveform, SHORT)
        np.testing.assert_array_equal(window, mono[:480_000])
        assert [len(w) for w in prepare(waveform, FULL)] == [min(n, 480_000)] + ([n - 480_000] if n > 480_000 else [])
        np.testing.assert_array_equal(prepare(waveform, NATIVE)[0], mono)
        np.testing.assert_array_equal(prepare(waveform, NAMED["fixed-crops"])[0], mono)

    @pytest.mark.parametrize("rate", [22_050, 44_100, 96_000])
    def test_stereo_is_averaged_before_it_is_resampled(self, rate):
        low, high = tone(500, rate, 2.0), tone(3_000, rate, 2.0)
        (window,) = prepare(clip(low, high, rate=rate), SHORT)
        assert window.shape == (96_000,)
        wanted = (tone(500, 48_000, 2.0) + tone(3_000, 48_000, 2.0)) / 2
        np.testing.assert_allclose(window[2_400:-2_400], wanted[2_400:-2_400], rtol=0, atol=2e-5)

    def test_six_seconds_of_stereo_are_six_seconds(self):
        half = tone(440, 48_000, 6.0)
        (window,) = prepare(clip(half, half, rate=48_000), SHORT)
        np.testing.assert_array_equal(window, half)

    def test_the_first_ten_seconds_are_cut_after_resampling(self):
        rate = 44_100
        waveform = Waveform(np.concatenate([tone(300, rate, 6), tone(3_000, rate, 6)])[:, None], rate)
        (window,) = prepare(waveform, SHORT)
        np.testing.assert_array_equal(window, resample(waveform.samples[:, 0], rate, 48_000)[:480_000])

    def test_int16_is_applied_at_the_model_rate(self):
        waveform = Waveform(tone(440, 44_100, 0.1)[:, None], 44_100)
        (plain,), (coarse,) = prepare(waveform, SHORT), prepare(waveform, replace(SHORT, quantize_int16=True))
        np.testing.assert_array_equal(coarse, quantize_int16(plain))
        assert (coarse != plain).any()

    def test_above_full_scale_is_clipped_by_int16_only(self):
        waveform = Waveform(np.float32([[1.0057], [-1.0026], [0.0]]), 48_000)
        np.testing.assert_array_equal(prepare(waveform, SHORT)[0], np.float32([1.0057, -1.0026, 0]))
        np.testing.assert_array_equal(prepare(waveform, replace(SHORT, quantize_int16=True))[0], np.float32([1, -1, 0]))

    def test_the_protocol_decides_rate_and_length(self):
        (window,) = prepare(Waveform(ramp(96_000)[:, None], 48_000), replace(SHORT, sample_rate=16_000, seconds=1.5))
        assert window.shape == (24_000,)

    def test_twice_gives_the_same_bits(self):
        waveform = Waveform(np.random.default_rng(3).normal(0, 0.1, (100_003, 2)).astype(np.float32), 44_100)
        for one, other in zip(prepare(waveform, FULL), prepare(waveform, FULL), strict=True):
            assert one.tobytes() == other.tobytes()

    def test_nothing_left_at_the_new_rate(self):
        with pytest.raises(AudioError, match="clip 'tick': found 2 frames at 768000 Hz, which is no sample at 48000"):
            prepare(Waveform(np.zeros((2, 1), np.float32), 768_000), SHORT, name="tick")

    def test_a_sample_that_is_not_finite(self):
        with pytest.raises(AudioError, match="clip 'x': found samples that are not finite"):
            prepare(Waveform(np.float32([[0.0], [np.nan]]), 48_000), SHORT, name="x")
