"""A small HTTP server on loopback whose routes a subclass implements, and which can be told to fail.

with FakeLetta() as server:
    os.environ["LETTA_BASE_URL"] = server.url
    server.fail(Reply(500, {"detail": "no"}), times=2)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Call:
    """One request as it arrived; header names in lower case, the last value of each query parameter."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What to send: text goes out as HTML, anything else as JSON. `drop` closes the connection without an answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False


class FakeServer:
    """Subclasses answer in `route`, called by one thread at a time."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._faults: list[tuple[Callable[[Call], bool], Reply]] = []
        self._lock = threading.Lock()
        self._http: ThreadingHTTPServer | None = None
        self._port = 0

    def route(self, call: Call) -> Reply:
        raise NotImplementedError

    def fail(self, reply: Reply, times: int = 1, where: str = "", method: str = "") -> None:
        """Answer so, to the next calls whose path has `where` in it."""

        def meant(call: Call) -> bool:
            return where in call.path and method in ("", call.method)

        self._faults += [(meant, reply)] * times

    def asked(self, method: str, where: str) -> list[Call]:
        return [call for call in self.calls if call.method == method and where in call.path]

    def reset(self) -> None:
        """As newly made, at the same address."""
        self.start()
        http, port = self._http, self._port
        self.__init__()  # type: ignore[misc]
        self._http, self._port = http, port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        if self._http is None:
            self._http = _Listener(("127.0.0.1", self._port), _handler(self))
            self._port = self._http.server_address[1]
            threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections from now on."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answer(self, call: Call) -> Reply:
        with self._lock:
            self.calls.append(call)
            for number, (meant, reply) in enumerate(self._faults):
                if meant(call):
                    del self._faults[number]
                    return reply
            return self.route(call)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            parts = urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            sent = self.rfile.read(size)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(sent) if sent else None
            reply = fake.answer(Call(self.command, unquote(parts.path), query, headers, body))
            if reply.drop:
                self.close_connection = True
                return
            html = isinstance(reply.body, str)
            data = b"" if reply.body is None else (reply.body if html else json.dumps(reply.body)).encode("utf-8")
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "text/html" if html else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = _do

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler


def overlap(text: str, query: str) -> float:
    """How near two texts are, for a fake search: the share of the query's words that the text has."""
    words, asked = set(text.lower().split()), set(query.lower().split())
    return len(words & asked) / (len(asked) or 1)
