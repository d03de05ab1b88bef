"""Imports of whole frameworks, whose objects live as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting() -> Iterator[None]:
    """The garbage collector neither walks through what is imported while it piles up, nor in any later collection.

    What was garbage before is collected first: it would last as well.
    """
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
