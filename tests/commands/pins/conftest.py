"""Fixtures of a hub with a tiny CLAP, which the tests of ``models/hub`` define."""

from __future__ import annotations

from tests.models.hub.conftest import clips, place, stub

__all__ = ["clips", "place", "stub"]
