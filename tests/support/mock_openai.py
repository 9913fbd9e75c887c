"""A local stand-in for an OpenAI-compatible endpoint: `with MockOpenAI(sequence(quota())) as server: ...`.

A responder sees each well-formed request and gives a `Response`, or None for the default answer. It is called
in the server's thread, one request at a time, so it must not block: `Response.delay` is for slowness.

As a program it gives the default answers in a process of its own:

    python -m tests.support.mock_openai --delay 0.05 --faults 0.3 --rpm 600
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import signal
import socket
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from tests.support.mock_faults import KINDS, Faults, RateLimit
from tests.support.mock_http import Connection, Request, Response

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


_MODEL = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*")')
_STREAMS = re.compile(rb'"stream"\s*:\s*true')
_SOME = re.compile(rb'"messages"\s*:\s*\[\s*\{')
#: characters of a message's JSON that are not its text
_AROUND = 31
_MODELS = Response(body={"object": "list", "data": [{"id": "mock-model", "object": "model"}]})
_JSON = {"content-type": "application/json"}


def default_responder(request: Request) -> Response:
    """The models; choice 1 when a JSON choice is asked for; else a text that depends on the messages.

    Nothing is parsed: in a JSON text a quotation mark without a backslash before it is no part of what was said.
    """
    if not request.is_chat:
        return _MODELS
    raw = request.raw
    start, last = raw.find(b'"messages"'), raw.rfind(b'"role"')
    if raw.find(rb"\"answer\"", last) >= 0:
        text = r"{\"answer\": 1}"
    else:
        text = f"Mock reply {zlib.crc32(memoryview(raw)[start:]):08x}{len(raw) - start & 0xFFFF:04x}."
    asked, said = _tokens(request), 1 + (len(text) + 40) // 4
    body = (
        f'{{"id": "chatcmpl-{request.order}", "object": "chat.completion", "created": 0, "model": {_model(request)},'
        f' "choices": [{{"index": 0, "message": {{"role": "assistant", "content": "{text}"}},'
        f' "finish_reason": "stop"}}],'
        f' "usage": {{"prompt_tokens": {asked}, "completion_tokens": {said}, "total_tokens": {asked + said}}}}}'
    )
    return Response(body=body, headers=_JSON)


def _model(request: Request) -> str:
    """The JSON of the name of the model that is asked."""
    raw = request.raw
    found = _MODEL.search(raw, 0, max(0, raw.find(b'"messages"'))) or _MODEL.search(raw, max(0, raw.rfind(b'"role"')))
    return found[1].decode() if found else "null"


def _tokens(request: Request) -> int:
    """Of what is asked; a token is four characters. Nearly those of the texts, without their JSON."""
    raw = request.raw
    start = raw.find(b'"messages"')
    return 1 + max(0, len(raw) - start - _AROUND * raw.count(b"{", start) - raw.count(b"\\", start)) // 4


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
    """The endpoint, as a context manager; leaving it raises what a responder raised (clients saw a 418).

    Args:
        responder: gives the answers.
        delay, jitter: seconds before each chat answer, and the part of them by which they vary.
        faults: the chance of a fault, of chat requests, or the faults themselves.
        rpm: chat requests a minute; more are refused.
        seed: of faults and jitter.
    """

    def __init__(
        self,
        responder: Responder | None = None,
        *,
        delay: float = 0.0,
        port: int = 0,
        jitter: float = 0.0,
        faults: float | Faults = 0.0,
        rpm: float | None = None,
        seed: int = 0,
    ) -> None:
        self.responder, self.delay, self.port, self.jitter = responder or default_responder, delay, port, jitter
        self.faults = faults if isinstance(faults, Faults) else Faults(faults, seed) if faults else None
        self.limit = RateLimit(rpm) if rpm else None
        self.requests: list[Request] = []  # in order of arrival
        self.errors: list[Exception] = []  # what the responder raised
        self.arrived = self.connections = self.in_flight = self.max_in_flight = 0
        self.record = True  # False: count the requests, do not keep them
        self.peak_file: Path | None = None  # told each new max_in_flight
        self._random = random.Random(seed)
        self._open: set[Connection] = set()
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
        self._loop = asyncio.get_running_loop()
        server = await self._loop.create_server(self._connected, sock=listener, backlog=1024)
        self._ready.set()
        await self._stop.wait()
        server.close()
        while self._open:
            for connection in list(self._open):
                connection.close()
            await asyncio.sleep(0)

    def _connected(self) -> Connection:
        connection = Connection(self._take, self._gone)
        self.connections += 1
        self._open.add(connection)
        return connection

    def _gone(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection.busy:
            connection.busy = False
            self._count(-1)

    def _take(self, connection: Connection, head: bytes, body: bytes) -> None:
        request = Request(self.arrived, time.monotonic(), head, body)
        self.arrived += 1
        if self.record:
            self.requests.append(request)
        connection.busy = True
        self._count(1)
        response = self._answer(request)
        if response.hang:
            return
        if delay := self.wait_of(response.delay if request.is_chat else response.delay or 0.0):
            connection.timer = self._loop.call_later(delay, self._send, connection, response)
        else:
            self._send(connection, response)

    def wait_of(self, delay: float | None) -> float:
        """Seconds to wait before an answer with that delay; None: the server's, which varies."""
        if delay is not None or not self.jitter:
            return self.delay if delay is None else delay
        return self.delay * (1 + self.jitter * self._random.uniform(-1, 1))

    def _send(self, connection: Connection, response: Response) -> None:
        connection.busy = False
        self._count(-1)  # before the answer is written, so that max_in_flight never says too much
        connection.send(response)

    def _count(self, change: int) -> None:
        with self._changed:
            self.in_flight += change
            if self.in_flight > self.max_in_flight:
                self.max_in_flight = self.in_flight
                if self.peak_file is not None:
                    self.peak_file.write_text(f"{self.max_in_flight}\n")
            self._changed.notify_all()

    def _answer(self, request: Request) -> Response:
        """Refuse what the endpoint does not know; else a fault, the responder's answer, or the default one."""
        if not request.is_chat and (request.method, request.path) != ("GET", "/v1/models"):
            return error(404, f"Invalid URL ({request.method} {request.path})")
        if request.is_chat:
            if not _SOME.search(request.raw) or _streams(request.raw):
                return error(400, "The mock wants a JSON body with messages, and does not stream.")
            for misbehave in (self.limit, self.faults):
                if misbehave is not None and (response := misbehave(request)) is not None:
                    return response
        try:
            response = self.responder(request)
            return default_responder(request) if response is None else _completed(response, request)
        except Exception as exc:
            self.errors.append(exc)
            return error(418, f"The mock's responder raised {exc!r}")


def _streams(raw: bytes) -> bool:
    """Whether a stream is wanted, which stands before the messages or after the last one."""
    return bool(_STREAMS.search(raw, 0, raw.find(b'"messages"')) or _STREAMS.search(raw, max(0, raw.rfind(b'"role"'))))


def _completed(response: Response, request: Request) -> Response:
    """A completion with what only its request can tell."""
    body = response.body
    if not isinstance(body, dict) or "choices" not in body or not request.is_chat:
        return response
    body = {"id": f"chatcmpl-{request.order}", "model": json.loads(_model(request))} | body
    if body.get("usage") == "auto":
        asked, said = _tokens(request), 1 + len(str(body["choices"][0]["message"])) // 4
        body["usage"] = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    return replace(response, body=body)


def main() -> None:
    """Serve the default answers until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each chat answer")
    parser.add_argument("--jitter", type=float, default=0.0, help="the part of the delay by which it varies, 0 to 1")
    parser.add_argument("--faults", type=float, default=0.0, help="the chance that a chat request fails")
    parser.add_argument("--kinds", default=",".join(KINDS), help="the faults that happen (default: %(default)s)")
    parser.add_argument("--rpm", type=float, help="chat requests a minute; more are refused with 429")
    parser.add_argument("--seed", type=int, default=0, help="of faults and jitter")
    parser.add_argument("--max-in-flight-file", type=Path, help="holds the greatest number in flight so far")
    args = parser.parse_args()
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    faults = Faults(args.faults, args.seed, args.kinds.split(","))
    server = MockOpenAI(
        delay=args.delay,
        port=args.port,
        jitter=args.jitter,
        faults=faults if args.faults else 0.0,
        rpm=args.rpm,
        seed=args.seed,
    )
    server.peak_file, server.record = args.max_in_flight_file, False
    with server:
        print(f"listening on {server.base_url}", flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
