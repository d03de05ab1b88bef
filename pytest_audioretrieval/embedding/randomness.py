"""Context in which random draws are seeded; the user's own random state stays as it is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pytest_audioretrieval.models.imports import frameworks


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed python, numpy, torch and CUDA (pinned protocol, "Fixtures and protocol"); restore them after."""
    with frameworks():
        import torch

    python, numpy = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
