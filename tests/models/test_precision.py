"""float32 means float32, and the user's own torch settings come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.protocol import Protocol


@pytest.fixture
def loose() -> Any:
    """Settings a user may have made for speed."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    yield
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.benchmark = before[1]


@pytest.mark.usefixtures("loose")
def test_inference_is_exact_and_repeatable_whatever_the_user_set(
    tiny_clap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Clap(tiny_clap, device="cpu")
    seen = []

    def note(name: str) -> None:
        real = getattr(model.model, name)

        def call(**inputs: Any) -> Any:
            cudnn = torch.backends.cudnn
            seen.append((torch.get_float32_matmul_precision(), cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32))
            return real(**inputs)

        monkeypatch.setattr(model.model, name, call)

    note("get_audio_features")
    note("get_text_features")
    model.embed_audio([np.ones(100, dtype=np.float32)], Protocol())
    model.embed_text(["a dog"], Protocol())
    assert seen == [("highest", False, True, False)] * 2
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark) == ("high", True)
