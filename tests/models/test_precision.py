"""Full float32 precision, and the user's own torch settings afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.inference import float32_inference
from pytest_audioretrieval.pinning.protocol import Protocol


def state() -> tuple[str, bool, int, bool]:
    return (
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.benchmark,
        torch.get_deterministic_debug_mode(),
        torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
    )


@pytest.fixture
def loose() -> Any:
    """Settings a user may have made for speed."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark
    assert state() == (before[0], False, 0, True)
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
            seen.append((*state(), cudnn.deterministic, cudnn.allow_tf32))
            return real(**inputs)

        monkeypatch.setattr(model.model, name, call)

    note("get_audio_features")
    note("get_text_features")
    model.embed_audio([np.ones(100, dtype=np.float32)], Protocol())
    model.embed_text(["a dog"], Protocol())
    assert seen == [("highest", False, 1, False, True, False)] * 2
    assert state() == ("high", True, 0, True)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


@pytest.mark.parametrize("mode", ["warn", "error"])
def test_a_user_who_wants_an_error_gets_one(mode: str) -> None:
    torch.set_deterministic_debug_mode(mode)
    wanted = torch.get_deterministic_debug_mode()
    try:
        with float32_inference():
            assert torch.get_deterministic_debug_mode() == wanted
        assert torch.get_deterministic_debug_mode() == wanted
    finally:
        torch.set_deterministic_debug_mode("default")


#: After these settings of torch 2.9 the older ones cannot be read; a process of its own, because nothing undoes that.
NEWER = """
import torch
from pytest_audioretrieval.models.inference import float32_inference
parts = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
torch.backends.cuda.matmul.fp32_precision = "tf32"
before = [part.fp32_precision for part in parts]
with float32_inference():
    inside = [part.fp32_precision for part in parts]
    assert inside == ["ieee", "ieee"], inside
    assert not torch.backends.cudnn.allow_tf32
assert [part.fp32_precision for part in parts] == before
print("done")
"""


@pytest.mark.skipif(not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="needs torch 2.9")
def test_the_newer_settings_of_tf32() -> None:
    done = subprocess.run([sys.executable, "-c", NEWER], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
