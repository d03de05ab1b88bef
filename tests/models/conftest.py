"""Copy of a model folder that a test may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def copy(tiny_clap: Path, tmp_path: Path) -> Path:
    """A fused CLAP folder that a test may damage."""
    return Path(shutil.copytree(tiny_clap, tmp_path / "copy"))
