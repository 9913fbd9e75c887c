"""The limiter of an endpoint: how many calls at once, how many requests and tokens a minute, and who goes first.

Promised: never more under way than allowed, never more in any 60 seconds than the limits say, and no minute's worth at
once; calls go in the order they came; a 429 halves the places once and holds everybody, answers give places back.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from amemgym.llm.doors import Doors, endpoint_of
from amemgym.llm.limiter import Limiter
from amemgym.llm.limits import Limits
from amemgym.llm.models import ModelSettings
from tests.llm.helpers import Heard
from tests.support.clock import FakeClock

Started = list[tuple[float, int]]


async def calls(limiter: Limiter, clock: FakeClock, taken: Sequence[tuple[int, int, float]], started: Started) -> int:
    """Make calls of (expected tokens, tokens, seconds), all at once; the most that were under way together."""
    most = 0

    async def one(expected: int, tokens: int, seconds: float) -> None:
        nonlocal most
        held = await limiter.enter(expected)
        started.append((clock.now(), tokens))
        most = max(most, limiter.under_way)
        await clock.sleep(seconds)
        limiter.answered(held, tokens)

    await asyncio.gather(*(one(*call) for call in taken))
    return most


def most_in_a_minute(started: Started, of: int) -> int:
    """The most (1: tokens, 0: requests) that began in any 60 seconds."""
    amounts = [(time, tokens if of else 1) for time, tokens in started]
    return max(sum(n for other, n in amounts if time <= other < time + 60) for time, _ in amounts)


@pytest.mark.parametrize("seed", range(12))
def test_no_minute_has_more_than_it_may(seed: int) -> None:
    chance = random.Random(seed)
    rpm, concurrency = chance.choice([3, 7, 60, 240]), chance.choice([1, 4, 50])
    tpm = chance.choice([None, 400, 3000])
    clock, started = FakeClock(), Started()
    limiter = Limiter(Limits(concurrency, rpm=rpm, tpm=tpm), clock=clock)
    sizes = [chance.randint(1, 90) for _ in range(rpm * 2 + 20)]
    most = clock.run(calls(limiter, clock, [(n, n, chance.choice([0.0, 0.3, 4.0])) for n in sizes], started))
    assert [tokens for _, tokens in started] == sizes  # in the order they came
    assert most <= concurrency and limiter.under_way == 0
    assert most_in_a_minute(started, 0) <= rpm
    assert tpm is None or most_in_a_minute(started, 1) <= tpm
    if tpm is None and concurrency == 50:  # and no slower than the limit asks for
        assert clock.now() <= 61 * len(sizes) / rpm + 65


def test_no_minutes_worth_comes_at_once() -> None:
    clock, started = FakeClock(), Started()
    limiter = Limiter(Limits(600, rpm=600), clock=clock)
    clock.run(calls(limiter, clock, [(0, 0, 1.0)] * 200, started))
    assert sum(time < 1 for time, _ in started) <= 21
    assert started[-1][0] == pytest.approx(18, abs=1.5)


def test_what_a_call_really_took_counts() -> None:
    """Expected 1000 tokens each, they take 100: the minute has room for ten times as many."""
    clock, started = FakeClock(), Started()
    limiter = Limiter(Limits(2, tpm=6000), clock=clock)
    clock.run(calls(limiter, clock, [(1000, 100, 0.5)] * 40, started))
    assert clock.now() < 45
    assert most_in_a_minute(started, 1) <= 6000


def test_what_is_larger_than_a_minute_goes_alone() -> None:
    clock, started = FakeClock(), Started()
    limiter = Limiter(Limits(8, tpm=100), clock=clock)
    clock.run(calls(limiter, clock, [(10, 10, 0.1), (500, 500, 0.1), (10, 10, 0.1)], started))
    times = [time for time, _ in started]
    assert times[1] - times[0] >= 60 and times[2] - times[1] >= 60


def test_a_busy_endpoint_halves_the_places_once_and_holds_everybody() -> None:
    clock = FakeClock()
    limiter = Limiter(Limits(16), clock=clock)

    async def play() -> None:
        held = [await limiter.enter() for _ in range(16)]
        for one in held:  # all were under way when it had enough
            limiter.busy(one, 20.0)
        assert (limiter.allowed, limiter.under_way) == (8, 0)
        again = await asyncio.gather(*(limiter.enter() for _ in range(8)))
        assert clock.now() >= 20.0
        limiter.busy(again[0], None)  # says not how long
        assert limiter.allowed == 4
        for one in again[1:]:
            limiter.answered(one)  # they began before, and tell nothing of four places
        assert limiter.allowed == 4
        for _ in range(4 + 5 + 6):
            limiter.answered(await limiter.enter())
        assert 6 <= limiter.allowed <= 7
        for _ in range(200):
            limiter.answered(await limiter.enter())
        assert limiter.allowed == 16

    clock.run(play())
    assert clock.now() < 22


def test_it_has_always_a_place() -> None:
    clock = FakeClock()
    limiter = Limiter(Limits(4), clock=clock)

    async def play() -> list[float]:
        waits = []
        for _ in range(9):
            waits.append(limiter.busy(await limiter.enter(), None))
        limiter.answered(await limiter.enter())
        waits.append(limiter.busy(await limiter.enter(), None))
        return waits

    waits = clock.run(play())
    assert limiter.allowed == 1
    assert all(0.5 * 2**n <= wait <= 0.75 * 2**n for n, wait in enumerate(waits[:6])) and max(waits) <= 30
    assert waits[-1] <= 0.75  # an answer ends the doubling


def test_who_is_cancelled_leaves_the_queue_and_frees_a_place() -> None:
    clock = FakeClock()
    limiter = Limiter(Limits(1), clock=clock)

    async def play() -> None:
        held = await limiter.enter()
        waiting = [asyncio.ensure_future(limiter.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        limiter.leave(held)
        limiter.leave(held)  # once is enough
        waiting[1].cancel()  # it was let in, but did not hear of it
        second = await waiting[2]
        assert limiter.under_way == 1
        limiter.leave(second)
        assert limiter.under_way == 0

    clock.run(play())


def test_why_calls_wait_is_said_once() -> None:
    clock, heard, started = FakeClock(), Heard(), Started()
    limiter = Limiter(Limits(4, rpm=2), name="http://x/v1", say=heard.said, clock=clock)
    clock.run(calls(limiter, clock, [(0, 0, 0.0)] * 6, started))
    assert heard.remarks == ["calls to http://x/v1 wait, as --rpm allows 2 requests a minute"]


# ---- which calls share one


def test_an_endpoint_is_an_address_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    monkeypatch.setenv("OTHER_KEY", "sk-two")
    one = ModelSettings("openai:a", "http://x/v1")
    same = [ModelSettings("openai:b", "http://x/v1/"), ModelSettings("openai:a", "http://x/v1", temperature=1.0)]
    others = [
        ModelSettings("openai:a", "http://y/v1"),
        ModelSettings("openai:a", "http://x/v1", key_variables=("OTHER_KEY",)),
        ModelSettings("openai:a"),
        ModelSettings("offline"),
        ModelSettings("local:a.gguf"),
    ]
    assert {endpoint_of(settings) for settings in same} == {endpoint_of(one)}
    assert len({endpoint_of(settings) for settings in [one, *others]}) == 1 + len(others)


def test_doors_to_one_endpoint_share_its_limiter_and_offline_has_no_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    clock = FakeClock()
    doors = Doors(Limits(2, rpm=2), Heard(), lambda settings, say: None, clock=clock)  # type: ignore[arg-type, return-value]
    first, second = (doors.to(ModelSettings(f"openai:{name}"))._limiter for name in "ab")
    offline = doors.to(ModelSettings("offline"))._limiter
    assert first is second and offline is not first

    async def play(limiter: Limiter) -> float:
        for _ in range(4):
            limiter.leave(await limiter.enter())
        return clock.now()

    assert clock.run(play(offline)) == 0
    assert clock.run(play(first)) > 60
