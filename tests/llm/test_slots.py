"""Who gets the next place: what others wait for goes before what stands aside; a cancellation loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from amemgym.llm import Slots, at
from amemgym.llm.limiter import Limiter
from amemgym.llm.limits import Limits
from amemgym.together import side_by_side


async def go_through(slots: Slots, name: str, went: list[str], aside: bool) -> None:
    with at(name, aside=aside):
        async with slots:
            went.append(name)
            await asyncio.sleep(0)


def test_what_stands_aside_goes_when_no_other_waits() -> None:
    went: list[str] = []

    async def work() -> None:
        slots = Slots(1)
        order = [("first", True), ("exam 1", True), ("exam 2", True), ("turn 1", False), ("turn 2", False)]
        await asyncio.gather(*(go_through(slots, name, went, aside) for name, aside in order))

    asyncio.run(work())
    assert went == ["first", "turn 1", "turn 2", "exam 1", "exam 2"]


def test_an_endpoint_s_limiter_keeps_the_same_order() -> None:
    went: list[str] = []

    async def ask(limiter: Limiter, name: str, aside: bool) -> None:
        with at(name, aside=aside):
            held = await limiter.enter()
            went.append(name)
            await asyncio.sleep(0)
            limiter.leave(held)

    async def work() -> None:
        limiter = Limiter(Limits(1, 1))
        order = [("first", True), ("exam 1", True), ("turn 1", False), ("exam 2", True), ("turn 2", False)]
        await asyncio.gather(*(ask(limiter, name, aside) for name, aside in order))

    asyncio.run(work())
    assert went == ["first", "turn 1", "turn 2", "exam 1", "exam 2"]


@pytest.mark.parametrize("aside", [False, True])
def test_a_place_is_not_lost_with_who_waited_for_it(aside: bool) -> None:
    async def work() -> list[str]:
        slots, went = Slots(1), list[str]()
        await slots.acquire()
        waiting = [asyncio.ensure_future(go_through(slots, f"{n}", went, aside)) for n in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # before it is its turn
        slots.release()
        waiting[1].cancel()  # when it has the place, and has not gone on yet
        await asyncio.gather(*waiting, return_exceptions=True)
        async with asyncio.timeout(5):
            await slots.acquire()
        return went

    assert asyncio.run(work()) == ["2"]


def test_no_more_is_made_than_there_is_room_for() -> None:
    made: list[int] = []
    most = 0

    async def one(number: int) -> int:
        nonlocal most
        most = max(most, len(made) - number)
        await asyncio.sleep(0)
        return number

    def work() -> Any:
        for number in range(20):
            made.append(number)
            yield one(number)

    assert asyncio.run(side_by_side(work(), Slots(3))) == list(range(20))
    assert most <= 4  # three at work, and the one that comes next


def test_a_failure_leaves_the_room_as_it_was() -> None:
    async def fails() -> None:
        raise RuntimeError("no")

    async def work() -> None:
        slots = Slots(2)
        several: list[Callable[[], Coroutine[Any, Any, None]]] = [lambda: asyncio.sleep(30), fails] * 2
        with pytest.raises(RuntimeError):
            await side_by_side((make() for make in several), slots)
        async with asyncio.timeout(5):
            await slots.acquire()
            await slots.acquire()

    asyncio.run(work())
