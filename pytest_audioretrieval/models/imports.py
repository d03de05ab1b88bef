"""Contexts for the import of torch and its companions."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: Variable and value that limit how often a waiting thread of GNU's OpenMP, which torch uses on Linux, looks again
#: before it sleeps; read when the library is loaded. With the default of 300,000 two cold gates on two cores took over
#: 140 s, with this 16 s; one gate alone took 14 s with either, and 20 s when threads slept at once.
SPIN_COUNT = ("GOMP_SPINCOUNT", "1000")
#: Variables by which a user chooses how threads wait.
CHOSEN_BY_USER = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@contextmanager
def short_waits() -> Iterator[None]:
    """Let threads of a torch that is imported inside the block sleep after they have waited for microseconds.

    If other processes need the processors too, such as a second worker of pytest-xdist, a spinning thread keeps one
    busy for whole time slices in which the thread that it waits for cannot run. The environment is restored
    afterwards, so that processes of a test do not inherit the setting.
    """
    if any(name in os.environ for name in CHOSEN_BY_USER):
        yield
        return
    name, count = SPIN_COUNT
    os.environ[name] = count
    try:
        yield
    finally:
        os.environ.pop(name, None)


@contextmanager
def frameworks() -> Iterator[None]:
    """Import frameworks faster: ``short_waits``, and no garbage collection, which would walk half a million objects.

    The objects are not frozen afterwards, although that would shorten later collections: frames of the importing code
    may be among them, and objects that these hold later, such as the model, would never be freed.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with short_waits():
            yield
    finally:
        if enabled:
            gc.enable()
