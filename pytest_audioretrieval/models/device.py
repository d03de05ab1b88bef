"""Which device a model runs on."""

from __future__ import annotations

import torch

from pytest_audioretrieval.base.devices import DEVICE
from pytest_audioretrieval.errors import SpecError


def choose(text: str) -> str:
    """``auto`` is the first CUDA device, else mps, else cpu; anything else is taken by its word.

    Raises:
        SpecError: not a device name, or a device this machine does not have.
    """
    if text == "auto":
        return "cuda:0" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if not DEVICE.fullmatch(text):
        raise SpecError(f"device {text!r}: expected auto, cpu, cuda, cuda:N or mps")
    if text.startswith("cuda"):
        number, there = int(text.partition(":")[2] or 0), torch.cuda.device_count()
        if number >= there:
            raise SpecError(
                f"device {text!r}: torch {torch.__version__} sees {there} CUDA devices: use cpu, or fix the driver"
            )
        return f"cuda:{number}"
    if text == "mps" and not torch.backends.mps.is_available():
        raise SpecError("device 'mps': torch does not see it: use cpu")
    return text
