"""The user's project of ``tests/plugin``."""

from __future__ import annotations

from tests.plugin.conftest import clips, project

__all__ = ["clips", "project"]
