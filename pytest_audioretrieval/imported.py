"""What a user, or an entry point, names in code: ``module:object``."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import Any

from pytest_audioretrieval.errors import one_line


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
