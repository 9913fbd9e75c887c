"""HTTP as the mock endpoint speaks it: requests as they arrive, responses, and the ways in which a connection fails.

It runs beside what it measures, so a request costs little: its body is parsed only when somebody looks at it.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.client import responses as PHRASES
from typing import Any

_CHAT = re.compile(rb"POST /v1/chat/completions[? ]")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CLOSING = re.compile(rb" HTTP/1\.0\r\n|\r\nconnection:[ \t]*close|\r\ntransfer-encoding:", re.IGNORECASE)
_JSON = {"content-type": "application/json"}
_TEXT = {"content-type": "text/plain; charset=utf-8"}


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    order: int  # of arrival, from 0
    at: float  # time.monotonic() when the last byte had come
    head: bytes  # the request line and the headers
    raw: bytes  # the body

    @cached_property
    def is_chat(self) -> bool:
        return _CHAT.match(self.head) is not None

    @cached_property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode("latin-1")

    @cached_property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode("latin-1")

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        lines = [line.partition(":") for line in self.head.decode("latin-1").split("\r\n")[1:] if line]
        return {name.lower(): value.strip() for name, _, value in lines}

    @cached_property
    def body(self) -> Any:
        """The parsed JSON; None when there is none."""
        with suppress(ValueError):
            return json.loads(self.raw)
        return None

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """Of the body; empty when it has none."""
        return self.body.get("messages") or [] if isinstance(self.body, dict) else []


@dataclass(frozen=True)
class Response:
    """What to send, or how to misbehave; vary one with `dataclasses.replace`. Any delay comes first."""

    status: int = 200
    body: Any = b""  # bytes and str go out as they are, anything else as JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float | None = None  # seconds; None: the server's delay
    hang: bool = False  # never answer: wait until the client goes or the server closes
    drop: bool = False  # close the connection without an answer
    truncate: bool = False  # promise the whole body, send half of it, close
    reset: bool = False  # with drop or truncate: by a reset, as from a machine that fell over
    stall: float | None = None  # send half of it, and after so many seconds close
    raw: bytes | None = None  # send this in place of all else, and close

    @property
    def is_cut(self) -> bool:
        return self.truncate or self.stall is not None

    def wire(self) -> bytes:
        """Its bytes."""
        if self.raw is not None:
            return self.raw
        body, kind = self.body, _TEXT
        if not isinstance(body, str | bytes):
            body, kind = json.dumps(body), _JSON
        payload = body.encode() if isinstance(body, str) else body
        headers = {**kind, **{name.lower(): value for name, value in self.headers.items()}}
        headers.setdefault("content-length", str(max(len(payload), int(self.is_cut))))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        start = f"HTTP/1.1 {self.status} {PHRASES.get(self.status, 'Unknown')}\r\n{head}\r\n"
        return start.encode("latin-1") + (payload[: len(payload) // 2] if self.is_cut else payload)


class Connection(asyncio.Protocol):
    """One connection: takes a request, gives it to `arrived`, and sends what that has sent for it.

    Args:
        arrived: is told of each request, (connection, head, body).
        gone: is told of the end, whether or not a request is under way.
    """

    def __init__(self, arrived: Callable[[Connection, bytes, bytes], None], gone: Callable[[Connection], None]) -> None:
        self._arrived, self._gone = arrived, gone
        self._received = bytearray()
        self._head, self._needed = b"", 0
        self.busy = False  # a request is under way; set and unset by who answers
        self.timer: asyncio.TimerHandle | None = None
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def close(self) -> None:
        """End it at once, where it has begun."""
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self._gone(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._take()

    def _take(self) -> None:
        if self.busy:
            return
        if not self._head:
            end = self._received.find(b"\r\n\r\n") + 4
            if end < 4:
                return
            self._head = bytes(self._received[:end])
            length = _LENGTH.search(self._head)
            self._needed = end + int(length[1] if length else 0)
        if len(self._received) < self._needed:
            return
        head, body = self._head, bytes(memoryview(self._received)[len(self._head) : self._needed])
        del self._received[: self._needed]
        self._head = b""
        self._closing = _CLOSING.search(head) is not None
        if head.count(b" ", 0, head.index(b"\r\n")) != 2:
            return self.transport.abort()
        self._arrived(self, head, body)

    def send(self, response: Response) -> None:
        """Answer the request, or fail at it."""
        transport = self.transport
        if response.drop:
            return self._reset() if response.reset else transport.close()
        transport.write(response.wire())
        loop = asyncio.get_running_loop()
        if response.stall is not None:
            self.timer = loop.call_later(response.stall, transport.close)
        elif response.truncate and response.reset:
            self.timer = loop.call_later(0.01, self._reset)  # or what was sent would be lost with it
        elif response.truncate or response.raw is not None or self._closing:
            transport.close()
        elif self._received:
            self._take()

    def _reset(self) -> None:
        sock = self.transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
