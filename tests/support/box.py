"""The example assistant behind a real address, inside this process: every call is kept, and any can be answered
otherwise, before or after the assistant has seen it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLE = Path(__file__).parents[2] / "examples" / "assistant_server.py"


@dataclass(frozen=True)
class Call:
    """One call: `order` counts from 0."""

    order: int
    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_about_a_conversation(self) -> bool:
        return not str(self.body["episode"]).startswith(("check-", "alone-"))


@dataclass(frozen=True)
class Fault:
    """An answer in place of the assistant's: `seen` where it has taken the call in before; None for no answer."""

    status: int | None = 200
    body: str | bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    seen: bool = False


def assistant() -> ModuleType:
    """The example, with memory of its own."""
    spec = importlib.util.spec_from_file_location("assistant_server", EXAMPLE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BoxServer:
    """Serves at `url` while it is entered. `fault(call)` may answer in the assistant's place."""

    def __init__(self, fault: Callable[[Call], Fault | None] = lambda call: None) -> None:
        self.fault = fault
        self.calls: list[Call] = []
        self.example = assistant()
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.005), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def name(self) -> str:
        """The agent's name in results."""
        return self.url.replace("//", "")

    @property
    def episodes(self) -> dict[str, dict[int, str]]:
        """What the assistant remembers: episode → turn → what the user said."""
        found: dict[str, dict[int, str]] = self.example.EPISODES
        return found

    def named(self, *names: str) -> list[Call]:
        return [call for call in self.calls if call.name in names]

    def __enter__(self) -> BoxServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                with server._lock:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    call = Call(len(server.calls), self.path, json.loads(raw), headers)
                    server.calls.append(call)
                fault = server.fault(call)
                status, answer = 200, b""
                if fault is None or fault.seen:
                    with server._lock:
                        status, said = server.example.handle(call.name, call.body)
                    answer = json.dumps(said).encode()
                if fault is not None:
                    if fault.status is None:
                        server.released.wait()
                        return
                    status, answer = fault.status, fault.body if isinstance(fault.body, bytes) else fault.body.encode()
                self.send_response(status)
                for name, value in (fault.headers if fault else {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError, TimeoutError):  # whoever called has gone
                    super().handle()

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler
