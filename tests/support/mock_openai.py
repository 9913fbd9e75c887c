"""A local stand-in for an OpenAI-compatible endpoint: `with MockOpenAI(sequence(quota())) as server: ...`.

A responder sees each well-formed request and gives a `Response`, or None for the default answer. It is called
in the server's thread, one request at a time, so it must not block: `Response.delay` is for slowness.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import responses as PHRASES
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    order: int  # of arrival, from 0
    at: float  # time.monotonic() when the last byte had come
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Any  # the parsed JSON; None when there is none
    is_chat: bool
    messages: list[dict[str, Any]]  # of the body; empty when it has none


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


Responder = Callable[[Request], Response | None]
Str = str | None


def ok(text: Str, *, reasoning: Str = None, usage: Any = "auto", finish_reason: str = "stop") -> Response:
    """A completion; the server adds what depends on the request: id, model and, when "auto", the usage."""
    message = {"role": "assistant", "content": text} | ({"reasoning_content": reasoning} if reasoning else {})
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    body = {"object": "chat.completion", "created": 0, "choices": [choice], "usage": usage}
    return Response(body=body)


def none_content(finish_reason: str = "length", *, reasoning: Str = None, usage: Any = "auto") -> Response:
    """A completion without content, as from a model that thought until its limit."""
    return ok(None, reasoning=reasoning, usage=usage, finish_reason=finish_reason)


def error(
    status: int, message: str, *, code: Str = None, type: Str = None, param: Str = None, headers: Any = None
) -> Response:
    """An error in OpenAI's form; the type of a 400 or 404 is invalid_request_error unless given."""
    type = type or ("invalid_request_error" if status in (400, 404) else None)
    body = {"error": {"message": message, "type": type, "param": param, "code": code}}
    return Response(status, body, headers or {})


def rate_limited(retry_after: float) -> Response:
    return error(429, "Slow down.", code="rate_limit_exceeded", headers={"retry-after": str(retry_after)})


def quota() -> Response:
    """The 429 that no waiting cures."""
    return error(429, "You exceeded your quota.", code="insufficient_quota", type="insufficient_quota")


def refuses_parameter(name: str) -> Response:
    return error(400, f"Unsupported parameter: '{name}'.", code="unsupported_parameter", param=name)


def context_overflow() -> Response:
    message = "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."
    return error(400, message, code="context_length_exceeded", param="messages")


def content_filter(status: Literal[400, 200] = 400) -> Response:
    """A refused prompt (400, code content_filter) or an answer withheld (200, that finish_reason)."""
    return none_content("content_filter") if status == 200 else error(400, "Filtered.", code="content_filter")


def html(status: int = 200) -> Response:
    return Response(status, "<!DOCTYPE html><html><body>Sign in</body></html>", {"content-type": "text/html"})


def default_responder(request: Request) -> Response:
    """The models; choice 1 when a JSON choice is asked for; else a text that depends on the messages."""
    if not request.is_chat:
        return Response(body={"object": "list", "data": [{"id": "mock-model", "object": "model"}]})
    asks = '"answer"' in str(request.messages[-1].get("content"))
    digest = hashlib.sha256(json.dumps(request.messages, sort_keys=True).encode()).hexdigest()
    return ok('{"answer": 1}' if asks else f"Mock reply {digest[:12]}.")


def sequence(*responses: Response, then: Response | Responder | None = None) -> Responder:
    """Give the responses in order, one to each chat request, then `then` (None: the default answer)."""
    script, lock = list(responses), threading.Lock()

    def responder(request: Request) -> Response | None:
        if not request.is_chat:
            return None
        with lock:
            if script:
                return script.pop(0)
        return then(request) if callable(then) else then

    return responder


class MockOpenAI:
    """The endpoint, as a context manager; leaving it raises what a responder raised (clients saw a 418)."""

    def __init__(self, responder: Responder | None = None, *, delay: float = 0.0, port: int = 0) -> None:
        self.responder, self.delay, self.port = responder or default_responder, delay, port
        self.requests: list[Request] = []  # in order of arrival
        self.errors: list[Exception] = []  # what the responder raised
        self.arrived = self.connections = self.in_flight = self.max_in_flight = 0
        self.record = True  # False: count the requests, do not keep them
        self.peak_file: Path | None = None  # told each new max_in_flight
        self._changed, self._ready, self._stop = threading.Condition(), threading.Event(), asyncio.Event()

    def wait_until(self, condition: Callable[[MockOpenAI], bool], timeout: float = 5.0) -> None:
        """Block until the counters satisfy the condition, e.g. `lambda s: s.in_flight == 3`."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self), timeout):
                raise TimeoutError(f"{self.arrived} arrived, {self.in_flight} in flight after {timeout} s")

    def __enter__(self) -> MockOpenAI:
        listener = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        self.port = listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(listener),), daemon=True)
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *_: object) -> None:
        self.close()
        if self.errors and exc_type is None:
            raise self.errors[0]

    def close(self) -> None:
        """Stop serving; harmless when done twice."""
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._connection, sock=listener, backlog=1024)
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._stop.wait()
        server.close()  # asyncio.run cancels the connections

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with suppress(OSError, EOFError, ValueError, asyncio.CancelledError):
                while await self._exchange(reader, writer):
                    pass
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; True when the connection may carry another."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
        method, path, version = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        keep = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        raw, body = await reader.readexactly(int(headers.get("content-length", 0))), None
        with suppress(ValueError):
            body = json.loads(raw)
        is_chat = (method, path.partition("?")[0]) == ("POST", "/v1/chat/completions")
        messages = body.get("messages") or [] if isinstance(body, dict) else []
        request = Request(self.arrived, time.monotonic(), method, path, headers, body, is_chat, messages)
        self.arrived += 1
        self.requests += [request] * self.record
        self._count(1)
        try:
            response = self._answer(request)
            delay = self.delay * request.is_chat if response.delay is None else response.delay
            if delay or response.hang:
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if response.hang else delay):
                        await reader.read(1)  # a waiting client sends nothing: this is its leaving
                        return False
        finally:
            self._count(-1)  # before the answer is written, so that max_in_flight never says too much
        if not response.drop:
            writer.write(_wire(response, request))
        return keep and not (response.drop or response.truncate or "transfer-encoding" in headers)

    def _count(self, change: int) -> None:
        with self._changed:
            self.in_flight += change
            if self.in_flight > self.max_in_flight:
                self.max_in_flight = self.in_flight
                if self.peak_file is not None:
                    self.peak_file.write_text(f"{self.max_in_flight}\n")
            self._changed.notify_all()

    def _answer(self, request: Request) -> Response:
        """Refuse what the endpoint does not know; else the responder's answer, else the default one."""
        if not request.is_chat and (request.method, request.path) != ("GET", "/v1/models"):
            return error(404, f"Invalid URL ({request.method} {request.path})")
        if request.is_chat and (not request.messages or request.body.get("stream")):
            return error(400, "The mock wants a JSON body with messages, and does not stream.")
        try:
            return self.responder(request) or default_responder(request)
        except Exception as exc:
            self.errors.append(exc)
            return error(418, f"The mock's responder raised {exc!r}")


def _wire(response: Response, request: Request) -> bytes:
    """The bytes of a response."""
    body, kind = response.body, "text/plain; charset=utf-8"
    if not isinstance(body, str | bytes):
        body, kind = json.dumps(_completed(body, request)), "application/json"
    payload = body.encode() if isinstance(body, str) else body
    headers = {"content-type": kind} | {name.lower(): value for name, value in response.headers.items()}
    headers["content-length"] = str(max(len(payload), int(response.truncate)))
    lines = [f"HTTP/1.1 {response.status} {PHRASES.get(response.status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    sent = payload[: len(payload) // 2] if response.truncate else payload
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + sent


def _completed(body: Any, request: Request) -> Any:
    """A completion with what only its request can tell; a token is four characters."""
    if not isinstance(body, dict) or "choices" not in body or not request.is_chat:
        return body
    body = {"id": f"chatcmpl-{request.order}", "model": request.body.get("model")} | body
    if body.get("usage") == "auto":
        asked = 1 + sum(len(str(message.get("content"))) for message in request.messages) // 4
        said = 1 + len(str(body["choices"][0]["message"])) // 4
        body["usage"] = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    return body


def main() -> None:
    """Serve the default answers until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each chat answer")
    parser.add_argument("--max-in-flight-file", type=Path, help="holds the greatest number in flight so far")
    args = parser.parse_args()
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    server = MockOpenAI(delay=args.delay, port=args.port)
    server.peak_file, server.record = args.max_in_flight_file, False
    with server:
        print(f"listening on {server.base_url}", flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
