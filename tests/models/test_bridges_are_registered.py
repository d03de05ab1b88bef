"""Backends of the package, as ``pyproject.toml`` registers them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.models.registered import ENTRY_POINTS, backend


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_a_backend_is_a_factory_that_states_its_weights(name: str) -> None:
    factory = backend(name).load()
    assert asked(factory) == ["name", "device"]
    assert asked(factory.weights_sha256) == ["name", "allow_unpinned"]


def asked(function: Any) -> list[str]:
    """Its parameters, without those that a backend may leave out."""
    return [name for name in inspect.signature(function).parameters if name not in ("offline", "pins")]
