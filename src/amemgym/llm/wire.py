"""HTTP/1.1 on connections to one address: a request's bytes out, an answer in, the connection kept for the next.

Answers are taken apart by llhttp, the parser of Node (`httptools`). A call costs a third of what it does with a client
for everything, which the harness would feel: nothing else of a call takes as long.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlsplit

import httptools

#: seconds after which a connection that nobody used is not used again, as servers close those
IDLE = 15.0
#: bytes of headers that are taken
MOST_HEADERS = 64 * 1024


class Received(NamedTuple):
    """An answer: the status, the headers by their names in small letters, and the body, unpacked."""

    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """Connections to the host of an address.

    Args:
        url: an http or https address.
        headers: sent with every request.
        secure: whom to trust, for https.
        longest: bytes of a body; a longer one is cut one byte after that.
    """

    def __init__(self, url: str, headers: Mapping[str, str], secure: ssl.SSLContext | None, longest: int) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._secure = secure if parts.scheme == "https" else None
        self._longest = longest
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        host = self._host.encode("idna").decode("ascii") if not self._host.isascii() else self._host
        host = f"[{host}]" if ":" in host else host
        told = {"Host": f"{host}:{parts.port}" if parts.port else host, "Accept": "*/*", **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        if lines.count("\r") != len(told) or lines.count("\n") != len(told):
            raise ValueError("a header has a line break in it")
        self._head = lines.encode("latin-1")

    async def post(self, url: str, body: bytes, connecting: float) -> Received:
        """The answer to a POST to an address of this host. `connecting` is how many seconds a connection may take.

        Raises ConnectingTimeout, OSError or ValueError.
        """
        parts = urlsplit(url)
        target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
        head = b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n" % (target.encode("latin-1"), self._head, len(body))
        connection = self._kept() or await self._connected(connecting)
        try:
            received = await connection.ask(head + body)
        except BaseException:
            connection.abort()
            raise
        if connection.is_free:
            self._idle.append(connection)
        else:
            connection.abort()
        return received

    def close(self) -> None:
        """Let go of all connections."""
        for connection in list(self._open):
            connection.abort()
        self._idle.clear()

    def _kept(self) -> _Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_free and now - connection.used < IDLE:
                return connection
            connection.abort()
        return None

    async def _connected(self, seconds: float) -> _Connection:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(self._open, self._longest),
                    self._host,
                    self._port,
                    ssl=self._secure,
                    happy_eyeballs_delay=0.25,
                )
        except TimeoutError:
            if limit.expired():
                raise ConnectingTimeout from None
            raise
        return connection


class ConnectingTimeout(Exception):
    """No connection stood in time."""


class _Connection(asyncio.Protocol):
    """One connection, on which one request is under way at a time. httptools calls its `on_…`."""

    def __init__(self, open: set[_Connection], longest: int) -> None:
        self._all, self._longest = open, longest
        self._transport: asyncio.Transport | None = None
        self._future: asyncio.Future[Received] | None = None
        self._stays = True
        self.used = 0.0

    @property
    def is_free(self) -> bool:
        """Whether another request can be made on it."""
        transport = self._transport
        return (
            transport is not None
            and self._future is None
            and self._stays
            and not transport.is_closing()
            and not transport.get_write_buffer_size()
        )

    async def ask(self, request: bytes) -> Received:
        loop = asyncio.get_running_loop()
        assert self._transport is not None
        self._begin()
        self._future = loop.create_future()
        self._transport.write(request)
        received = await self._future
        self.used = loop.time()
        return received

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _begin(self) -> None:
        """An answer is to come."""
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        self._length = self._taken = 0
        self._has_head = False

    # what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._all.add(self)

    def data_received(self, data: bytes) -> None:
        if self._future is None:  # nothing was asked
            self._stays = False
            self.abort()
            return
        if not self._has_head:
            if self._taken > MOST_HEADERS:
                self._fail(ValueError("its headers have no end"))
                return
            self._taken += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ValueError(f"what it sends is no HTTP: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.discard(self)
        self._stays = False
        if self._future is None:
            return
        lengthless = not {"content-length", "transfer-encoding"} & set(self._headers)
        if exc is None and self._has_head and lengthless:  # then the end of the connection is that of the body
            self._finish()
        else:
            self._fail(exc or ConnectionResetError("it closed the connection before its answer was whole"))

    # what llhttp tells

    def on_header(self, name: bytes, value: bytes) -> None:
        self._length += len(name) + len(value)
        if self._length > MOST_HEADERS:
            self._fail(ValueError("its headers have no end"))
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        self._has_head, self._length = True, 0

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)
        self._length += len(body)
        if self._length > self._longest:
            self._stays = False
            self._finish()

    def on_message_complete(self) -> None:
        if self._future is None:
            self._stays = False
        elif 100 <= self._parser.get_status_code() < 200:  # the answer itself is still to come
            self._headers, self._parts, self._has_head = {}, [], False
        else:
            self._stays = self._parser.should_keep_alive()
            self._finish()

    def _finish(self) -> None:
        future, self._future = self._future, None
        if future is None or future.done():
            return
        try:
            body = _unpacked(b"".join(self._parts), self._headers.get("content-encoding", ""), self._longest)
        except (ValueError, zlib.error) as error:
            self._stays = False
            future.set_exception(ValueError(str(error)))
        else:
            future.set_result(Received(self._parser.get_status_code(), self._headers, body))

    def _fail(self, error: Exception) -> None:
        future, self._future = self._future, None
        self._stays = False
        self.abort()
        if future is not None and not future.done():
            future.set_exception(error)


def _unpacked(body: bytes, encoding: str, longest: int) -> bytes:
    """The body as it was before it was packed, cut one byte after the longest. Raises ValueError or zlib.error."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity") or not body:
        return body[: longest + 1]
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"its answer is packed as {encoding!r}, which was not asked for")
    unpacker: Any = zlib.decompressobj(zlib.MAX_WBITS | 32)  # of gzip or zlib, by what it begins with
    plain: bytes = unpacker.decompress(body, longest + 1)
    if len(plain) <= longest and not unpacker.eof:
        raise ValueError("its packed answer is not whole")
    return plain
