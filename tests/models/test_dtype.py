"""Half precision: the model computes in it, vectors stay float32, and other models refuse it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.saliency import boundary_saliency
from pytest_audioretrieval.models.types import refuse_dtype
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import BUILTIN

SHORT = Protocol()
TIME = np.arange(48_000) / 48_000
SOUNDS = [(np.sin(2 * np.pi * f * TIME) / 2).astype(np.float32) for f in (220, 1000, 5000)]
TEXTS = ["a cow mooing", "a door slamming", "rain"]


@pytest.mark.parametrize("name", ["tiny-clap-fused", "tiny-clap-unfused"])
@pytest.mark.parametrize(("dtype", "near", "apart"), [("float16", 1e-4, 1e-9), ("bfloat16", 1e-2, 1e-6)])
def test_vectors_are_those_of_the_rounded_model(name: str, dtype: str, near: float, apart: float) -> None:
    """float16 keeps 11 bits of a number, bfloat16 8: as far off as that, and the copy leaves the model as it was."""
    model, half = Clap(BUILTIN / name, device="cpu"), replace(SHORT, dtype=dtype)
    before = model.embed_audio(SOUNDS, SHORT), model.embed_text(TEXTS, SHORT)
    made = model.embed_audio(SOUNDS, half), model.embed_text(TEXTS, half)
    for exact, rounded in zip(before, made, strict=True):
        assert rounded.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rounded, axis=1), 1, atol=1e-6)
        off = 1 - (exact.astype(np.float64) * rounded).sum(axis=1) / np.linalg.norm(rounded.astype(np.float64), axis=1)
        assert off.max() < near
        assert off.max() > apart, "computed in float32 after all"
    np.testing.assert_array_equal(model.embed_audio(SOUNDS, SHORT), before[0])
    np.testing.assert_array_equal(model.embed_text(TEXTS, SHORT), before[1])


def test_weights_and_log_mels_are_of_that_dtype(tiny_clap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, half = Clap(tiny_clap, device="cpu"), replace(SHORT, dtype="bfloat16")
    copy, seen = model._model_in("bfloat16"), []
    forward = copy.get_audio_features

    def note(**given: Any) -> Any:
        seen.append(given["input_features"].dtype)
        return forward(**given)

    monkeypatch.setattr(copy, "get_audio_features", note)
    model.embed_audio(SOUNDS, half)
    assert seen == [torch.bfloat16]
    assert {p.dtype for p in copy.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in model.model.parameters()} == {torch.float32}


def test_a_model_that_states_no_dtypes_is_asked_in_float32_only() -> None:
    plain, both = SimpleNamespace(), SimpleNamespace(dtypes=("float32", "bfloat16"))
    refuse_dtype(plain, "float32")  # type: ignore[arg-type]
    refuse_dtype(both, "bfloat16")  # type: ignore[arg-type]
    for model, known in ((plain, "float32"), (both, "float32, bfloat16")):
        with pytest.raises(ModelError, match=f"dtype is float16, SimpleNamespace computes in {known} only"):
            refuse_dtype(model, "float16")  # type: ignore[arg-type]


def test_gradients_are_not_labelled_with_it(tiny_clap: Path) -> None:
    vectors = np.eye(12, dtype=np.float32)[:1]
    with pytest.raises(ModelError, match="dtype is float16, gradients are taken in float32"):
        boundary_saliency(
            Clap(tiny_clap, device="cpu"), ["a"], [[(0, 1)]], vectors, vectors, replace(SHORT, dtype="float16")
        )
