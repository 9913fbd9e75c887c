"""What goes wrong below an endpoint's words: connections, HTTP, packing, redirects. Each ends in a named error that the
door tries again, and neither the error nor what caused it has the key."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import certifi
import pytest

from amemgym.errors import BadRequest, EndpointUnavailable, ModelError, NotAnEndpoint
from amemgym.llm import transport
from amemgym.llm.openai import OpenAIModel
from amemgym.llm.wire import Wire
from amemgym.secrets import remember
from tests.llm.helpers import ask, reply_to, request_for
from tests.support.mock_openai import MockOpenAI, Response, ok

KEY = "sk-test-4f9d0c77e1b2"
GOOD = b'{"choices": [{"index": 0, "message": {"content": "Fine."}, "finish_reason": "stop"}]}'
JSON = {"content-type": "application/json"}
PACKED = gzip.compress(GOOD)


def raw(*headers: str, body: bytes = GOOD, status: str = "200 OK") -> Response:
    """These bytes, after which the connection is closed."""
    return Response(raw="\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1") + body)


def chunks(*lines: bytes) -> Response:
    return raw("content-type: application/json", "transfer-encoding: chunked", body=b"\r\n".join(lines))


LENGTH = f"content-length: {len(GOOD)}"
UNAVAILABLE: dict[str, Response] = {
    "reset": Response(drop=True, reset=True),
    "reset in the answer": replace(ok("t"), truncate=True, reset=True),
    "half a body": replace(ok("t"), truncate=True),
    "half of the headers": Response(raw=b"HTTP/1.1 200 OK\r\ncontent-"),
    "no HTTP": Response(raw=b"220 mail.test ESMTP\r\n"),
    "zeros": Response(raw=bytes(500)),
    "a length that is none": raw("content-length: many"),
    "two lengths": raw("content-length: 3", "content-length: 9"),
    "a length too long": raw(f"content-length: {len(GOOD) + 1}"),
    "chunks without end": chunks(b"5", GOOD[:5], b""),
    "a chunk's size that is none": chunks(b"zz", GOOD, b"0", b"", b""),
    "a chunk longer than it says": chunks(b"3", GOOD, b"0", b"", b""),
    "a header without end": raw("x-long: " + "x" * 100_000, LENGTH),
    "no gzip": raw("content-encoding: gzip", LENGTH),
    "half a gzip": raw("content-encoding: gzip", f"content-length: {len(PACKED)}", body=PACKED[:20]),
    "packed in a way that was not asked for": raw("content-encoding: br", LENGTH),
    "another protocol": raw("upgrade: h2c", "connection: upgrade", body=b"", status="101 Switching Protocols"),
    "spoiled gzip": raw("content-encoding: gzip", f"content-length: {len(PACKED)}", body=PACKED[:30] + bytes(90)),
}


def chain(error: BaseException | None) -> Iterator[str]:
    """All that an error, its causes and what they hold can show."""
    while error is not None:
        yield f"{error} {error!r} {error.args!r} {vars(error)!r}"
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_what_fails_below_is_tried_again(name: str) -> None:
    fault, left = UNAVAILABLE[name], [2]

    def responder(request: Any) -> Response:
        left[0] -= 1
        return fault if left[0] >= 0 else ok("At last.")

    assert ask(responder, attempts=3, api_key=remember(KEY)).text == "At last."
    outcome = ask(fault, attempts=2, api_key=remember(KEY))
    assert type(outcome.error) is EndpointUnavailable
    assert "cannot be reached (" in str(outcome.error) and "\n" not in str(outcome.error)
    assert outcome.server.arrived == 2
    assert not any(KEY in shown for shown in chain(outcome.error))


GARBLED: dict[str, Response] = {
    "no length, and half": raw("content-type: application/json", body=GOOD[:40]),
    "no body": raw("content-length: 0", body=b""),
    "204": raw(body=b"", status="204 No Content"),
    "gzip that is not said to be": raw(f"content-length: {len(PACKED)}", body=PACKED),
}


@pytest.mark.parametrize("name", GARBLED)
def test_what_is_no_completion_is_named(name: str) -> None:
    outcome = ask(GARBLED[name], attempts=1)
    assert type(outcome.error) is NotAnEndpoint
    assert "no chat completion" in str(outcome.error)


def test_a_length_too_short_is_one_or_the_other() -> None:
    """By when the rest arrives."""
    outcome = ask(raw(f"content-length: {len(GOOD) - 1}"))
    assert type(outcome.error) in (NotAnEndpoint, EndpointUnavailable)


UNUSUAL: dict[str, Response] = {
    "no length": raw("content-type: application/json"),
    "chunks": chunks(b"5", GOOD[:5], b"%x" % len(GOOD[5:]), GOOD[5:], b"0", b"", b""),
    "gzip": raw("content-encoding: gzip", f"content-length: {len(PACKED)}", body=PACKED),
    "a word before": Response(raw=b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + raw(LENGTH).raw),
    "deflate": raw("content-encoding: deflate", body=zlib.compress(GOOD)),
    "another type": Response(body=GOOD, headers={"content-type": "text/html"}),
    "no type": raw(LENGTH),
    "many words": Response(body=GOOD[:-1] + b',"padding":"' + b"x" * 3_000_000 + b'"}', headers=JSON),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_only_unusual_is_read(name: str) -> None:
    assert ask(UNUSUAL[name]).text == "Fine."


def test_an_answer_that_begins_and_stalls() -> None:
    outcome = ask(Response(body=GOOD, stall=60.0), attempts=2, timeout=0.05)
    assert type(outcome.error) is EndpointUnavailable
    assert "did not answer within 0.05 s (tried 2 times)" in str(outcome.error)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_an_answer_without_end_is_not_read(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LONGEST_ANSWER", 2_000_000)
    body = GOOD[:-1] + b',"padding":"' + b"x" * 3_000_000 + b'"}'
    headers = {"content-encoding": "gzip"} if packed else {}
    outcome = ask(Response(body=gzip.compress(body) if packed else body, headers=JSON | headers))
    assert type(outcome.error) is NotAnEndpoint and "longer than 2 MB" in str(outcome.error)


def test_connections_are_kept() -> None:
    outcome = ask(None, *(request_for(reply_to(str(n))) for n in range(5)))
    assert (outcome.server.arrived, outcome.server.connections) == (5, 1)


def test_a_connection_that_ends_or_says_more_is_not_used_again() -> None:
    """The server closes it, says that it will, or says something that nobody asked for."""
    for answer in (raw(LENGTH), raw("connection: close", LENGTH), raw(LENGTH, body=GOOD + GOOD)):
        outcome = ask(answer, *(request_for(reply_to(str(n))) for n in range(3)), attempts=2)
        assert outcome.text == "Fine." and outcome.server.connections >= 3


def test_no_header_has_a_line_break() -> None:
    with pytest.raises(ValueError, match="line break"):
        Wire("http://127.0.0.1", {"X-Name": "a\r\nX-Other: b"}, None, 10)


def test_there_is_no_limit_of_connections_but_the_doors() -> None:
    requests = [request_for(reply_to(str(n))) for n in range(120)]
    assert ask(None, *requests, at_once=True, slots=120, delay=0.3).server.max_in_flight > 100


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_follows_no_redirect(status: int) -> None:
    with MockOpenAI() as elsewhere:
        there = f"{elsewhere.base_url}/chat/completions?token=secret"
        outcome = ask(Response(status, "Moved", {"location": there}), attempts=3, api_key=remember(KEY))
    assert type(outcome.error) is BadRequest
    assert f"redirects to {elsewhere.base_url}" in str(outcome.error) and "secret" not in str(outcome.error)
    assert (outcome.server.arrived, elsewhere.arrived) == (1, 0)


def ended(base_url: str) -> ModelError:
    """How a call there ends."""

    async def call() -> ModelError:
        model = OpenAIModel("m", base_url=base_url, api_key=remember(KEY), timeout=5)
        try:
            with pytest.raises(ModelError) as caught:
                await model.complete(request_for())
            return caught.value
        finally:
            await model.aclose()

    return asyncio.run(call())


def test_who_lets_nobody_in_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "CONNECTING", 0.05)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        queue = [socket.socket() for _ in range(4)]
        for waiting in queue:
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        error = ended(f"http://127.0.0.1:{full.getsockname()[1]}/v1")
        for waiting in queue:
            waiting.close()
    assert type(error) is EndpointUnavailable
    assert "no connection within 0.05 s" in str(error)


def test_a_proxy_is_for_addresses_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockOpenAI() as proxy, MockOpenAI() as here:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        assert "POST http://model.invalid/v1/chat/completions" in str(ended("http://model.invalid/v1"))
        assert "POST /v1/none/chat/completions" in str(ended(f"{here.base_url}/none"))
        monkeypatch.setenv("no_proxy", "model.invalid")
        assert "cannot be reached" in str(ended("http://model.invalid/v1"))
        assert (proxy.arrived, here.arrived) == (1, 1)


@pytest.mark.parametrize(
    "form", ["{}:hunter22@127.0.0.1:port", "http://{}:hunter22@", "socks5://{}:hunter22@127.0.0.1:1"]
)
def test_a_proxy_that_cannot_be_used_is_told_without_its_password(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", form.format("alice"))
    error = ended("http://model.invalid/v1")
    assert type(error) is EndpointUnavailable
    assert "the proxy that the environment names is no address" in str(error)
    assert not any("hunter22" in shown for shown in chain(error))


def test_a_proxy_may_be_named_without_http(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockOpenAI() as proxy:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        assert "POST http://model.invalid/v1/chat/completions" in str(ended("http://model.invalid/v1"))


def test_a_proxy_behind_https_is_not_trusted_blindly(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def certificates() -> ssl.SSLContext:
        asked.append(True)
        return ssl.create_default_context()

    monkeypatch.setattr(transport, "certificates", certificates)
    monkeypatch.setenv("http_proxy", "https://127.0.0.1:1")
    assert "cannot be reached" in str(ended("http://model.invalid/v1"))
    assert asked


@pytest.mark.parametrize("variable", [None, "SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_whose_certificates_are_trusted(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """certifi's, but where the environment names others."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(ssl, "create_default_context", lambda **named: asked.append(named))
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "/somewhere")
    transport.certificates()
    assert asked == ([{}] if variable else [{"cafile": certifi.where()}])


ACCOUNT = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": " proj-1\n"}


def test_the_account_is_told_to_its_own_endpoint_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)
    (elsewhere,) = ask(None).server.requests
    assert not {name for name in elsewhere.headers if name.startswith("openai")}
    with MockOpenAI() as server:
        monkeypatch.setattr("amemgym.llm.openai.DEFAULT_URL", server.base_url)
        assert ask_its_own() == "Mock reply"
    sent = server.requests[0].headers
    assert (sent["openai-organization"], sent["openai-project"]) == ("org-1", "proj-1")


def ask_its_own() -> str:
    """The beginning of a reply of the endpoint that is asked where no other is named."""

    async def call() -> str:
        model = OpenAIModel("m")
        try:
            return (await model.complete(request_for())).text
        finally:
            await model.aclose()

    return asyncio.run(call())[:10]


def test_no_vendors_package_is_loaded() -> None:
    code = """
import asyncio, sys
from amemgym.llm import ModelSettings, open_model, Request
from amemgym.messages import Message
from amemgym.tasks import Context, Reply

async def call():
    model = open_model(ModelSettings("openai:m", base_url=sys.argv[1]), print)
    print((await model.complete(Request(Reply(Context()), [Message("user", "Hi.")]))).text[:10])
    await model.aclose()

asyncio.run(call())
print({"openai", "httpx", "httpx2", "httpcore", "requests", "huggingface_hub", "anthropic"} & set(sys.modules))
"""
    with MockOpenAI() as server:
        command = [sys.executable, "-c", code, server.base_url]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Mock reply", "set()"]
