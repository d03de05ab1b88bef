"""What a user names in code: ``module:object``."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def imported(text: str) -> Any:
    """The object that ``module:object`` names, or the module where no object is named.

    Raises:
        ImportError, AttributeError: there is none.
    """
    module, _, name = text.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found
