"""How a memory is called: plain or async, in a thread where it waits, and with its failures named.

Everything that uses a memory uses it through these functions. A memory runs at the place of the run that calls it, but
without the exam's labels; what its endpoint was refused meanwhile is raised here, whatever the memory made of it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import Any
from weakref import WeakValueDictionary

import anyio

from amemgym.errors import AMemGymError, MemoryFailed, raised
from amemgym.llm import at, here
from amemgym.llm.place import MemoryUse
from amemgym.memory.protocol import Item, Memory, MemoryMaker, Tools
from amemgym.messages import Message, whole
from amemgym.secrets import redact
from amemgym.together import first_failure, in_thread

#: blocking memories at work at once, over all episodes
THREADS = 64
#: seconds that a call in a thread has to end by itself, once nobody wants its result
PATIENCE = 10.0
#: memories of which a thread still makes use
_given_up: WeakValueDictionary[int, Memory] = WeakValueDictionary()
_threads: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("amemgym_memory_threads")


def new_memory(make: MemoryMaker, tools: Tools) -> Memory:
    """An empty memory with its tools; where it needs an endpoint, with one of its own. Raises MemoryFailed."""
    place = here()
    try:
        with at(place.name, place.examines, memory="write"):  # labels are the exam's
            memory = make()
    except AMemGymError:
        raise
    except (Exception, SystemExit) as error:
        raise MemoryFailed(f"its memory's code raised {redact(raised(error))} when it was made") from error
    name = f"{tools.name}-{place.name.replace('/', '-')}" if place.examines else tools.name
    lent = tools.lender.lend(type(memory).stand_in) if type(memory).needs_endpoint and tools.lender else None
    memory.tools = replace(tools, name=name, endpoint=lent)
    return memory


async def write_to(memory: Memory, messages: Sequence[Message], now: datetime) -> None:
    """`memory.write`. Raises MemoryFailed, or a ModelError."""
    # a broken emoji can be said, but a memory may keep it in a file or send it somewhere
    readable = [replace(message, content=whole(message.content)) for message in messages]
    await _call(memory, "write", readable, now)


async def read_from(memory: Memory, query: str, now: datetime, k: int) -> tuple[Item, ...]:
    """`memory.read`: the first k, texts made items, in order of time (those without one first).
    Raises as `write_to`."""
    items = _as_items(memory, "read", await _call(memory, "read", whole(query), now, k))
    if len(items) > k:
        memory.tools.model.say_once(
            f"memory {_name(memory)} gives back more than the k items asked for; the rest is cut off"
        )
    return tuple(sorted(items[:k], key=lambda item: (item.time is not None, item.time or datetime.min)))


async def snapshot_of(memory: Memory) -> object:
    """`memory.snapshot`. Raises as `write_to`."""
    return await _call(memory, "snapshot")


async def restore_to(memory: Memory, snapshot: object) -> None:
    """`memory.restore`. Raises as `write_to`."""
    await _call(memory, "restore", snapshot)


async def clear_all(memory: Memory) -> None:
    """`memory.clear`. Raises as `write_to`."""
    await _call(memory, "clear")


async def held_by(memory: Memory) -> list[Item] | None:
    """`memory.export`, texts made items. Raises as `write_to`."""
    held = await _call(memory, "export")
    return None if held is None else _as_items(memory, "export", held)


async def close_memory(memory: Memory) -> None:
    """`memory.close`, and the end of its endpoint. Raises as `write_to`."""
    try:
        await _call(memory, "close")
    finally:
        if memory.tools.endpoint is not None:
            memory.tools.endpoint.release()


async def _call(memory: Memory, what: str, *arguments: object) -> Any:
    if _given_up and id(memory) in _given_up:
        raise MemoryFailed(f"its memory {_name(memory)} is still at work on a call that was given up")
    method: Callable[..., Any] = getattr(memory, what)
    place = here()
    try:
        with ExitStack() as stack:
            use: MemoryUse = "read" if what == "read" else "write"
            stack.enter_context(at(place.name, place.examines, memory=use))  # labels are the exam's
            if memory.tools.endpoint is not None:
                stack.enter_context(memory.tools.endpoint.in_use())
            # whoever waited for the endpoint in the event loop would wait for himself: it is served there
            waits = type(memory).blocking or type(memory).needs_endpoint
            if waits and not inspect.iscoroutinefunction(method):
                result = await _in_thread(memory, lambda: method(*arguments))
            else:
                result = method(*arguments)
            return await result if isinstance(result, Awaitable) or inspect.isawaitable(result) else result
    except AMemGymError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, BaseExceptionGroup) and isinstance(first := first_failure(error), AMemGymError):
            raise first from error  # a memory that asks side by side
        raise MemoryFailed(f"its memory's code raised {redact(raised(error))} in {_name(memory)}.{what}") from error


async def _in_thread(memory: Memory, call: Callable[[], Any]) -> Any:
    """The call, made in a worker thread. A thread cannot be stopped: where the call is cancelled, its endpoint serves
    it no more, and it is waited for, as nothing else may use the memory meanwhile. One that goes on for longer than
    PATIENCE is given up, and its memory with it."""
    async with _limiter():
        at_work = asyncio.ensure_future(in_thread(call))
        try:
            return await asyncio.shield(at_work)
        except asyncio.CancelledError:
            if memory.tools.endpoint is not None:
                memory.tools.endpoint.release()
            await asyncio.wait([at_work], timeout=PATIENCE)
            if not at_work.done():
                _given_up[id(memory)] = memory
                at_work.cancel()
            elif not at_work.cancelled():
                at_work.exception()  # nobody is told: the cancellation says enough
            raise


def _name(memory: Memory) -> str:
    return type(memory).__name__


def _limiter() -> anyio.CapacityLimiter:
    try:
        return _threads.get()
    except LookupError:
        _threads.set(anyio.CapacityLimiter(THREADS))
        return _threads.get()


def _as_items(memory: Memory, what: str, found: object) -> list[Item]:
    """What a memory gave back as items. Raises MemoryFailed where that is no list of Item or str."""
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise _wrong(memory, f"{what} returned {type(found).__name__}; it should return a list of Item or str")
    items = [Item(entry) if isinstance(entry, str) else entry for entry in found]
    for item in items:
        if not (isinstance(item, Item) and isinstance(item.text, str)):
            given = f"an Item of {type(item.text).__name__}" if isinstance(item, Item) else type(item).__name__
            raise _wrong(memory, f"{what} returned {given} in its list; it should hold Item(text, time) or str")
        if item.time is not None and (not isinstance(item.time, datetime) or item.time.tzinfo is not None):
            raise _wrong(
                memory, f"{what} returned the time {item.time!r}; simulated times are datetimes without a zone"
            )
    return items


def _wrong(memory: Memory, what: str) -> MemoryFailed:
    return MemoryFailed(f"its memory {_name(memory)} is wrong: {redact(what)}")
