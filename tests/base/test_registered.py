"""Names that packages register: in order, and one package a name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from pytest_audioretrieval.base import registered as registering
from pytest_audioretrieval.errors import SpecError

GROUP = "pytest_audioretrieval.commands"


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points of the group, to be filled in."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(
        registering.metadata, "entry_points", lambda group: [one for one in found if one.group == group]
    )
    registering.registered.cache_clear()
    yield found  # type: ignore[misc]
    registering.registered.cache_clear()


def test_names_are_in_alphabetical_order(points: list[EntryPoint]) -> None:
    points += [EntryPoint("b", "x:b", GROUP), EntryPoint("a", "x:a", GROUP), EntryPoint("c", "x:c", "another.group")]
    assert list(registering.registered(GROUP)) == ["a", "b"]


def test_a_package_that_is_found_twice_is_one(points: list[EntryPoint]) -> None:
    """As where a checkout stands in front of its own installation."""
    points += [EntryPoint("a", "x:a", GROUP), EntryPoint("a", "x:a", GROUP)]
    assert registering.registered(GROUP)["a"].value == "x:a"


def test_one_name_of_two_packages_is_refused(points: list[EntryPoint]) -> None:
    points += [EntryPoint("a", "x:a", GROUP), EntryPoint("a", "y:a", GROUP)]
    with pytest.raises(SpecError) as caught:
        registering.registered(GROUP)
    assert str(caught.value) == f"'a' of {GROUP} is registered by y:a and by x:a: uninstall one of them"


def test_a_name_of_this_package_is_taken(points: list[EntryPoint]) -> None:
    points.append(EntryPoint("pins", "x:pins", GROUP))
    with pytest.raises(SpecError, match="is registered by x:pins and by this package: uninstall one of them"):
        registering.registered(GROUP, frozenset({"pins"}))
