"""Offline mode: a context manager that keeps other libraries from the network."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any, NoReturn

#: Environment variables that libraries read when they are imported, or when a process of theirs starts.
VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
#: Constants that they set from these variables: module, name.
CONSTANTS = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
#: Remedy after an error of a library that was kept from the network because the user asked for that.
ONCE = "--retrieval-offline forbids the network: download what is missing once with a network connection"
#: Number of blocks that are open, in all threads, and the steps that undo what the first of them did.
_lock, _holding, _undo = Lock(), 0, ExitStack()


@contextmanager
def no_network(when: bool = True) -> Iterator[None]:
    """Keep the process from the network inside the block: clients read their caches, connecting is an ``OSError``.

    Variables and constants tell huggingface_hub and datasets to read their caches alone; that also stops compiled code,
    such as hf_xet, which the patched ``socket`` cannot see. The patched ``socket`` stops every other client. All
    threads are stopped, because libraries download in threads of their own. Blocks may overlap: when the last one ends,
    everything is as it was before the first.

    Args:
        when: whether to do anything at all.
    """
    global _holding
    if not when:
        yield
        return
    with _lock:
        if not _holding:
            _close(_undo)
        _holding += 1
    try:
        yield
    finally:
        with _lock:
            _holding -= 1
            if not _holding:
                _undo.close()


def _close(undo: ExitStack) -> None:
    variables = {name: os.environ.get(name) for name in VARIABLES}
    before = {key: getattr(sys.modules.get(key[0]), key[1], None) for key in CONSTANTS}
    undo.callback(_restore, variables, before)
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    _set(dict.fromkeys(CONSTANTS, True))
    for owner, name, refusing in (
        (socket.socket, "connect", _local(socket.socket.connect)),
        (socket.socket, "connect_ex", _local(socket.socket.connect_ex)),
        (socket, "getaddrinfo", _refuse),
    ):
        undo.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, refusing)


def _restore(variables: dict[str, str | None], before: dict[tuple[str, str], Any]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    # A module that was imported meanwhile gets the value that it would have read from the restored variables.
    own = any(value in ("1", "ON", "YES", "TRUE") for value in map(str.upper, filter(None, variables.values())))
    _set({key: own if value is None else value for key, value in before.items()})


def _set(values: dict[tuple[str, str], Any]) -> None:
    for (module, name), value in values.items():
        if module in sys.modules:
            setattr(sys.modules[module], name, value)


def _local(connect: Any) -> Any:
    def refusing(own: socket.socket, address: Any) -> Any:
        if own.family in (socket.AF_INET, socket.AF_INET6):
            _refuse(address)
        return connect(own, address)

    return refusing


def _refuse(*address: Any, **_: Any) -> NoReturn:
    raise OSError(f"no network is reached here, asked for {address[0]!r}")
