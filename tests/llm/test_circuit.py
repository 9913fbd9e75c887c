"""When an endpoint gives no answer: the others wait while one tries, and the run stops only where nothing passes.

Promised: what waits loses no tries; any answer closes the circuit; a call that never passes while others do ends alone.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest

from amemgym.errors import (
    ContextOverflow,
    EndpointDown,
    EndpointUnavailable,
    ModelError,
    NoContent,
    NotAnEndpoint,
    RequestRefused,
)
from amemgym.llm import Completion, Door, Request, Usage
from amemgym.llm.circuit import EXHAUSTED, SEVERAL
from amemgym.llm.limiter import Limiter
from amemgym.llm.limits import Limits
from tests.llm.helpers import Heard, reply_to, request_for
from tests.support.clock import FakeClock


class Place:
    """An endpoint in simulated time: `answer(text, now)` may raise. A call takes 0.2 s."""

    def __init__(self, answer: Callable[[str, float], None], clock: FakeClock) -> None:
        self._answer = answer
        self._clock = clock
        self.asked: list[tuple[float, str]] = []

    async def complete(self, request: Request) -> Completion:
        text = request.messages[-1].content
        self.asked.append((self._clock.now(), text))
        await self._clock.sleep(0.2)
        self._answer(text, self._clock.now())
        return Completion("Very well.", Usage(10, 2))

    async def aclose(self) -> None:
        return None


def played(
    answer: Callable[[str, float], None], count: int, concurrency: int = 8, attempts: int = 6
) -> tuple[list[Completion | ModelError], Place, FakeClock, Heard]:
    """So many calls, all at once; what is down stops them all, as it stops a run."""
    clock, heard = FakeClock(), Heard()
    place = Place(answer, clock)
    limiter = Limiter(Limits(concurrency, attempts), name="http://x/v1", say=heard.said, clock=clock)
    door = Door(place, limiter, watcher=heard)

    async def one(number: int) -> Completion | ModelError:
        try:
            return await door.complete(request_for(reply_to(f"call {number}")))
        except EndpointDown:
            raise
        except ModelError as error:
            return error

    async def all_of() -> list[Completion | ModelError]:
        tasks = [asyncio.ensure_future(one(number)) for number in range(count)]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    return clock.run(all_of()), place, clock, heard


def away(until: float, since: float = 0.0) -> Callable[[str, float], None]:
    def answer(text: str, now: float) -> None:
        if since <= now < until:
            raise EndpointUnavailable("Nobody is there.")

    return answer


@pytest.mark.parametrize("concurrency", [5, 8, 64])
@pytest.mark.parametrize("since", [0.0, 1.0])
def test_an_outage_costs_those_who_wait_no_tries(concurrency: int, since: float) -> None:
    """Of 4 tries 3 fall into the outage, and with tries of their own the calls would give up."""
    results, place, clock, heard = played(away(since + 3.0, since), 500, concurrency, attempts=4)
    assert all(isinstance(result, Completion) for result in results)
    during = [time for time, _ in place.asked if since + 0.25 <= time < since + 3.0]
    assert len(during) <= 3  # one at a time
    assert all(later - earlier > 0.4 for earlier, later in pairwise(during))
    assert len([r for r in heard.remarks if "gives no answer, so calls wait" in r]) == 1
    assert clock.now() < since + 10 + 500 * 0.2 / concurrency


def test_what_is_down_for_all_tries_stops_everything_with_one_sentence() -> None:
    with pytest.raises(EndpointDown) as caught:
        played(away(1e9), 50, attempts=4)
    said = str(caught.value)
    assert re.fullmatch(
        r"Nobody is there\. Nothing that http://x/v1 is asked gets an answer \(\d+ tries in \d+ s\)", said
    )


def test_how_long_it_is_tried_grows_with_the_attempts() -> None:
    def seconds(attempts: int) -> float:
        clock = FakeClock()
        limiter = Limiter(Limits(8, attempts), clock=clock)
        door = Door(Place(away(1e9), clock), limiter)

        async def play() -> None:
            await asyncio.gather(*(door.complete(request_for()) for _ in range(8)))

        with pytest.raises(EndpointDown):
            clock.run(play())
        return clock.now()

    assert 31 < seconds(6) < 50 < 90 < seconds(9)


def test_one_call_that_never_passes_ends_alone() -> None:
    def answer(text: str, now: float) -> None:
        if text == "call 3":
            raise EndpointUnavailable("Not this one.")

    results, place, _, _ = played(answer, 400)
    assert [n for n, result in enumerate(results) if isinstance(result, ModelError)] == [3]
    assert type(results[3]) is EndpointUnavailable and str(results[3]) == "Not this one. (tried 6 times)"
    assert Counter(text for _, text in place.asked)["call 3"] == 6


def test_calls_that_never_pass_take_turns_with_those_that_do() -> None:
    """The circuit opens by them; who waits behind them is asked before they have used up the endpoint's tries."""

    def answer(text: str, now: float) -> None:
        if int(text.split()[1]) < SEVERAL:
            raise EndpointUnavailable("Not this one.")

    results, place, _, _ = played(answer, 40, concurrency=SEVERAL)
    assert all(isinstance(result, ModelError) == (n < SEVERAL) for n, result in enumerate(results))
    assert max(Counter(text for _, text in place.asked).values()) <= 8


@pytest.mark.parametrize(
    "error",
    [
        EndpointUnavailable("Slow down.", 2.0, 429),
        EndpointUnavailable("Slow down.", None, 429),
        EndpointUnavailable("Later.", 2.0, 503),
        EndpointUnavailable("Conflict.", None, 409),
        RequestRefused("No."),
        ContextOverflow("Too long."),
    ],
    ids=lambda error: str(error),
)
def test_any_answer_is_an_answer(error: ModelError) -> None:
    def answer(text: str, now: float) -> None:
        if now < 1.5 and text != "call 0":
            raise error

    results, _, clock, heard = played(answer, 16)
    assert not any("gives no answer" in remark for remark in heard.remarks)
    if isinstance(error, EndpointUnavailable):
        assert all(isinstance(result, Completion) for result in results)
    assert clock.now() < 90


@pytest.mark.parametrize("attempts", [1, 3])
def test_one_after_the_other_it_takes_a_few_to_tell(attempts: int) -> None:
    """Where nobody else is asked at the same time, no other call can tell whether it is the endpoint."""
    clock = FakeClock()
    limiter = Limiter(Limits(1, attempts), clock=clock)
    place = Place(away(1e9), clock)
    door, ended = Door(place, limiter), []

    async def play() -> None:
        for _ in range(9):
            try:
                await door.complete(request_for())
            except EndpointUnavailable as error:
                ended.append(error)
                if isinstance(error, EndpointDown):
                    return

    clock.run(play())
    assert [isinstance(error, EndpointDown) for error in ended] == [False] * (EXHAUSTED - 1) + [True]
    assert len({error.silence for error in ended}) == 1  # so it is known which failed by it
    assert len(place.asked) == EXHAUSTED * attempts


def test_an_answer_between_them_makes_it_another_silence() -> None:
    clock = FakeClock()
    up: list[bool] = []

    def answer(text: str, now: float) -> None:
        if not up.pop(0):
            raise EndpointUnavailable("Away.")

    door, ended = Door(Place(answer, clock), Limiter(Limits(1, 1), clock=clock)), []

    async def play() -> None:
        for _ in range(8):
            try:
                await door.complete(request_for())
            except EndpointUnavailable as error:
                ended.append(error)

    up += [False, False, True, False, False, True, False, False]
    clock.run(play())
    assert [type(error) for error in ended] == [EndpointUnavailable] * 6
    assert len({error.silence for error in ended}) == 3


BUSY = [EndpointUnavailable("Slow down.", None, 429), EndpointUnavailable("Conflict.", None, 409)]


@pytest.mark.parametrize("error", BUSY, ids=str)
def test_calls_that_give_up_while_others_pass_end_alone(error: EndpointUnavailable) -> None:
    """Each gets an answer every time, as those between them do: nothing is down."""
    clock, ended = FakeClock(), []

    def answer(text: str, now: float) -> None:
        if int(text.split()[1]) % 5 == 4:
            raise error

    door = Door(Place(answer, clock), Limiter(Limits(1, 2), clock=clock))

    async def play() -> None:
        for number in range(5 * (EXHAUSTED + 1)):
            try:
                await door.complete(request_for(reply_to(f"call {number}")))
            except EndpointUnavailable as failure:
                ended.append(failure)

    clock.run(play())
    assert [type(failure) for failure in ended] == [EndpointUnavailable] * (EXHAUSTED + 1)


@pytest.mark.parametrize("error", BUSY, ids=str)
def test_where_call_after_call_is_put_off_to_the_end_the_run_stops(error: EndpointUnavailable) -> None:
    def answer(text: str, now: float) -> None:
        raise error

    with pytest.raises(EndpointDown, match=r"Call after call to http://x/v1 ends so$"):
        played(answer, 50, concurrency=1, attempts=2)


def test_a_stuck_call_holds_nobody() -> None:
    """It keeps its own place until it times out; all others go on in the others."""
    clock = FakeClock()

    class Stuck(Place):
        async def complete(self, request: Request) -> Completion:
            if request.messages[-1].content == "call 0":
                await clock.sleep(120)
                raise EndpointUnavailable("It did not answer within 120 s.")
            return await super().complete(request)

    door = Door(Stuck(lambda text, now: None, clock), Limiter(Limits(2, 1), clock=clock))

    async def one(number: int) -> float:
        with suppress(EndpointUnavailable):
            await door.complete(request_for(reply_to(f"call {number}")))
        return clock.now()

    async def play() -> list[float]:
        return list(await asyncio.gather(*(one(number) for number in range(100))))

    ended = clock.run(play())
    assert ended[0] == 120 and max(ended[1:]) < 21


# ---- what is asked again at once


def test_before_the_first_good_answer_one_that_is_none_is_asked_again() -> None:
    left = [3]

    def answer(text: str, now: float) -> None:
        if left[0]:
            left[0] -= 1
            raise NotAnEndpoint("Half a body.")

    (result,), place, clock, _ = played(answer, 1)
    assert isinstance(result, Completion) and len(place.asked) == 4 and clock.now() < 3
    left[0] = 4
    (error,), place, _, _ = played(answer, 1)
    assert type(error) is NotAnEndpoint and len(place.asked) == 4


@pytest.mark.parametrize(("finish", "empty", "asked"), [("stop", 2, 3), ("stop", 3, 3), ("length", 1, 1)])
def test_an_empty_reply_is_asked_for_again_twice(finish: str, empty: int, asked: int) -> None:
    left = [empty]

    def answer(text: str, now: float) -> None:
        if left[0]:
            left[0] -= 1
            raise NoContent("It said nothing.", Usage(10, 0), finish)

    (result,), place, clock, _ = played(answer, 1)
    assert isinstance(result, Completion) == (empty < asked)
    assert len(place.asked) == asked and clock.now() < 2
