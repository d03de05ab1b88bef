"""Names that packages register as entry points: models, datasets, layouts and commands."""

from __future__ import annotations

from functools import cache
from importlib import metadata

#: Groups of entry points. A model's value is a factory, a dataset's a function of ``Loading``, a layout's a function of
#: a folder and ``Loading``, a command's a function that adds its parser to those of the command line.
MODELS = "pytest_audioretrieval.models"
DATASETS = "pytest_audioretrieval.datasets"
LAYOUTS = "pytest_audioretrieval.layouts"
COMMANDS = "pytest_audioretrieval.commands"


@cache
def registered(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of ``group`` by name, in alphabetical order."""
    points = {point.name: point for point in metadata.entry_points(group=group)}
    return dict(sorted(points.items()))
