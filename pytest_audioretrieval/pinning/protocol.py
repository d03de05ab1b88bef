"""Protocols: every setting that decides how sound and text become vectors.

"Pinned protocol", here and elsewhere, means "CLAP audio-text retrieval, pinned protocol"
(b4ph/clap-retrieval-benchmark on the Hugging Face hub); this file follows its section "Fixtures and protocol".
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import SpecError, did_you_mean


@dataclass(frozen=True)
class Protocol:
    """One way of turning clips and captions into unit vectors.

    Attributes:
        name: name that users type; not part of the fingerprint.
        sample_rate: rate of the model's input, in Hz.
        channels: ``"mean"``: channels are averaged before resampling.
        resampler: ``"soxr_hq"``; output length is ``round(n * sample_rate / rate)``.
        window: ``"first"`` keeps the first ``seconds``; ``"tiles"`` covers the clip with windows of ``seconds``, one
            after another, and averages their vectors, weighted by length; ``"crops"`` passes on the whole clip, of
            which the model gets fixed crops where its processor would draw random ones; ``"processor"`` leaves the
            choice to the processor.
        seconds: length of a window.
        dtype: type of the model's weights and arithmetic; log-mels and unit vectors are float32 in any case.
        audio_batch: clips per forward pass.
        text_batch: captions per forward pass.
        is_longer: ``"true_length"`` (so False inside a window) or ``"processor"``, whose draw is random
            (fault 1: transformers #50097).
        max_text_tokens: limit at which captions are cut; cuts are counted.
        quantize_int16: round samples through int16 as the laion_clap package does (fault 31).
        seed: seed of python, numpy, torch and CUDA.

    >>> from pytest_audioretrieval import Protocol
    >>> protocol = Protocol(name="seven-seconds", seconds=7)
    >>> protocol.window_samples
    336000
    >>> protocol.fingerprint == Protocol(seconds=7).fingerprint
    True
    """

    name: str = "short-clip"
    sample_rate: int = 48_000
    channels: Literal["mean"] = "mean"
    resampler: Literal["soxr_hq"] = "soxr_hq"
    window: Literal["first", "tiles", "crops", "processor"] = "first"
    seconds: float = 10.0
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    audio_batch: int = 1
    text_batch: int = 64
    is_longer: Literal["true_length", "processor"] = "true_length"
    max_text_tokens: int = 512
    quantize_int16: bool = False
    seed: int = SEED

    @property
    def window_samples(self) -> int:
        """Samples in one window at ``sample_rate``."""
        return round(self.seconds * self.sample_rate)

    def settings(self) -> dict[str, Any]:
        """Return every field but the name."""
        values = asdict(self)
        del values["name"]
        return values

    def stated(self) -> dict[str, Any]:
        """Return the name, every setting and the fingerprint, as runs and reports hold them."""
        return {"name": self.name, **self.settings(), "fingerprint": self.fingerprint}

    @property
    def drawn(self) -> bool:
        """True if the processor draws at random, so that one clip has several vectors (faults 1 and 4)."""
        return "processor" in (self.window, self.is_longer)

    @property
    def fingerprint(self) -> str:
        """Digest of the settings: sha256, in hex."""
        return hashlib.sha256(json.dumps(self.settings(), sort_keys=True).encode()).hexdigest()


NAMED: dict[str, Protocol] = {
    "short-clip": Protocol(),
    "processor-native": Protocol(name="processor-native", window="processor", is_longer="processor", audio_batch=8),
    "full-clip": Protocol(name="full-clip", window="tiles"),
    "fixed-crops": Protocol(name="fixed-crops", window="crops"),
}


def named(name: str, custom: dict[str, Protocol] | None = None) -> Protocol:
    """Return the protocol called ``name``, from ``custom`` or the built-in ones.

    Raises:
        SpecError: there is no such protocol; the error shows the nearest name.
    """
    known = {**NAMED, **(custom or {})}
    if name in known:
        return known[name]
    raise SpecError(
        f"unknown protocol {name!r}", remedy=f"{did_you_mean(name, known)}choose one of {', '.join(sorted(known))}"
    )


def parse_custom(lines: list[str]) -> dict[str, Protocol]:
    """Read ini lines ``name: base=short-clip seconds=7 quantize_int16=true`` into protocols."""
    found: dict[str, Protocol] = {}
    for line in lines:
        name, separator, rest = line.partition(":")
        if not separator or not name.strip():
            raise SpecError(
                f"protocol line {line!r} cannot be read", expected="'name: field=value ...'", remedy="write it so"
            )
        if name.strip() in {*NAMED, *found}:
            raise SpecError(f"protocol {name.strip()!r} exists already", remedy="give yours another name")
        found[name.strip()] = _parse_one(name.strip(), rest)
    return found


def _parse_one(name: str, rest: str) -> Protocol:
    words = [_pair(name, word) for word in rest.split()]
    pairs = dict(words)
    if len(pairs) != len(words):
        raise SpecError(f"protocol {name!r}: a field stands twice in {rest.strip()!r}", remedy="write each once")
    base = named(pairs.pop("base", "short-clip"))
    hints = get_type_hints(Protocol)
    allowed = {f.name for f in fields(Protocol)} - {"name"}
    changes: dict[str, Any] = {}
    for key, text in pairs.items():
        if key not in allowed:
            raise SpecError(
                f"protocol {name!r} has no field {key!r}",
                expected=f"one of {', '.join(sorted(allowed))}",
                remedy="correct it",
            )
        changes[key] = _convert(name, key, text, hints[key])
    made = replace(base, name=name, **changes)
    if not made.window_samples:
        raise SpecError(
            f"protocol {name!r}: a window of {made.seconds} s at {made.sample_rate} Hz holds no sample",
            remedy="raise seconds or sample_rate",
        )
    return made


def _pair(name: str, word: str) -> tuple[str, str]:
    key, separator, value = word.partition("=")
    if not separator:
        raise SpecError(f"protocol {name!r}: found {word!r}", expected="field=value", remedy="write it so")
    return key, value


def _convert(name: str, key: str, text: str, hint: Any) -> Any:
    what = f"protocol {name!r}: {key} is {text!r}"
    options = get_args(hint)
    if hint is bool:
        options = ("true", "false")
    if options:
        if text not in options:
            raise SpecError(what, expected=f"one of {', '.join(options)}", remedy="correct it")
        return text == "true" if hint is bool else text
    try:
        value = hint(text)
    except ValueError:
        raise SpecError(what, expected="a whole number" if hint is int else "a number", remedy="correct it") from None
    if key == "seed" and not 0 <= value < 2**32:
        raise SpecError(what, expected=f"a number from 0 to {2**32 - 1}", remedy="correct it")
    if key != "seed" and not 0 < value < math.inf:
        raise SpecError(what, expected="a finite number above 0", remedy="correct it")
    return value
