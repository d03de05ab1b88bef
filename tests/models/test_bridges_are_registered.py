"""The backends that travel with the package, as ``pyproject.toml`` registers them."""

from __future__ import annotations

import inspect

import pytest

from tests.models.registered import ENTRY_POINTS, backend


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_a_backend_is_a_factory_that_states_its_weights(name: str) -> None:
    factory = backend(name).load()
    asks = [parameter for parameter in inspect.signature(factory).parameters if parameter != "offline"]
    assert asks == ["name", "device"]
    asks = [parameter for parameter in inspect.signature(factory.weights_sha256).parameters if parameter != "offline"]
    assert asks == ["name", "allow_unpinned"]
