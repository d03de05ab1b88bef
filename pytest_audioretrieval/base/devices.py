"""Names of devices as users write them."""

from __future__ import annotations

import re

DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
#: The same names in words, for errors and help texts.
EXPECTED = "auto, cpu, cuda, cuda:N or mps"


def checked_device(text: str) -> str:
    """Return ``text`` where it names a device; else raise ``ValueError`` with the names there are."""
    if not DEVICE.fullmatch(text):
        raise ValueError(EXPECTED)
    return text
