"""A clock for tests of waiting: when everybody waits, it goes on to the next moment that somebody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from heapq import heappop, heappush
from typing import Any, TypeVar

from amemgym.llm.clock import Clock

T = TypeVar("T")


class FakeClock(Clock):
    """`run` plays a coroutine by it, in no time; a deadlock is an AssertionError."""

    def __init__(self) -> None:
        self.time = 0.0
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleeping, (self.time + max(0.0, seconds), self._count, woken))
        await woken

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(self._run(work))

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(work)
        loop: Any = asyncio.get_running_loop()
        while not task.done():
            await asyncio.sleep(0)
            if task.done() or loop._ready:
                continue
            assert self._sleeping, "everybody waits, and for no moment"
            self.time, _, woken = heappop(self._sleeping)
            if not woken.done():
                woken.set_result(None)
        return task.result()
