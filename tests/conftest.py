"""Fixtures that several test packages share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# torch is imported where a fixture needs it: the tests of metrics and stats run without it.
pytest_plugins = ["pytester"]

# `HYPOTHESIS_PROFILE=quick` tries fewer inputs, the same in every run. No profile has a deadline, because a test that
# fails on a busy machine says nothing about the code.
settings.register_profile("full", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=15, derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "full"))


@pytest.fixture(scope="session")
def tiny_clap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random fused CLAP; copy it before changing it."""
    from tests.models.tiny_clap import build_tiny_clap

    return build_tiny_clap(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def tiny_clap_unfused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random unfused CLAP."""
    from tests.models.tiny_clap import build_tiny_clap

    return build_tiny_clap(tmp_path_factory.mktemp("models") / "tiny-unfused", fused=False)
