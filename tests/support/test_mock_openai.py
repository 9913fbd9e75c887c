"""The mock keeps its promises: to a plain HTTP client, and as a program."""

from __future__ import annotations

import gc
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.mock_openai import (
    MockOpenAI,
    Request,
    Response,
    content_filter,
    context_overflow,
    error,
    html,
    none_content,
    ok,
    quota,
    rate_limited,
    refuses_parameter,
    sequence,
)

ROOT = Path(__file__).parents[2]
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture(autouse=True, scope="module")
def _nothing_unclosed() -> Iterator[None]:
    yield
    gc.collect()  # an unclosed transport warns here


def call(base_url: str, text: str = "hello", **fields: Any) -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]} | fields
    data, headers = json.dumps(body).encode(), {"Content-Type": "application/json", "X-Test": "yes"}
    request = urllib.request.Request(f"{base_url}/chat/completions", data, headers)
    with OPENER.open(request, timeout=5) as reply:
        return dict(json.load(reply))


def refusal(base_url: str) -> tuple[int, dict[str, Any], Any]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        call(base_url)
    with caught.value as reply:
        return reply.code, json.load(reply)["error"], reply.headers


def content(body: dict[str, Any]) -> Any:
    return body["choices"][0]["message"]["content"]


def test_default_answers_and_the_record() -> None:
    with MockOpenAI() as server:
        one, same, other = (call(server.base_url, text) for text in ("a", "a", "b"))
        assert content(one) == content(same) != content(other)
        assert content(call(server.base_url, 'Reply with {"answer": n}.')) == '{"answer": 1}'
        assert content(call(server.base_url, messages=[{"role": "user", "content": [{"text": "x"}]}]))
        usage = one["usage"]
        assert 0 < usage["prompt_tokens"] < usage["total_tokens"] == sum(usage.values()) / 2
        with OPENER.open(f"{server.base_url}/models", timeout=5) as reply:
            assert json.load(reply)["data"][0]["id"] == "mock-model"
    assert [request.order for request in server.requests] == list(range(6))
    first = server.requests[0]
    assert (first.method, first.path, first.headers["x-test"]) == ("POST", "/v1/chat/completions", "yes")
    assert first.is_chat and first.body["model"] == "m" and first.messages[0]["content"] == "a"
    assert (server.arrived, server.in_flight, server.max_in_flight) == (6, 0, 1)


def test_errors_have_openai_form() -> None:
    script = [rate_limited(0.5), quota(), refuses_parameter("seed"), context_overflow(), content_filter()]
    with MockOpenAI(sequence(*script, error(500, "oops"))) as server:
        found = [refusal(server.base_url) for _ in range(6)]
        assert content(call(server.base_url))  # the script is over
    assert [(status, body["code"], body["param"]) for status, body, _ in found] == [
        (429, "rate_limit_exceeded", None),
        (429, "insufficient_quota", None),
        (400, "unsupported_parameter", "seed"),
        (400, "context_length_exceeded", "messages"),
        (400, "content_filter", None),
        (500, None, None),
    ]
    assert found[0][2]["retry-after"] == "0.5"
    assert found[2][1]["message"].startswith("Unsupported parameter: 'seed'")


def test_good_completions() -> None:
    usage = {"prompt_tokens": 7}
    script = [ok("t", reasoning="r", usage=usage), ok("t", usage=None), none_content(), content_filter(200)]
    with MockOpenAI(sequence(*script, then=ok("after"))) as server:
        thought, free, cut, filtered, after = (call(server.base_url) for _ in range(5))
    assert thought["usage"] == usage and thought["choices"][0]["message"]["reasoning_content"] == "r"
    assert free["usage"] is None and after["usage"]["total_tokens"] > 0 and content(after) == "after"
    assert content(cut) is content(filtered) is None
    assert [body["choices"][0]["finish_reason"] for body in (cut, filtered)] == ["length", "content_filter"]


def test_bodies_and_broken_connections() -> None:
    empty = Response(body={"object": "chat.completion", "choices": []})
    script = [html(), Response(body="no JSON"), replace(ok("t"), truncate=True), Response(drop=True), empty]
    with MockOpenAI(sequence(*script)) as server:
        for failure in (ValueError, ValueError, http.client.IncompleteRead, http.client.RemoteDisconnected):
            with pytest.raises(failure):
                call(server.base_url)
        assert call(server.base_url)["choices"] == []


def test_what_the_endpoint_does_not_know() -> None:
    with MockOpenAI(sequence(ok("kept"))) as server:
        assert refusal(server.base_url + "/v2")[0] == 404
        for wrong in ("messages", "stream"):
            with pytest.raises(urllib.error.HTTPError, match="400") as caught:
                call(server.base_url, "x", **{wrong: wrong == "stream"})
            caught.value.close()
        assert content(call(server.base_url)) == "kept"


def test_keep_alive_and_a_large_body(caplog: pytest.LogCaptureFixture) -> None:
    with MockOpenAI() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        body = json.dumps({"messages": [{"role": "user", "content": "x" * 3_000_000}]})
        for _ in range(3):
            connection.request("POST", "/v1/chat/completions", body)
            assert json.load(connection.getresponse())["usage"]["prompt_tokens"] - 750_000 in range(9)
    connection.close()  # the server went first
    assert (server.connections, server.arrived, caplog.records) == (1, 3, [])


def test_counts_what_is_in_flight_and_closing_ends_the_hung() -> None:
    with ThreadPoolExecutor(5) as pool:
        with MockOpenAI(lambda request: Response(hang=True)) as server:
            calls = [pool.submit(call, server.base_url) for _ in range(5)]
            server.wait_until(lambda s: s.in_flight == 5)
            with pytest.raises(TimeoutError):
                server.wait_until(lambda s: s.in_flight == 6, timeout=0.01)
        server.close()
        assert all(isinstance(each.exception(5), OSError) for each in calls)
    assert (server.in_flight, server.max_in_flight) == (0, 5)


def test_a_client_that_goes_is_not_in_flight() -> None:
    with MockOpenAI(delay=60) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        connection.request("POST", "/v1/chat/completions", '{"messages": [{"content": ""}]}')
        server.wait_until(lambda s: s.in_flight == 1)
        connection.close()
        server.wait_until(lambda s: s.in_flight == 0)


def test_a_responder_that_raises_fails_the_test() -> None:
    def responder(request: Request) -> Response:
        raise LookupError("not scripted")

    with pytest.raises(LookupError), MockOpenAI(responder) as server:
        assert refusal(server.base_url)[0] == 418


def test_program(tmp_path: Path) -> None:
    peak = tmp_path / "peak"
    options = ["--port", "0", "--delay", "0.05", "--max-in-flight-file", str(peak)]
    command = [sys.executable, "-m", "tests.support.mock_openai", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        base_url = program.stdout.readline().removeprefix("listening on ").strip()
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(call, [base_url] * 4))
        assert 1 <= int(peak.read_text()) <= 4
        os.kill(program.pid, signal.SIGTERM)
        assert program.wait(5) == 0
