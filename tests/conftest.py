"""Fixtures that several test packages share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# torch is imported where a fixture needs it: the tests of metrics and stats run without it.
pytest_plugins = ["pytester"]

#: Fewer inputs for `make quick`; a test that sets `max_examples` itself keeps its own number.
settings.register_profile("quick", max_examples=10)


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
