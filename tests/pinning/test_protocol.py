"""Named and custom protocols."""

from __future__ import annotations

import pytest

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol, named, parse_custom


def test_short_clip_is_the_pinned_protocol() -> None:
    """The pinned protocol: 48 kHz mono, soxr, first 10 s, fp32, audio batch 1, text batch 64, seed 20261028."""
    p = NAMED["short-clip"]
    assert (p.sample_rate, p.window_samples, p.audio_batch, p.text_batch, p.seed) == (
        48_000,
        480_000,
        1,
        64,
        20_261_028,
    )
    assert (p.channels, p.resampler, p.window, p.dtype, p.is_longer) == (
        "mean",
        "soxr_hq",
        "first",
        "float32",
        "true_length",
    )


def test_the_fingerprint_follows_settings_and_not_the_name() -> None:
    assert Protocol(name="x").fingerprint == Protocol().fingerprint
    assert len({p.fingerprint for p in NAMED.values()}) == len(NAMED)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_another_protocol(dtype: str) -> None:
    made = parse_custom([f"half: base=short-clip dtype={dtype}"])["half"]
    assert made.settings() == {**Protocol().settings(), "dtype": dtype}
    assert made.fingerprint != Protocol().fingerprint


def test_a_custom_protocol() -> None:
    made = parse_custom(["msclap: base=short-clip seconds=7 sample_rate=44100 quantize_int16=true"])["msclap"]
    assert (made.seconds, made.sample_rate, made.quantize_int16, made.audio_batch) == (7.0, 44_100, True, 1)
    assert named("msclap", {"msclap": made}) is made


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x seconds=7", "expected 'name: field=value ...'"),
        ("x: second=7", "protocol 'x' has no field 'second', expected one of audio_batch, channels, dtype, "),
        ("x: seconds=long", "seconds is 'long', expected a number"),
        ("x: audio_batch=1.5", "audio_batch is '1.5', expected a whole number"),
        ("x: seconds=0", "seconds is '0', expected a finite number above 0"),
        ("x: seconds=nan", "seconds is 'nan', expected a finite number above 0"),
        ("x: seed=-1", "seed is '-1', expected a number from 0 to 4294967295"),
        ("x: seed=4294967296", "seed is '4294967296', expected a number from 0 to 4294967295"),
        ("x: dtype=float8", "dtype is 'float8', expected one of float32, float16, bfloat16"),
        ("x: window=last", "window is 'last', expected one of first, tiles, crops, processor"),
        ("x: quantize_int16=yes", "quantize_int16 is 'yes', expected one of true, false"),
        ("x: base=shortclip", "did you mean 'short-clip'?"),
        ("x: seconds", "expected field=value"),
    ],
)
def test_a_wrong_line_says_what_is_wrong(line: str, expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_custom([line])
    assert expected in str(caught.value)
