"""Fixtures: a hub with one pinned dataset of rows, and the real client that asks it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_audioretrieval.data.hub import download
from pytest_audioretrieval.pinning.pins import Pin, Pins
from tests.models.hub.stub import HubStub, point_client

COMMIT, OTHER = "0123456789abcdef0123456789abcdef01234567", "f" * 40


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStub]:
    """A hub without files; a test adds them."""
    with HubStub("owner/rows", COMMIT, {}, kind="datasets").running() as running:
        point_client(running, tmp_path / "hub", monkeypatch)
        yield running


@pytest.fixture
def pins(hub: HubStub, monkeypatch: pytest.MonkeyPatch) -> dict[str, Pin]:
    """The pins of datasets in PINS.json; a test changes them."""
    stated = {"owner/rows": Pin(COMMIT)}
    monkeypatch.setattr(download, "project_pins", lambda own: Pins(models={}, datasets=stated))
    return stated


def digests(files: dict[str, bytes]) -> dict[str, str | None]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
