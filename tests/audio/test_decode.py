from __future__ import annotations

import csv
import io
import struct
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.audio.decode import check, decode, describe
from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.errors import AudioError

RATE = 44_100
SOUNDS = Path(__file__).parents[3] / "shared" / "data" / "sounds"


def sine(seconds=0.5, amplitude=0.5, rate=RATE, hertz=440.0):
    return (amplitude * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def stored(samples, *, container="WAV", subtype="PCM_16", rate=RATE):
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=container, subtype=subtype)
    return file.getvalue()


def refusal(call, *arguments, **keywords):
    with pytest.raises(AudioError) as caught:
        call(*arguments, name="a clip", **keywords)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("clip 'a clip': found ")
    assert ", expected " in text
    return text


class TestDecode:
    @pytest.mark.parametrize(
        ("subtype", "step"),
        [("PCM_U8", 2**-7), ("PCM_16", 2**-15), ("PCM_24", 2**-23), ("PCM_32", 2**-31), ("FLOAT", 0), ("DOUBLE", 0)],
    )
    def test_one_sine_is_the_same_floats_at_every_depth(self, subtype, step):
        tone = sine()
        waveform = decode(stored(tone, subtype=subtype), name="tone")
        assert waveform.rate == RATE
        assert waveform.samples.shape == (22_050, 1)
        assert waveform.samples.dtype == np.float32
        np.testing.assert_allclose(waveform.samples[:, 0], tone, rtol=0, atol=step + 2**-25)

    @pytest.mark.parametrize(("container", "subtype"), [("FLAC", "PCM_24"), ("AIFF", "PCM_16"), ("CAF", "PCM_16")])
    def test_lossless_containers_agree(self, container, subtype):
        tone = sine()
        waveform = decode(stored(tone, container=container, subtype=subtype), name="tone")
        np.testing.assert_allclose(waveform.samples[:, 0], tone, rtol=0, atol=2**-15)

    def test_channels_stay_apart_and_in_order(self):
        stereo = np.stack([sine(amplitude=0.25), sine(amplitude=0.75)], axis=1)
        waveform = decode(stored(stereo, subtype="FLOAT"), name="stereo")
        np.testing.assert_array_equal(waveform.samples, stereo)

    def test_a_path_and_its_bytes_are_one_clip(self, tmp_path):
        content = stored(sine())
        (tmp_path / "-a b, c's.raw").write_bytes(content)
        by_path = decode(tmp_path / "-a b, c's.raw", name="x")
        np.testing.assert_array_equal(by_path.samples, decode(content, name="x").samples)

    def test_more_than_full_scale_is_kept(self):
        waveform = decode(stored(sine(amplitude=1.5), subtype="FLOAT"), name="loud")
        assert describe(waveform).peak == pytest.approx(1.5, abs=1e-4)

    def test_a_recorder_that_knew_no_length_is_read_to_the_end(self):
        content = bytearray(stored(sine()))
        struct.pack_into("<I", content, 4, 0xFFFFFFFF)
        struct.pack_into("<I", content, 40, 0xFFFFFFFF)
        assert decode(bytes(content), name="stream").samples.shape == (22_050, 1)


class TestDecodeRefuses:
    def test_a_missing_file(self, tmp_path):
        text = refusal(decode, tmp_path / "absent.wav")
        assert str(tmp_path / "absent.wav") in text
        assert "No such file" in text

    def test_a_folder(self, tmp_path):
        assert "cannot be read" in refusal(decode, tmp_path)

    def test_an_empty_file(self):
        assert "empty" in refusal(decode, b"")

    @pytest.mark.parametrize("content", [b"<html>404</html>", bytes(4096), b"RIFF\0\0\0\0WAVE", b"fLaC", b"OggS" * 9])
    def test_what_is_no_sound(self, content):
        assert "unreadable" in refusal(decode, content)

    @pytest.mark.parametrize(
        ("container", "subtype"),
        [
            ("WAV", "PCM_16"),
            ("WAV", "PCM_24"),
            ("WAV", "FLOAT"),
            ("RF64", "PCM_16"),
            ("W64", "PCM_16"),
            ("AIFF", "PCM_16"),
            ("AU", "PCM_16"),
            ("CAF", "PCM_16"),
            ("FLAC", "PCM_16"),
            ("OGG", "VORBIS"),
            ("MP3", "MPEG_LAYER_III"),
        ],
    )
    @pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
    def test_a_file_cut_short(self, container, subtype, kept):
        noise = np.random.default_rng(1).normal(0, 0.1, 6 * RATE).astype(np.float32)
        whole = stored(noise, container=container, subtype=subtype)
        slack = 4 * 1152 if container == "MP3" else 0
        assert abs(len(decode(whole, name="whole").samples) - len(noise)) <= slack
        assert "expected a " in refusal(decode, whole[: round(kept * len(whole))])

    def test_a_file_whose_middle_is_gone(self):
        noise = np.random.default_rng(1).normal(0, 0.1, 6 * RATE).astype(np.float32)
        whole = bytearray(stored(noise, container="FLAC"))
        whole[len(whole) // 2 : len(whole) // 2 + 500] = bytes(500)
        refusal(decode, bytes(whole))

    def test_no_frames(self):
        assert "0 frames" in refusal(decode, stored(np.zeros(0, np.float32)))

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_a_sample_that_is_not_finite(self, bad):
        samples = sine()
        samples[123] = bad
        assert f"{bad} at frame 123" in refusal(decode, stored(samples, subtype="FLOAT"))

    def test_integers_stored_as_floats(self):
        text = refusal(decode, stored(sine() * 32768, subtype="FLOAT"))
        assert "amplitude of 163" in text
        assert "32768" in text

    @pytest.mark.parametrize("rate", [1, 999, 768_001, 2**31 - 1])
    def test_a_rate_that_cannot_be(self, rate):
        assert f"sample rate {rate}" in refusal(decode, stored(sine(), rate=rate))

    @pytest.mark.parametrize("rate", [1_000, 768_000])
    def test_but_takes_the_outermost_rates(self, rate):
        assert decode(stored(sine(), rate=rate), name="x").rate == rate

    @pytest.mark.parametrize("frames", [0, 2**36 - 1, 2 * RATE])
    def test_a_flac_that_declares_no_or_too_many_frames(self, frames):
        content = bytearray(stored(sine(), container="FLAC"))
        word = int.from_bytes(content[18:26], "big") >> 36 << 36 | frames
        content[18:26] = word.to_bytes(8, "big")
        refusal(decode, bytes(content))

    @pytest.mark.parametrize(
        ("container", "subtype"), [("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("AIFF", "PCM_16")]
    )
    def test_a_damaged_header_is_an_audio_error_or_a_clip_in_range(self, container, subtype):
        content = stored(sine(0.05), container=container, subtype=subtype)
        refused = 0
        for position, value in product(range(80), (0x00, 0x7F, 0x80, 0xFF)):
            damaged = content[:position] + bytes([value]) + content[position + 1 :]
            try:
                waveform = decode(damaged, name="x")
            except AudioError:
                refused += 1
                continue
            assert np.isfinite(waveform.samples).all()
            assert len(waveform.samples)
            assert 1_000 <= waveform.rate <= 768_000
        assert 60 < refused < 320


class TestCheck:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_one_channel(self, dtype):
        samples = np.array([0.5, -0.25, 1.0], dtype=dtype)
        waveform = check(samples, 48_000, name="x")
        assert waveform.samples.dtype == np.float32
        np.testing.assert_array_equal(waveform.samples, [[0.5], [-0.25], [1.0]])

    def test_channels_last(self):
        samples = np.zeros((9, 8))
        samples[3, 7] = 0.5
        assert check(samples, 48_000, name="x").samples[3, 7] == 0.5

    def test_a_short_clip_of_one_channel(self):
        assert check(np.zeros((5, 1)), 48_000, name="x").samples.shape == (5, 1)

    def test_the_array_is_copied(self):
        samples = np.zeros((16, 2), np.float32)
        waveform = check(samples, 48_000, name="x")
        samples[:] = 1
        assert waveform.samples.max() == 0

    @pytest.mark.parametrize(
        ("dtype", "do"),
        [
            (np.int16, "divide by 32768 "),
            (np.int32, "divide by 2147483648 "),
            (np.int8, "divide by 128 "),
            (np.uint8, "subtract 128 and divide by 128 "),
        ],
    )
    def test_integers_are_refused_with_their_scale(self, dtype, do):
        assert f"found {np.dtype(dtype)} samples" in (text := refusal(check, np.ones(100, dtype), rate=48_000))
        assert do in text

    @pytest.mark.parametrize("dtype", [bool, complex, object])
    def test_other_dtypes_are_refused(self, dtype):
        assert "convert it to float32" in refusal(check, np.zeros(100, dtype), rate=48_000)

    @pytest.mark.parametrize(
        ("shape", "found"),
        [
            ((2, 96_000), "(channels, frames)"),
            ((1, 96_000), "(channels, frames)"),
            ((8, 9), "(channels, frames)"),
            ((2, 2), "cannot be told apart"),
            ((8, 8), "cannot be told apart"),
            ((9, 9), "9 channels"),
            ((48_000, 10), "10 channels"),
            ((1, 2, 96_000), "shape (1, 2, 96000)"),
            ((0,), "shape (0,)"),
            ((0, 2), "shape (0, 2)"),
            ((96_000, 0), "shape (96000, 0)"),
            ((), "shape ()"),
        ],
    )
    def test_shapes_that_are_no_clip(self, shape, found):
        assert found in refusal(check, np.zeros(shape, np.float32), rate=48_000)

    def test_a_torch_tensor(self):
        torch = pytest.importorskip("torch")
        text = refusal(check, torch.zeros(1, 96_000), rate=48_000)
        assert "a torch Tensor" in text
        assert "numpy()" in text

    @pytest.mark.parametrize("samples", [[0.0, 0.5], {"array": np.zeros(9), "sampling_rate": 48_000}, None, b"RIFF"])
    def test_what_is_no_array(self, samples):
        assert f"found a {type(samples).__name__}" in refusal(check, samples, rate=48_000)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_samples_that_are_not_finite(self, bad):
        samples = np.zeros((100, 2))
        samples[7, 1] = bad
        assert f"{bad} at frame 7" in refusal(check, samples, rate=48_000)

    @pytest.mark.parametrize("peak", [4.01, -4.01, 32767.0, 1e300])
    def test_unscaled_floats(self, peak):
        assert "amplitude" in refusal(check, np.array([0.0, peak]), rate=48_000)

    def test_four_times_full_scale_is_still_taken(self):
        assert check(np.array([0.0, -4.0]), 48_000, name="x").samples.min() == -4

    @pytest.mark.parametrize("rate", [999, 768_001, 0, -48_000, 44_100.5, True, "48000", None])
    def test_rates(self, rate):
        assert f"sample rate {rate!r}" in refusal(check, np.zeros(100), rate=rate)

    def test_a_numpy_rate(self):
        assert type(check(np.zeros(100), np.int64(48_000), name="x").rate) is int


class TestDescribe:
    def test_a_plain_clip(self):
        facts = describe(Waveform(np.array([[0.25, -0.5], [0.0, 0.125]], np.float32), 1_000))
        assert facts.peak == 0.5
        assert not facts.silent
        assert facts.seconds == 0.002

    @pytest.mark.parametrize(("peak", "silent"), [(0.0, True), (9e-7, True), (1.1e-6, False), (2**-15, False)])
    def test_silence(self, peak, silent):
        samples = np.zeros((100, 1), np.float32)
        samples[50] = -peak
        assert describe(Waveform(samples, 48_000)).silent is silent


@pytest.mark.skipif(not SOUNDS.is_dir(), reason="needs ../shared/data/sounds")
class TestRealRecordings:
    def test_every_recording_has_the_length_rate_and_peak_of_its_manifest(self):
        with (SOUNDS / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 175
        for row in rows[::7] + [row for row in rows if row["path"].endswith(".mp3")]:
            waveform = decode(SOUNDS / row["path"], name=row["path"])
            assert waveform.samples.shape == (int(row["frames"]), int(row["channels"])), row["path"]
            assert waveform.rate == int(row["sample_rate"])
            assert describe(waveform).peak == pytest.approx(float(row["peak"]), abs=6e-5)

    @pytest.mark.parametrize(("file", "peak"), [("horse", 1.0026), ("pig", 1.0057)])
    def test_mp3_above_full_scale(self, file, peak):
        facts = describe(decode(SOUNDS / "ovos-animals-cc0" / f"{file}.mp3", name=file))
        assert facts.peak == pytest.approx(peak, abs=5e-5)

    def test_a_long_ogg_cut_short(self):
        content = (SOUNDS / "long-cc-by" / "Kevin_MacLeod_-_Vibe_Ace.ogg").read_bytes()
        assert decode(content, name="x").samples.shape == (1_355_168, 1)
        assert "without its last page" in refusal(decode, content[: len(content) * 6 // 10])
