"""What a user, or an entry point, names in code: ``module:object``."""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from operator import attrgetter
from pathlib import Path
from typing import Any

from pytest_audioretrieval.errors import one_line

#: What to do about a module that is ``beside``.
BESIDE = "run `python -m pytest` instead of `pytest`, or set ini pythonpath = ."


def imported(text: str) -> Any:
    """The object that ``module:object`` names, or the module where no object is named.

    Raises:
        ImportError, AttributeError: there is none, or the module fails, or exits, while it is imported.
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
    """What to do about a package whose import ended in ``error``."""
    absent = isinstance(error, ModuleNotFoundError) and error.name == package
    return f"pip install {package}" if absent else f"mend the installation of {package}"


def beside(module: str) -> bool:
    """Whether a module lies in the current folder, where ``python -m pytest`` looks for it and ``pytest`` does not."""
    return PathFinder.find_spec(module, [str(Path.cwd())]) is not None
