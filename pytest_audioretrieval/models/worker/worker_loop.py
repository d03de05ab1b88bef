"""Main loop of a worker: it takes over the standard streams, says hello and answers until the other side is gone.

A worker is a script beside this file that calls ``serve``; everything that it or its libraries print goes to stderr.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from pytest_audioretrieval.models.worker.worker_frames import VERSION, Arrays, receive, send
else:  # run as a script of another environment, which does not have this package
    from worker_frames import VERSION, Arrays, receive, send

#: Function that gets the arrays of a request, and its other fields by name; returns fields and arrays of the answer.
Operation = Callable[..., tuple[Mapping[str, Any], Sequence[Any]]]


def serve(hello: Callable[[], Mapping[str, Any]], operations: Mapping[str, Operation]) -> None:
    """Send the fields that ``hello`` returns, then answer requests; an exception becomes ``{"error": one line}``."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    send(answers, {"worker": VERSION, **hello()})
    while True:
        try:
            header, arrays = receive(requests)
        except EOFError:
            return
        try:
            found, made = _answer(operations, header, arrays)
        except Exception as error:
            found, made = {"error": one_line(error)}, ()
        send(answers, found, made)


def _answer(
    operations: Mapping[str, Operation], header: dict[str, Any], arrays: Arrays
) -> tuple[Mapping[str, Any], Sequence[Any]]:
    return operations[header.pop("operation")](arrays, **header)


def one_line(error: BaseException) -> str:
    """Return class and first line of an error."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
