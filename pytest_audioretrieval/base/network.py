"""Other libraries do not reach the network where it is not to be reached, whatever they do by themselves."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any, NoReturn

#: What libraries read when they are imported, or when a process of theirs starts.
VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
#: What they made of it: module, constant.
CONSTANTS = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
#: What a person reads after an error of a library that was kept from the network because the user said so.
ONCE = "--retrieval-offline forbids the network: download what is missing once with a network connection"
#: How many blocks hold, of all threads, and how to undo what the first of them did.
_lock, _holding, _undo = Lock(), 0, ExitStack()


@contextmanager
def no_network(when: bool = True) -> Iterator[None]:
    """While it lasts the hub's client and datasets read their caches alone, and to connect anywhere is an ``OSError``.

    The second stops what has a client of its own; what connects from compiled code, as hf_xet does for the hub's
    client, is stopped by the first. It holds for all threads, because libraries download in threads of theirs; what the
    last of several blocks ends is as it was before the first.
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
    # Of a module that was imported meanwhile: what it would have found.
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
