"""Seeded draws inside, the user's own random state untouched outside."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed python, numpy, torch and CUDA (seed: pinned-protocol.md, "Fixtures and protocol"); restore them after."""
    import torch

    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  (the hub processor draws from this one)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002
