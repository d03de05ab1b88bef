"""A user's project in a folder of its own; see ``toys``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin import toys


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset folder that all tests read and none changes."""
    return toys.write_clips(tmp_path_factory.mktemp("data") / "toys")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, clips: Path) -> toys.Project:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return toys.Project(pytester, monkeypatch, clips)
