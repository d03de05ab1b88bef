"""Names that packages register as entry points: models, datasets, layouts and commands."""

from __future__ import annotations

from functools import cache
from importlib import metadata

from pytest_audioretrieval.errors import SpecError

#: Groups of entry points. A model's value is a factory, a dataset's a function of ``Loading``, a layout's a function of
#: a folder and ``Loading``, a command's a function that adds its parser to those of the command line.
MODELS = "pytest_audioretrieval.models"
DATASETS = "pytest_audioretrieval.datasets"
LAYOUTS = "pytest_audioretrieval.layouts"
COMMANDS = "pytest_audioretrieval.commands"


@cache
def registered(group: str, own: frozenset[str] = frozenset()) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of ``group`` by name, in alphabetical order.

    Args:
        own: names that this package uses itself.

    Raises:
        SpecError: two packages register one name, or a package registers one of ``own``.
    """
    found: dict[str, metadata.EntryPoint] = {}
    for point in metadata.entry_points(group=group):
        other = found.setdefault(point.name, point)
        if other.value != point.value or point.name in own:
            taken = "this package" if point.name in own else other.value
            raise SpecError(
                f"{point.name!r} of {group} is registered by {point.value} and by {taken}",
                remedy="uninstall one of them",
            )
    return dict(sorted(found.items()))
