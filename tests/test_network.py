"""What other libraries are told and kept from while ``--retrieval-offline`` holds."""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import suppress
from types import ModuleType
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from huggingface_hub import constants, hf_hub_download
from huggingface_hub.errors import LocalEntryNotFoundError

from pytest_audioretrieval.network import CONSTANTS, VARIABLES, no_network


@pytest.fixture
def listening() -> socket.socket:
    """A server on the loopback interface: it would take any connection."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    return server


def test_nothing_connects_and_nothing_is_looked_up(listening: socket.socket) -> None:
    host, port = listening.getsockname()
    with no_network():
        for url in (f"http://{host}:{port}/file", "http://example.invalid/file"):
            with pytest.raises(URLError, match="asked offline for a connection to"):
                urlopen(url)
        with pytest.raises(OSError, match=f"asked offline for a connection to '{host}'"):
            socket.create_connection((host, port))
        for way in ("connect", "connect_ex"):
            with socket.socket() as plain, pytest.raises(OSError, match=f"connection to \\('{host}', {port}\\)"):
                getattr(plain, way)((host, port))
    with listening, pytest.raises(TimeoutError):
        listening.accept()


def test_processes_of_this_machine_still_talk(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("s") / "s")
    if len(path) > 100:
        pytest.skip("the name of a socket is short")
    with no_network(), socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)


def test_the_client_reads_its_cache_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    with no_network(), pytest.raises(LocalEntryNotFoundError):
        hf_hub_download("owner/name", "config.json", cache_dir=tmp_path_factory.mktemp("cache"))


def test_all_is_as_it_was_afterwards(monkeypatch: pytest.MonkeyPatch, listening: socket.socket) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("HF_DATASETS_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for module in {module for module, _ in CONSTANTS} - {"huggingface_hub.constants"}:
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
        del sys.modules[module]
    connect, look_up = socket.socket.connect, socket.getaddrinfo
    with suppress(RuntimeError), no_network():
        assert {os.environ[name] for name in VARIABLES} == {"1"}
        assert constants.is_offline_mode()
        with no_network(), no_network(False):
            pass
        assert constants.is_offline_mode()
        # A library that is imported meanwhile reads what it is told, once.
        config = ModuleType("datasets.config")
        config.HF_HUB_OFFLINE = config.HF_DATASETS_OFFLINE = True  # type: ignore[attr-defined]
        sys.modules["datasets.config"] = config
        raise RuntimeError
    assert not constants.is_offline_mode()
    assert (config.HF_HUB_OFFLINE, config.HF_DATASETS_OFFLINE) == (False, False)  # type: ignore[attr-defined]
    assert (os.environ["HF_HUB_OFFLINE"], "HF_DATASETS_OFFLINE" in os.environ) == ("0", False)
    assert (socket.socket.connect, socket.getaddrinfo) == (connect, look_up)
    with listening, socket.create_connection(listening.getsockname()):
        listening.accept()[0].close()


def test_other_threads_are_kept_from_it_too(listening: socket.socket) -> None:
    found: list[BaseException] = []

    def ask() -> None:
        try:
            socket.create_connection(listening.getsockname())
        except OSError as error:
            found.append(error)

    with listening, no_network():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert len(found) == 1
