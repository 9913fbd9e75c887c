"""Faults by chance are the same for the same requests, as frequent as asked for, and of every kind; a rate limit lets
through what it says; and a program has both."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import mock_faults
from tests.support.mock_faults import KINDS, Faults, RateLimit
from tests.support.mock_openai import MockOpenAI, Request

ROOT = Path(__file__).parents[2]


def request(number: int) -> Request:
    raw = b'{"messages": [{"role": "user", "content": "%d"}]}' % number
    return Request(0, 0.0, b"POST /v1/chat/completions HTTP/1.1\r\n\r\n", raw)


def met(faults: Faults, numbers: list[int]) -> dict[int, bool]:
    return {number: faults(request(number)) is not None for number in numbers}


def test_the_same_requests_fail_in_any_order() -> None:
    numbers = list(range(500))
    one, other = Faults(0.3), Faults(0.3)
    assert met(one, numbers) == met(other, numbers[::-1])
    assert one.happened == other.happened
    assert met(Faults(0.3, seed=1), numbers) != met(Faults(0.3), numbers)


def test_as_many_fail_as_asked_for_in_every_way() -> None:
    faults = Faults(0.3)
    failed = sum(met(faults, list(range(3000))).values())
    assert 800 < failed < 1000
    assert set(faults.happened) == set(KINDS) and min(faults.happened.values()) > 40
    assert not any(met(Faults(0.0), list(range(100))).values())


def test_a_request_that_failed_may_fail_again_but_not_for_ever() -> None:
    faults = Faults(0.5)
    tries = []
    for number in range(200):
        tries.append(1)
        while faults(request(number)) is not None:
            tries[-1] += 1
    assert min(tries) == 1 and 4 < max(tries) < 30
    assert 300 < sum(tries) < 500


def test_a_rate_limit_lets_through_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(mock_faults.time, "monotonic", lambda: clock[0])
    limit, passed = RateLimit(600), []
    for _ in range(3000):  # a minute of 50 a second
        response = limit(request(0))
        passed.append(response is None)
        if response is not None:
            assert response.status == 429 and 0 < float(response.headers["retry-after"]) <= 0.1
        clock[0] += 0.02
    assert 600 <= sum(passed) <= 611
    assert all(passed[:10]), "a second's worth at once"
    clock[0] += 60
    assert [limit(request(0)) is None for _ in range(12)] == [True] * 10 + [False] * 2


def test_program() -> None:
    options = ["--delay", "0.01", "--jitter", "0.5", "--faults", "1", "--kinds", "500", "--rpm", "1"]
    command = [sys.executable, "-m", "tests.support.mock_openai", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        host = program.stdout.readline().removeprefix("listening on http://").split("/")[0]
        connection, statuses = http.client.HTTPConnection(host, timeout=5), []
        for number in range(2):
            connection.request("POST", "/v1/chat/completions", request(number).raw)
            with connection.getresponse() as reply:
                statuses.append(reply.status)
                reply.read()
        connection.close()
        program.terminate()
    assert statuses == [500, 429]


def test_jitter_varies_the_delay() -> None:
    server = MockOpenAI(delay=1.0, jitter=0.2, seed=3)
    delays = {server.wait_of(None) for _ in range(100)}
    assert len(delays) == 100 and 0.8 <= min(delays) < max(delays) <= 1.2
    assert server.wait_of(0.5) == 0.5
