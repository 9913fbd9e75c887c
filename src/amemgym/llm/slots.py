"""Places for what may be done at once, and who gets the next free one: first what others wait for, then what is aside.

A conversation is a chain, each call of which waits for the one before; exams, probes and upper bounds are many calls
that nothing waits for (`Place.aside`). A run takes as long as its longest chain, if no link of it queues behind the
others. So what is freed goes to conversations first, and to what stands aside when no other waits; within each kind, to
whoever came first. What stands aside is not forgotten: a conversation has one call under way, or a few, and only so
many conversations are had at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Generic, TypeVar

from amemgym.llm.place import here

T = TypeVar("T")


class Waiting(Generic[T]):
    """Who waits, in the order in which they are to go."""

    __slots__ = ("_aside", "_first")

    def __init__(self) -> None:
        self._first: deque[T] = deque()
        self._aside: deque[T] = deque()

    def append(self, one: T) -> None:
        """It waits from now on, as what is done at this place."""
        (self._aside if here().aside else self._first).append(one)

    @property
    def first(self) -> T:
        """Who goes next. Raises IndexError where nobody waits."""
        return (self._first or self._aside)[0]

    def popleft(self) -> T:
        """The same, and it waits no more."""
        return (self._first or self._aside).popleft()

    def __bool__(self) -> bool:
        return bool(self._first or self._aside)


class Slots:
    """So many things at once; used like asyncio's semaphore, whose order is that of arrival alone."""

    def __init__(self, number: int) -> None:
        if number < 1:
            raise ValueError(f"{number} slots would let nothing through")
        self._free = number
        self._waiting: Waiting[asyncio.Future[None]] = Waiting()

    async def acquire(self) -> None:
        if self._free > 0:  # then nobody waits: what is freed is handed to who does
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():
                self.release()  # it had been handed over already
            raise

    def release(self) -> None:
        """Hand the place to who goes next, or keep it for who comes."""
        while self._waiting:
            following = self._waiting.popleft()
            if not following.done():  # it is done where who waited was cancelled
                following.set_result(None)
                return
        self._free += 1

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
