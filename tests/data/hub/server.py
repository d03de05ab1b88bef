"""Enough of a hub of datasets on the loopback interface for the real client: listing, files, resumed transfers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote


class DataHub:
    """One dataset at one commit.

    Attributes:
        files: path -> bytes.
        cut: paths whose next body breaks off in the middle; ``broken`` those whose every body does.
        asked: every path asked for, with the first byte that was wanted where that is not 0.
        url: of the running hub.
    """

    def __init__(self, repository: str, commit: str, files: dict[str, bytes]) -> None:
        self.repository, self.commit, self.files = repository, commit, files
        self.cut: set[str] = set()
        self.broken: set[str] = set()
        self.asked: list[tuple[str, int]] = []
        self.url = ""

    @contextmanager
    def running(self) -> Iterator[DataHub]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def listing(self) -> list[dict[str, object]]:
        return [
            {
                "type": "file",
                "path": path,
                "size": len(content),
                "oid": hashlib.sha1(content).hexdigest(),
                "lfs": {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134},
            }
            for path, content in self.files.items()
        ]


class _Handler(BaseHTTPRequestHandler):
    hub: DataHub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        hub, path = self.hub, unquote(self.path.partition("?")[0])
        ranged = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(ranged[1]) if ranged else 0
        hub.asked.append((path, start))
        api, files = f"/api/datasets/{hub.repository}", f"/datasets/{hub.repository}/resolve/{hub.commit}/"
        if path == f"{api}/tree/{hub.commit}":
            self._send(json.dumps(hub.listing()).encode(), body, kind="application/json")
        elif path == f"{api}/revision/{hub.commit}":
            siblings = [{"rfilename": name} for name in hub.files]
            about = {"id": hub.repository, "sha": hub.commit, "siblings": siblings}
            self._send(json.dumps(about).encode(), body, kind="application/json")
        elif path.startswith(files) and path.removeprefix(files) in hub.files:
            self._send_file(path.removeprefix(files), start, body)
        else:
            self._send(b"{}", body, status=404, error="RepoNotFound")

    def _send_file(self, name: str, start: int, body: bool) -> None:
        content = self.hub.files[name]
        cut = body and name in self.hub.cut | self.hub.broken
        self._send(content, body, start=start, cut=cut)
        if cut:
            self.hub.cut.discard(name)

    def _send(
        self,
        content: bytes,
        body: bool,
        *,
        kind: str = "application/octet-stream",
        status: int = 200,
        error: str | None = None,
        start: int = 0,
        cut: bool = False,
    ) -> None:
        self.send_response(206 if start else status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", self.hub.commit)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if error:
            self.send_header("X-Error-Code", error)
        self.end_headers()
        if body:
            self.wfile.write(content[start : len(content) // 2] if cut else content[start:])
            self.close_connection = self.close_connection or cut

    def log_message(self, *_: object) -> None:
        """Say nothing."""
