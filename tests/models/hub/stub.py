"""Stub of a hub on the loopback interface, and a project folder in which the real client runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import NamedTuple
from urllib.parse import unquote

import pytest

#: Of a client that asks again and again until somebody gives up.
ALWAYS = 1_000_000
LARGE = (".safetensors", ".bin", ".parquet")
#: Of a path that a commit lacks, and not of the commit.
MISSING = {"X-Error-Code": "EntryNotFound"}

#: Runs a module's ``main`` without the client's waits: it would sleep for half a minute before it gives up.
IMPATIENT = """
import sys, time
from importlib import import_module
waits = []
time.sleep = waits.append
code = import_module(sys.argv[1]).main(sys.argv[2:])
print("WAITED", *waits, file=sys.stderr)
raise SystemExit(code)
"""


class Refusal(NamedTuple):
    """An answer that is no file; ``times`` is how many requests it is still given to."""

    status: int
    headers: dict[str, str]
    times: int


class HubStub:
    """One repository at one commit.

    Attributes:
        files: path -> bytes that are sent.
        announced: path -> bytes whose size and hash the listing gives; those of ``files`` unless set.
        asked: every path asked for, and ``ranges`` every (path, Range header).
        broken: path -> how many more of its bodies are cut in half.
        refusal: given instead of any answer.
        url: of the running stub.
    """

    def __init__(self, repository: str, commit: str, files: dict[str, bytes], *, kind: str = "models") -> None:
        self.repository, self.commit, self.files, self.kind = repository, commit, files, kind
        self.announced: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.ranges: list[tuple[str, str]] = []
        self.broken: Counter[str] = Counter()
        self.refusal: Refusal | None = None
        self.url = ""

    @contextmanager
    def running(self) -> Iterator[HubStub]:
        handler = type("Handler", (_Handler,), {"hub": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def refuse(self, status: int, times: int = ALWAYS, **headers: str) -> None:
        """Answer the next ``times`` requests with ``status``."""
        self.refusal = Refusal(status, {name.replace("_", "-"): value for name, value in headers.items()}, times)

    def tree(self, below: str = "", *, deep: bool = False) -> list[dict[str, object]]:
        """The listing of a folder, with folders below it; ``deep``: and with all that lies in those."""
        entries: list[dict[str, object]] = []
        inside = {path: sent for path, sent in self.files.items() if path.startswith(below)}
        folders = {parent.as_posix() for path in inside for parent in PurePosixPath(path).parents if parent.name}
        for folder in sorted(folders):
            if folder.startswith(below) and (deep or "/" not in folder.removeprefix(below)):
                entries.append({"type": "directory", "path": folder, "oid": git_blob(folder.encode()), "size": 0})
        for path, sent in inside.items():
            if not deep and "/" in path.removeprefix(below):
                continue
            content = self.announced.get(path, sent)
            entry: dict[str, object] = {"type": "file", "path": path, "size": len(content), "oid": git_blob(content)}
            if path.endswith(LARGE):
                digest = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 134}
            entries.append(entry)
        return entries


def git_blob(content: bytes) -> str:
    """Return the id that ``git hash-object`` gives to ``content``."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: HubStub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        hub, path = self.hub, unquote(self.path.partition("?")[0])
        hub.asked.append(path)
        listing = f"/api/{hub.kind}/{hub.repository}"
        own = f"{'' if hub.kind == 'models' else '/' + hub.kind}/{hub.repository}"
        files, tree = f"{own}/resolve/{hub.commit}/", f"{listing}/tree/{hub.commit}"
        if hub.refusal is not None and hub.refusal.times > 0:
            hub.refusal = hub.refusal._replace(times=hub.refusal.times - 1)
            self._send(b"{}", body, status=hub.refusal.status, **hub.refusal.headers)
        elif path == tree or path.startswith(f"{tree}/"):
            below = path.removeprefix(tree).removeprefix("/")
            entries = hub.tree(f"{below}/" if below else "", deep="recursive=true" in self.path.lower())
            self._send(json.dumps(entries).encode(), body, kind="application/json")
        elif path == f"{listing}/revision/{hub.commit}":
            siblings = [{"rfilename": name} for name in hub.files]
            content = {"id": hub.repository, "sha": hub.commit, "siblings": siblings}
            self._send(json.dumps(content).encode(), body, kind="application/json")
        elif path.startswith(files) and path.removeprefix(files) in hub.files:
            self._file(path.removeprefix(files), body)
        elif path.startswith(files):
            self._send(b"{}", body, status=404, **MISSING)
        else:
            code = "RevisionNotFound" if path.startswith((listing + "/", f"{own}/")) else "RepoNotFound"
            self._send(b"{}", body, status=404, **{"X-Error-Code": code})

    def _file(self, name: str, body: bool) -> None:
        hub, content, more = self.hub, self.hub.files[name], {"Accept-Ranges": "bytes"}
        # All of a file has one tag, also where a part of it is asked for.
        more["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        status, asked = 200, re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked:
            hub.ranges.append((name, asked[0]))
            start, size = int(asked[1]), len(content)
            status, content = 206, content[start:]
            more["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        cut = body and hub.broken[name] > 0
        hub.broken[name] -= cut
        self._send(content, body, status=status, cut=cut, **more)

    def _send(
        self,
        content: bytes,
        body: bool,
        *,
        kind: str = "application/octet-stream",
        status: int = 200,
        cut: bool = False,
        **headers: str,
    ) -> None:
        self.send_response(status)
        own = {"Content-Type": kind, "Content-Length": str(len(content)), "X-Repo-Commit": self.hub.commit}
        for name, value in (own | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content[: len(content) // 2] if cut else content)
            self.close_connection = self.close_connection or cut

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Place:
    """Project folder with a cache of its own, where the real client talks to a stub; each command is a process."""

    def __init__(self, folder: Path, stub: HubStub) -> None:
        self.folder, self.stub = folder, stub
        self.home = folder / "hf-home"

    @property
    def snapshots(self) -> Path:
        """Snapshots folder of the stub's repository."""
        return self.home / "hub" / f"{self.stub.kind}--{self.stub.repository.replace('/', '--')}" / "snapshots"

    def run(self, module: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``python -m module arguments``, without the client's waits."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.upper().endswith("_PROXY") and not name.startswith(("HF_", "HUGGING", "PYTEST_"))
        }
        own = {
            "HF_ENDPOINT": self.stub.url,
            "HF_HOME": str(self.home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(Path(__file__).parents[3]),
        }
        return subprocess.run(
            [sys.executable, "-c", IMPATIENT, module, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=kept | own | environment,
            timeout=120,
        )

    def command(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``python -m pytest_audioretrieval``."""
        return self.run("pytest_audioretrieval.__main__", *arguments, **environment)

    def pytest(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``python -m pytest``."""
        return self.run("pytest", "-p", "no:cacheprovider", *arguments, **environment)


def waits(done: subprocess.CompletedProcess[str]) -> list[float]:
    """Return the seconds that the client would have slept, try by try."""
    line = next(line for line in done.stderr.splitlines() if line.startswith("WAITED"))
    return [float(one) for one in line.split()[1:]]


def told(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line with which a command ends; any further line is a failure."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("WAITED")]
    assert len(lines) == 1, done.stdout + done.stderr
    return lines[0].removeprefix("python -m pytest_audioretrieval: ")


def point_client(hub: HubStub, cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Point the real client at ``hub``, with an empty cache and no token, and let it not sleep between tries."""
    from huggingface_hub import constants, file_download

    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        patch.delenv(name, raising=False)
        patch.delenv(name.lower(), raising=False)
    patch.setattr(constants, "ENDPOINT", hub.url)
    for module in (constants, file_download):  # huggingface_hub before 1 has it in both
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        patch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
    patch.setattr(constants, "HF_HUB_CACHE", str(cache))
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    patch.setattr("time.sleep", lambda _: None)
