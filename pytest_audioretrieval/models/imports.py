"""Imports of whole frameworks, whose objects live as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting() -> Iterator[None]:
    """The garbage collector neither walks through what is imported while it piles up, nor in any later collection.

    The same holds for all else that lives at the end: a cycle among it is never freed. What was garbage before is
    therefore collected first; where large objects may live, such as models, this is not to be used.
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
