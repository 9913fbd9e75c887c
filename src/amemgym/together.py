"""Doing things side by side, and from code that is not asynchronous: when one fails, the others are ended before the
failure is passed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from anyio.from_thread import start_blocking_portal

T = TypeVar("T")


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
