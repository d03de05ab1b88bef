"""What OpenMP is told, as it tells it itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.embedding.test_sharing import REPOSITORY

LOADED = """
import os
import sys
from pytest_audioretrieval.embedding.embedder import Embedder, Means
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.progress import Tracker
from pytest_audioretrieval.protocol import Protocol
from pytest_audioretrieval.spec import parse
before = os.environ.get("OMP_WAIT_POLICY")
Embedder(parse("builtin/tiny-clap-fused"), Means(Protocol(), Store(None), Tracker())).model
assert "torch" in sys.modules
assert os.environ.get("OMP_WAIT_POLICY") == before
"""


@pytest.mark.skipif(sys.platform != "linux", reason="GNU's OpenMP is the one that tells")
@pytest.mark.parametrize(("said", "turns"), [(None, "'0'"), ("active", "'30000000000'")])
def test_threads_that_wait_sleep_unless_told_otherwise(said: str | None, turns: str) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    }
    told = {"OMP_WAIT_POLICY": said} if said else {}
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={**environment, **told, "OMP_DISPLAY_ENV": "verbose", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"GOMP_SPINCOUNT = {turns}" in done.stderr
