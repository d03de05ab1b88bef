"""Import of objects that a user or an entry point names as ``module:object``."""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from operator import attrgetter
from pathlib import Path
from typing import Any

from pytest_audioretrieval.errors import one_line

#: Remedy for a module that only ``python -m`` finds, see ``beside``.
BESIDE = "run `python -m pytest` instead of `pytest`, or set ini pythonpath = ."


def imported(text: str) -> Any:
    """Return the object that ``module:object`` names, or the module if no object is named.

    Raises:
        ImportError, AttributeError: there is no such object, or the module fails or exits while it is imported.
    """
    module, _, name = text.partition(":")
    try:
        found = import_module(module)
        return attrgetter(name)(found) if name else found
    except (ImportError, AttributeError):
        raise
    except (Exception, SystemExit) as error:
        raise ImportError(f"{module!r} fails when it is imported: {type(error).__name__}: {one_line(error)}") from error


def remedy(error: ImportError, package: str) -> str:
    """Return the remedy for ``package``, whose import ended in ``error``."""
    absent = isinstance(error, ModuleNotFoundError) and error.name == package
    return f"pip install {package}" if absent else f"mend the installation of {package}"


def beside(module: str) -> bool:
    """Return whether ``module`` lies in the current folder, which ``python -m pytest`` searches and ``pytest`` not."""
    return PathFinder.find_spec(module, [str(Path.cwd())]) is not None
