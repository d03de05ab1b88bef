"""Threads of a model that have nothing to do give the processor up."""

from __future__ import annotations

import os

#: Read by OpenMP, whose threads torch works with, as it is loaded.
POLICY = "OMP_WAIT_POLICY"


def wait_asleep() -> None:
    """Let waiting threads sleep, unless the user has said otherwise; of no effect once torch is imported.

    By default they spin, for they expect their share within microseconds. Where other processes want the processors
    too, such as a second worker of pytest-xdist, they spin for whole slices of time in which the thread that they wait
    for does not run.
    """
    os.environ.setdefault(POLICY, "passive")
