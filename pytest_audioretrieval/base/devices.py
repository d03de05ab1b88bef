"""Names of devices as users write them."""

from __future__ import annotations

import re

DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
EXPECTED = "auto, cpu, cuda, cuda:N or mps"
