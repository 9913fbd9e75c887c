"""Doing things side by side, and from code that is not asynchronous: when one fails, the others are ended before the
failure is passed on. Such code waits for one thing (`wait_for`), or keeps an event loop for many (`Background`)."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import ExitStack, suppress
from typing import Any, TypeVar, TypeVarTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. Raises the first failure itself, once nothing is under way any more."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        raise first_failure(failures) from failures
    return [task.result() for task in tasks]


def first_failure(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first failure in a group of groups."""
    first = group.exceptions[0]
    return first_failure(first) if isinstance(first, BaseExceptionGroup) else first


def wait_for(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also where the caller is inside an event loop (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with start_blocking_portal() as portal:  # whose end waits for what it started
        future = portal.start_task_soon(work)
        try:
            result: T = future.result()
            return result
        except BaseException:
            future.cancel()
            raise


class Background:
    """An event loop in a thread of its own, which begins with the first call (so that what was never used can go to
    another process). It ends with `close`, or when nobody holds it any more; it never keeps the interpreter alive."""

    def __init__(self) -> None:
        self._stack: ExitStack | None = None
        self._portal: BlockingPortal | None = None

    @property
    def is_running(self) -> bool:
        return self._portal is not None

    def call(self, work: Callable[[*Ts], Awaitable[T]], *arguments: *Ts) -> T:
        """Run a coroutine function in the loop and wait for it; it is cancelled where the wait is interrupted."""
        if self._portal is None:
            self._stack = ExitStack()
            self._portal = self._stack.enter_context(start_blocking_portal())
            self._collected = weakref.finalize(self, _stop, self._portal)
        future = self._portal.start_task_soon(work, *arguments)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the thread, what still runs in it first; closing again does nothing, a later call begins a new one."""
        stack, portal, self._stack, self._portal = self._stack, self._portal, None, None
        if stack is not None and portal is not None:
            self._collected.detach()
            with suppress(RuntimeError):  # it has ended already
                portal.call(portal.stop, True)
            stack.close()


def _stop(portal: BlockingPortal) -> None:
    """Have a loop end, without waiting: this may be called in its own thread."""
    with suppress(RuntimeError):
        portal.start_task_soon(portal.stop, True)
