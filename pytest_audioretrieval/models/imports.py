"""How torch, and what comes with it, is imported."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: Read by OpenMP, whose threads torch works with, as it is loaded.
POLICY = "OMP_WAIT_POLICY"


@contextmanager
def waiting_asleep() -> Iterator[None]:
    """Let threads of a torch that is imported meanwhile sleep while they wait, unless the user has said otherwise.

    By default they spin, for they expect their share within microseconds. Where other processes want the processors
    too, such as a second worker of pytest-xdist, they spin for whole slices of time in which the thread that they wait
    for does not run. Afterwards the environment is as it was: a test's own processes shall not inherit this.
    """
    if POLICY in os.environ:
        yield
        return
    os.environ[POLICY] = "passive"
    try:
        yield
    finally:
        os.environ.pop(POLICY, None)


@contextmanager
def frameworks() -> Iterator[None]:
    """``waiting_asleep``, and without the garbage collector, which would walk through half a million new objects.

    They are not frozen afterwards, though collections would then be shorter: the frames of whoever imports may be among
    them, and what these hold later, such as the model, would never be let go.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with waiting_asleep():
            yield
    finally:
        if enabled:
            gc.enable()
