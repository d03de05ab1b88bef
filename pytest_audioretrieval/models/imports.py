"""How torch, and what comes with it, is imported."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: Read by GNU's OpenMP, whose threads torch works with on Linux, as it is loaded: how often a thread that waits looks
#: again before it sleeps. With its own 300,000 two cold gates on two cores took over 140 s, with these 16 s; one alone
#: took 14 s with either, and 20 s where threads sleep at once.
TURNS = ("GOMP_SPINCOUNT", "1000")
#: Where one of these is set, the user has said how threads wait.
SAID = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@contextmanager
def short_waits() -> Iterator[None]:
    """Let threads of a torch that is imported meanwhile sleep when they have waited for microseconds.

    Where other processes want the processors too, such as a second worker of pytest-xdist, threads that spin do so for
    whole slices of time in which the thread that they wait for does not run. Afterwards the environment is as it was: a
    test's own processes shall not inherit this.
    """
    if any(name in os.environ for name in SAID):
        yield
        return
    name, turns = TURNS
    os.environ[name] = turns
    try:
        yield
    finally:
        os.environ.pop(name, None)


@contextmanager
def frameworks() -> Iterator[None]:
    """``short_waits``, and without the garbage collector, which would walk through half a million new objects.

    They are not frozen afterwards, though collections would then be shorter: the frames of whoever imports may be among
    them, and what these hold later, such as the model, would never be let go.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with short_waits():
            yield
    finally:
        if enabled:
            gc.enable()
