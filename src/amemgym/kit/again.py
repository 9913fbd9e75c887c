"""Rules of doing it again: the same told to a new memory gives the same, as a resumed run needs it; and when a write
has ended, it has ended."""

from __future__ import annotations

import asyncio
import threading

from amemgym.kit.bench import Bench
from amemgym.kit.copies import first_change
from amemgym.kit.process import Told, elsewhere, tell_and_read
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, facts_of, quoted
from amemgym.kit.verdicts import RuleBroken

#: seconds that what a write left behind is waited for
PATIENCE = 2.0
#: threads that are the run's own
_OURS = ("AnyIO worker thread", "asyncio_", "amemgym")


@rule("deterministic", "told and asked the same, it reads the same and asks its model the same, as resuming needs")
async def deterministic(bench: Bench) -> None:
    first = bench.make("again")
    before = await tell_and_read(first)
    await first.close()
    _same(before, await tell_and_read(bench.make("again")), "told the same a second time, a new memory")


@rule("deterministic-new-process", "the same holds in a new process, where texts have other hashes")
async def deterministic_new_process(bench: Bench) -> None:
    bench.needs_keeping()
    done = await elsewhere(bench)
    if isinstance(done.told_there, str):
        raise RuleBroken(f"in a new process it ends in an error: {done.told_there}")
    _same(done.told_here, done.told_there, "told the same in a new process (another PYTHONHASHSEED), it")


@rule("write-is-finished", "when write returns, all of it is done: nothing goes on behind it")
async def write_is_finished(bench: Bench) -> None:
    subject = bench.make()
    threads, tasks = set(threading.enumerate()), asyncio.all_tasks()
    for fact in facts_of(0):
        await subject.tell(fact)
        reads, held = await subject.read_all(facts_of(0), LATER), await subject.held()
        # what goes on for longer than this is waited for once, and is there for good
        for thread in _threads() - threads:
            await asyncio.to_thread(thread.join, PATIENCE)
        if late := {task for task in asyncio.all_tasks() - tasks if not _is_server(task)}:
            await asyncio.wait(late, timeout=PATIENCE)
        threads, tasks = threads | _threads(), tasks | late
        if (found := first_change(reads, await subject.read_all(facts_of(0), LATER))) is not None:
            raise RuleBroken(f"after write had returned, what is read still changed: {found}")
        if held != await subject.held():
            raise RuleBroken("after write had returned, what export gives still changed")


def _threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if not thread.name.startswith(_OURS)}


def _is_server(task: asyncio.Task[object]) -> bool:
    """Whether it serves the memory's endpoint."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and "aiohttp" in code.co_filename


def _same(one: Told, other: Told, who: str) -> None:
    if (found := first_change(one.reads, other.reads)) is not None:
        raise RuleBroken(f"{who} reads other items: {found}")
    if one.held != other.held:
        raise RuleBroken(f"{who} exports other items")
    if one.asked != other.asked:
        asked = next((text for text in other.asked if text not in one.asked), "fewer or more")
        raise RuleBroken(f"{who} asks its model something else: {quoted(asked)}")
