"""Enough of a model hub on the loopback interface for the real client."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class HubStub:
    """One repository at one commit.

    Attributes:
        files: path -> bytes that are sent.
        announced: path -> bytes whose size and sha256 the listing gives; those of ``files`` unless set.
        asked: every path asked for.
        broken: paths whose body is cut in half.
        url: of the running stub.
    """

    def __init__(self, repository: str, commit: str, files: dict[str, bytes]) -> None:
        self.repository, self.commit, self.files = repository, commit, files
        self.announced: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.broken: set[str] = set()
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

    def tree(self) -> list[dict[str, object]]:
        entries: list[dict[str, object]] = []
        for path, sent in self.files.items():
            content = self.announced.get(path, sent)
            entry: dict[str, object] = {
                "type": "file",
                "path": path,
                "size": len(content),
                "oid": hashlib.sha1(content).hexdigest(),
            }
            if path.endswith((".safetensors", ".bin")):
                digest = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 134}
            entries.append(entry)
        return entries


class _Handler(BaseHTTPRequestHandler):
    hub: HubStub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        hub, path = self.hub, self.path.partition("?")[0]
        hub.asked.append(path)
        listing = f"/api/models/{hub.repository}"
        files = f"/{hub.repository}/resolve/{hub.commit}/"
        if path == f"{listing}/tree/{hub.commit}":
            self._send(json.dumps(hub.tree()).encode(), body, kind="application/json")
        elif path == f"{listing}/revision/{hub.commit}":
            siblings = [{"rfilename": name} for name in hub.files]
            content = {"id": hub.repository, "sha": hub.commit, "siblings": siblings}
            self._send(json.dumps(content).encode(), body, kind="application/json")
        elif path.startswith(files) and path.removeprefix(files) in hub.files:
            name = path.removeprefix(files)
            self._send(hub.files[name], body, cut=name in hub.broken)
        else:
            code = "RevisionNotFound" if path.startswith((listing + "/", f"/{hub.repository}/")) else "RepoNotFound"
            self._send(b"{}", body, status=404, error=code)

    def _send(
        self,
        content: bytes,
        body: bool,
        *,
        kind: str = "application/octet-stream",
        status: int = 200,
        error: str | None = None,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", self.hub.commit)
        if error:
            self.send_header("X-Error-Code", error)
        self.end_headers()
        if body:
            self.wfile.write(content[: len(content) // 2] if cut else content)
            self.close_connection = self.close_connection or cut

    def log_message(self, *_: object) -> None:
        """Say nothing."""
