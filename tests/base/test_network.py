"""Effects of ``no_network`` on other libraries, and the restored state afterwards."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from types import ModuleType

import pytest

from pytest_audioretrieval.base.network import VARIABLES, no_network


def state() -> list[object]:
    sockets = [socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo]
    return [*sockets, *(os.environ.get(name) for name in VARIABLES)]


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_nothing_is_reached_by_name_or_by_number(server: int) -> None:
    before = state()
    with no_network():
        with pytest.raises(OSError, match=r"^no network is reached here, asked for 'localhost'$"):
            socket.create_connection(("localhost", server))
        for way in ("connect", "connect_ex"):
            with socket.socket() as own, pytest.raises(OSError, match=r"^no network is reached here, asked for \('127"):
                getattr(own, way)(("127.0.0.1", server))
        assert [os.environ[name] for name in VARIABLES] == ["1"] * len(VARIABLES)
    assert state() == before
    socket.create_connection(("127.0.0.1", server)).close()


def test_only_where_it_is_asked_for(server: int) -> None:
    with no_network(False):
        socket.create_connection(("127.0.0.1", server)).close()


def test_sockets_of_this_machine_alone_stay(tmp_path: object) -> None:
    with no_network():
        one, other = socket.socketpair()
        one.close(), other.close()
        with socket.socket(socket.AF_UNIX) as own, pytest.raises(FileNotFoundError):
            own.connect(f"{tmp_path}/nobody")


def test_an_error_opens_it_again() -> None:
    before = state()
    with pytest.raises(ValueError, match="inside"), no_network(), no_network():
        raise ValueError("inside")
    assert state() == before


def test_blocks_of_two_threads_end_in_any_order(server: int) -> None:
    before = state()
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    refused: list[bool] = []

    def first() -> None:
        with no_network():
            first_in.set()
            second_in.wait(5)
        first_out.set()

    def second() -> None:
        first_in.wait(5)
        with no_network():
            second_in.set()
            first_out.wait(5)
            with socket.socket() as own:
                try:
                    own.connect(("127.0.0.1", server))
                except OSError:
                    refused.append(True)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert refused == [True], "the other thread's block has ended, this one's has not"
    assert state() == before


def test_a_library_that_is_there_and_one_that_comes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    here, later = ModuleType("huggingface_hub.constants"), ModuleType("datasets.config")
    here.HF_HUB_OFFLINE = False  # type: ignore[attr-defined]
    later.HF_HUB_OFFLINE = later.HF_DATASETS_OFFLINE = True  # type: ignore[attr-defined]
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, here.__name__, here)
    monkeypatch.delitem(sys.modules, later.__name__, raising=False)
    with no_network():
        assert here.HF_HUB_OFFLINE
        monkeypatch.setitem(sys.modules, later.__name__, later)
    assert not here.HF_HUB_OFFLINE
    assert not later.HF_HUB_OFFLINE
    assert not later.HF_DATASETS_OFFLINE
