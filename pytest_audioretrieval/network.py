"""Other libraries do not reach the network while ``--retrieval-offline`` holds, whatever they do by themselves."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

#: What libraries read when they are imported, or when a process of theirs starts.
VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
#: What they made of it: module, constant.
CONSTANTS = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
#: What a person reads after an error of a library that was kept from it.
ONCE = "--retrieval-offline forbids the network: download what is missing once with a network connection"


@contextmanager
def no_network(when: bool = True) -> Iterator[None]:
    """While it lasts the hub's client and datasets read their caches alone, and to connect anywhere is an ``OSError``.

    The second stops what has a client of its own; what connects from compiled code, as hf_xet does for the hub's
    client, is stopped by the first.
    """
    if not when:
        yield
        return
    variables = {name: os.environ.get(name) for name in VARIABLES}
    before = {key: getattr(sys.modules.get(key[0]), key[1], None) for key in CONSTANTS}
    own = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo
    try:
        os.environ.update(dict.fromkeys(VARIABLES, "1"))
        _set(dict.fromkeys(CONSTANTS, True))
        _connect_by(_local(own[0]), _local(own[1]), _refuse)
        yield
    finally:
        _connect_by(*own)
        for name, value in variables.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        # Of a module that was imported meanwhile: what it would have found.
        told = any(value.upper() in ("1", "ON", "YES", "TRUE") for value in variables.values() if value)
        _set({key: told if value is None else value for key, value in before.items()})


def _set(values: dict[tuple[str, str], Any]) -> None:
    for (module, name), value in values.items():
        if module in sys.modules:
            setattr(sys.modules[module], name, value)


def _connect_by(connect: Any, connect_ex: Any, look_up: Any) -> None:
    socket.socket.connect, socket.socket.connect_ex = connect, connect_ex  # type: ignore[method-assign]
    socket.getaddrinfo = look_up


def _local(connect: Any) -> Any:
    def refusing(own: socket.socket, address: Any) -> Any:
        if own.family in (socket.AF_INET, socket.AF_INET6):
            _refuse(address)
        return connect(own, address)

    return refusing


def _refuse(*address: Any, **_: Any) -> NoReturn:
    raise OSError(f"asked offline for a connection to {address[0]!r}")
