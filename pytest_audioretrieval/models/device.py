"""Choice of the device that a model runs on."""

from __future__ import annotations

import torch

from pytest_audioretrieval.base.devices import DEVICE, EXPECTED
from pytest_audioretrieval.errors import SpecError


def choose(text: str) -> str:
    """Return the device that a user's ``text`` means; ``auto`` is the first CUDA device, else mps, else cpu.

    Raises:
        SpecError: ``text`` names no device, or one that this machine does not have.
    """
    if text == "auto":
        return "cuda:0" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if not DEVICE.fullmatch(text):
        raise SpecError(f"device {text!r} is unknown", expected=EXPECTED, remedy="name one of these")
    if text.startswith("cuda"):
        number, there = int(text.partition(":")[2] or 0), torch.cuda.device_count()
        if number >= there:
            raise SpecError(
                f"device {text!r}: torch {torch.__version__} sees {there} CUDA devices",
                remedy="use cpu, or fix the driver",
            )
        return f"cuda:{number}"
    if text == "mps" and not torch.backends.mps.is_available():
        raise SpecError("device 'mps': torch does not see it", remedy="use cpu")
    return text
