"""Names of devices as users write them."""

from __future__ import annotations

import re

DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
#: The same names in words, for errors and help texts.
EXPECTED = "auto, cpu, cuda, cuda:N or mps"
