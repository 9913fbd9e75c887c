"""A small server on this machine that stands in for the Hugging Face hub, and processes that know no other.

The hub's client reads its settings from the environment once, so what is tested with it runs in a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "c" * 40
#: far longer than any of these takes, so that a client that tries again and again fails the test instead of hanging it
PATIENCE = 10


class FakeHub(ThreadingHTTPServer):
    """Serves one data set's files as the hub does, and remembers what was asked of it: method and path."""

    def __init__(self, repository: str, files: Mapping[str, bytes], commit: str = COMMIT) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.repository, self.files, self.commit = repository, dict(files), commit
        self.is_gated = False
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def file_at(self, path: str) -> str:
        """The request's path for a file of the branch that is read by default."""
        return f"/datasets/{self.repository}/resolve/main/{path}"


class _Answer(BaseHTTPRequestHandler):
    server: FakeHub

    def do_HEAD(self) -> None:
        hub, path = self.server, unquote(urlsplit(self.path).path)
        hub.asked.append(f"{self.command} {path}")
        api, files = f"/api/datasets/{hub.repository}", f"/datasets/{hub.repository}/resolve/"
        if path.startswith(files):
            revision, _, name = path.removeprefix(files).partition("/")
        elif path == api or path.startswith(f"{api}/"):
            revision, name = path.removeprefix(api).rpartition("/")[2] or "main", ""
        else:
            return self._refuse(404, "RepoNotFound")
        if hub.is_gated:
            return self._refuse(403, "GatedRepo")
        if revision not in ("main", hub.commit):
            return self._refuse(404, "RevisionNotFound")
        if name and name not in hub.files:
            return self._refuse(404, "EntryNotFound")
        self._give(hub.files[name] if name else self._told(path))

    do_GET = do_HEAD

    def _told(self, path: str) -> bytes:
        """What the hub tells of the data set: its files, or its state."""
        hub = self.server
        files = [{"type": "file", "path": name, "size": len(data), "oid": "0"} for name, data in hub.files.items()]
        state = {"id": hub.repository, "sha": hub.commit, "siblings": []}
        return json.dumps(files if "/tree/" in path else state).encode()

    def _give(self, data: bytes) -> None:
        self.send_response(200)
        self.send_header("ETag", f'"{sha256(data).hexdigest()[:40]}"')
        self.send_header("X-Repo-Commit", self.server.commit)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def served(hub: FakeHub) -> Iterator[FakeHub]:
    """The hub, answering."""
    with hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


@contextlib.contextmanager
def nobody_there() -> Iterator[str]:
    """An address of this machine where connections are refused: taken, but nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def in_new_process(code: str, cache: Path, address: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run Python code with the hub at that address and nothing of this machine's own hub settings."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    clean = {k: v for k, v in clean.items() if not k.lower().endswith("_proxy")}
    hub = {"HF_ENDPOINT": address, "HF_HUB_CACHE": str(cache / "hub"), "HF_HOME": str(cache), "NO_PROXY": "127.0.0.1"}
    environment = clean | hub | {"PYTHONIOENCODING": "utf-8"} | settings
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
