"""Doing things side by side, and from code that is not asynchronous: when one fails, the others are ended before the
failure is passed on. Such code waits for one thing (`wait_for`), or keeps an event loop for many (`Background`). What
blocks is called in a thread (`in_thread`)."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import Any, Protocol, TypeAlias, TypeVar, TypeVarTuple

from anyio.from_thread import start_blocking_portal

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

#: seconds that a loop which nobody closed has to end, when it is collected or the interpreter ends
GRACE = 2.0
#: threads that are kept for the next call
MOST_IDLE = 64


class Room(Protocol):
    """How many of something there may be at once: a semaphore, or what is used like one."""

    async def acquire(self) -> Any: ...

    def release(self) -> None: ...


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]], room: Room | None = None) -> list[T]:
    """The results in order. Raises the first failure itself, once nothing is under way any more.

    Where there is only so much `room`, `work` is taken as there comes to be some, so a generator of it makes no more
    than that. Several may share a room.
    """
    tasks: list[asyncio.Task[T]] = []
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                if room is not None:
                    try:
                        await room.acquire()
                    except BaseException:
                        one.close()
                        raise
                tasks.append(group.create_task(one))
                if room is not None:
                    tasks[-1].add_done_callback(lambda _: room.release())
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


@contextmanager
def few_collections() -> Iterator[None]:
    """Inside, Python looks for circles of objects after 20,000 new ones and not after 700: nearly all that many calls
    make is freed without it, and looking takes a twentieth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 20_000) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def in_thread(call: Callable[[], T]) -> T:
    """What a call that blocks gives back, made in a thread with the context of here.

    A thread cannot be stopped. Where this is cancelled the call goes on and what it gives back is dropped; it keeps
    neither the event loop nor the interpreter alive, which is why these are not the threads of asyncio or anyio.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def report(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        elif isinstance(error, StopIteration):  # which no future can hold
            future.set_exception(RuntimeError(f"the call raised {error!r}"))
        else:
            future.set_exception(error)

    def work() -> Callable[[], None]:
        result, failure = None, None
        try:
            result = context.run(call)
        except BaseException as error:
            failure = error

        def tell() -> None:
            with suppress(RuntimeError):  # the loop is closed, so nobody waits for it
                loop.call_soon_threadsafe(report, result, failure)

        return tell

    _worker(work)
    return await future


_Call: TypeAlias = Callable[[], Callable[[], None]]


class _Worker(Thread):
    """A thread for one call after another. A call gives back what tells of its end, which is told when the thread is
    free: calls that wait for each other are made in one thread."""

    def __init__(self) -> None:
        super().__init__(daemon=True, name="amemgym-call")
        self.calls: SimpleQueue[_Call] = SimpleQueue()

    def run(self) -> None:
        stays = True
        while stays:
            tell = self.calls.get()()
            stays = len(_idle) < MOST_IDLE
            if stays:
                _idle.append(self)
            tell()
            del tell


#: threads without work; the last that had some is the next to have some
_idle: list[_Worker] = []


def _worker(call: _Call) -> None:
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.calls.put(call)


class Background:
    """An event loop in a thread of its own, which begins with the first call (so that what was never used can go to
    another process). It ends with `close`, or when nobody holds it any more; it never keeps the interpreter alive."""

    def __init__(self) -> None:
        self._running: _Running | None = None

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def call(self, work: Callable[[*Ts], Coroutine[Any, Any, T]], *arguments: *Ts) -> T:
        """Run a coroutine function in the loop and wait for it; it is cancelled where the wait is interrupted."""
        if self._running is None:
            self._running = _Running()
            self._collected = weakref.finalize(self, self._running.leave)
        future = asyncio.run_coroutine_threadsafe(work(*arguments), self._running.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End what still runs, and the thread; closing again does nothing, and a later call begins anew."""
        running, self._running = self._running, None
        if running is not None:
            self._collected.detach()
            running.stop()
            running.thread.join()


class _Running:
    """The thread and its loop. anyio's portal would do, but whoever collects one waits for its thread, and at the
    interpreter's end that thread is gone."""

    def __init__(self) -> None:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._end: asyncio.Event | None = None

        async def stay() -> None:
            self._end = asyncio.Event()
            started.set_result(asyncio.get_running_loop())
            await self._end.wait()

        def run() -> None:
            try:
                asyncio.run(stay())
            except BaseException as error:
                if started.done():
                    raise
                started.set_exception(error)  # no loop could be made (too many open files), which the caller waits for

        self.thread = Thread(target=run, daemon=True, name="amemgym")
        self.thread.start()
        self.loop = started.result()

    def leave(self) -> None:
        """End it where nobody closed it: wait for it a little, but not where this is called in its own thread."""
        self.stop()
        if current_thread() is not self.thread:
            self.thread.join(GRACE)

    def stop(self) -> None:
        """Have the loop cancel what it runs and end, without waiting."""
        with suppress(RuntimeError):  # it has ended already
            assert self._end is not None
            self.loop.call_soon_threadsafe(self._end.set)
