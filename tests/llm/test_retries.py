"""Trying again at the door: what, how often, and after how long a wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from amemgym import errors
from amemgym.errors import EndpointUnavailable, ModelError
from amemgym.llm import Completion, Door, Request
from amemgym.llm.clock import LONGEST_BACKOFF
from amemgym.llm.door import LONGEST_WAIT
from tests.llm.helpers import Heard, request_for
from tests.support.models import Scripted


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(50):
        await asyncio.sleep(0)


# ---- trying again


def failing(error: Callable[[], BaseException], times: int = 10**9) -> Scripted:
    left = [times]

    def answer(request: Request) -> str:
        if left[0]:
            left[0] -= 1
            raise error()
        return "At last."

    return Scripted(answer)


def through(provider: Scripted, attempts: int, first_wait: float = 0.5) -> tuple[Completion | BaseException, Heard]:
    heard = Heard()

    async def call() -> Completion:
        door = Door(provider, 1, attempts=attempts, first_wait=first_wait, watcher=heard)
        return await door.complete(request_for())

    try:
        return asyncio.run(call()), heard
    except Exception as error:
        return error, heard


@pytest.mark.parametrize("attempts", [1, 2, 6])
def test_attempts_are_limited_and_told(attempts: int, sleeps: list[float]) -> None:
    provider = failing(lambda: EndpointUnavailable("It is away."))
    error, heard = through(provider, attempts)
    assert type(error) is EndpointUnavailable
    assert str(error) == ("It is away." if attempts == 1 else f"It is away. (tried {attempts} times)")
    assert len(provider.requests) == attempts
    assert heard.waits == sleeps and len(sleeps) == attempts - 1
    assert {why for why, _ in heard.retries} <= {"It is away."}


@pytest.mark.parametrize("failures", [1, 5])
def test_it_stops_trying_when_it_has_a_reply(failures: int, sleeps: list[float]) -> None:
    provider = failing(lambda: EndpointUnavailable("It is away."), times=failures)
    completion, _ = through(provider, attempts=6)
    assert isinstance(completion, Completion) and completion.text == "At last."
    assert len(provider.requests) == failures + 1
    assert len(sleeps) == failures


MODEL_ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, ModelError)
    and kind not in (EndpointUnavailable, errors.NotAnEndpoint)
]


@pytest.mark.parametrize("kind", [*MODEL_ERRORS, KeyError, RuntimeError], ids=lambda kind: kind.__name__)
def test_nothing_else_is_tried_again(kind: type[Exception], sleeps: list[float]) -> None:
    provider = failing(lambda: kind("It is so."))
    error, heard = through(provider, attempts=6)
    # of an endpoint that never answered, a refusal is no one request's fault
    expected = errors.BadRequest if kind is errors.RequestRefused else kind
    assert type(error) is expected and "It is so." in str(error)
    assert len(provider.requests) == 1
    assert (sleeps, heard.retries) == ([], [])


def test_waits_double_up_to_a_limit(sleeps: list[float]) -> None:
    error, heard = through(failing(lambda: EndpointUnavailable("It is away.")), attempts=12, first_wait=0.5)
    assert isinstance(error, EndpointUnavailable)
    assert len(heard.waits) == 11
    for number, wait in enumerate(heard.waits):
        least = min(LONGEST_BACKOFF, 0.5 * 2**number)
        assert least <= wait <= 1.5 * least
    assert sleeps == heard.waits


def test_callers_do_not_all_come_back_at_the_same_moment(sleeps: list[float]) -> None:
    waits = {through(failing(lambda: EndpointUnavailable("Away.")), attempts=2)[1].waits[0] for _ in range(10)}
    assert len(waits) > 5


@pytest.mark.parametrize(("asked", "waited"), [(0.01, [0.01]), (60.0, [60.0]), (LONGEST_WAIT, [LONGEST_WAIT])])
def test_the_wait_asked_for_is_waited(asked: float, waited: list[float], sleeps: list[float]) -> None:
    completion, heard = through(failing(lambda: EndpointUnavailable("Busy.", asked), times=1), attempts=2)
    assert isinstance(completion, Completion)
    assert heard.waits == waited


def test_to_be_asked_for_no_wait_is_no_reason_to_hurry(sleeps: list[float]) -> None:
    _, heard = through(failing(lambda: EndpointUnavailable("Busy.", 0.0), times=1), attempts=2)
    assert 0.5 <= heard.waits[0] <= 0.75


@pytest.mark.parametrize("asked", [LONGEST_WAIT + 0.1, 86_400.0, float("inf")])
def test_a_longer_wait_ends_the_call(asked: float, sleeps: list[float]) -> None:
    provider = failing(lambda: EndpointUnavailable("Busy.", asked))
    error, heard = through(provider, attempts=6)
    assert isinstance(error, EndpointUnavailable)
    assert len(provider.requests) == 1
    assert (sleeps, heard.waits) == ([], [])


def test_only_the_time_of_the_reply_is_counted(sleeps: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of failed attempts or of waiting; by a clock of our own."""
    clock = [1000.0]
    monkeypatch.setattr("amemgym.llm.door.perf_counter", lambda: clock[0])
    attempts: list[float] = [8.0, 4.0, 0.25]

    def answer(request: Request) -> str:
        clock[0] += attempts.pop(0)
        if attempts:
            raise EndpointUnavailable("Busy.", 100.0)
        return "At last."

    completion, _ = through(Scripted(answer), attempts=6)
    assert isinstance(completion, Completion) and completion.seconds == 0.25
    assert sleeps == [100.0, 100.0]
