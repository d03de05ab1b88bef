"""Fixtures that several test packages share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.tiny_clap import build_tiny_clap

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def tiny_clap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random fused CLAP; copy it before changing it."""
    return build_tiny_clap(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def tiny_clap_unfused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random unfused CLAP."""
    return build_tiny_clap(tmp_path_factory.mktemp("models") / "tiny-unfused", fused=False)
