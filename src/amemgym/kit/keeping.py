"""Rules of keeping: what is written comes back, what is new wins, what is cleared is gone, and k is a limit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from amemgym.kit.bench import ENOUGH, Bench, Subject
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, NEW_HOME, OLD_HOME, Fact, facts_of, found_in, mentions, quoted
from amemgym.kit.verdicts import RuleBroken
from amemgym.memory import Item
from amemgym.messages import Message


@rule("written-comes-back", "what is written is found by a read that asks for it, and is in the export if there is one")
async def written_comes_back(bench: Bench) -> None:
    bench.needs_keeping()
    subject, facts = bench.make(), facts_of(0)
    for number, fact in enumerate(facts):
        await subject.tell(fact)
        _expect(
            await subject.read(fact.asked, fact.time), fact, f"read right after it was written (write {number + 1})"
        )
    for fact in facts:
        _expect(await subject.read(fact.asked, LATER), fact, f"read after all {len(facts)} writes")
    held = await subject.held()
    if held is not None and (lost := {fact.key for fact in facts} - found_in(held, facts)):
        raise RuleBroken(f"export does not have {_listed(lost)}, which read finds")


@rule("update-wins", "after a change the new value is read; the old one, if it comes too, is told to be older")
async def update_wins(bench: Bench) -> None:
    bench.needs_keeping()
    subject = bench.make()
    for fact in (OLD_HOME, *facts_of(0)[:2], NEW_HOME):
        await subject.tell(fact)
    items = await subject.read(NEW_HOME.asked, LATER)
    new = [place for place, item in enumerate(items) if mentions(item.text, NEW_HOME.key)]
    if not new:
        raise RuleBroken(
            f"after {quoted(OLD_HOME.said)} and then {quoted(NEW_HOME.said)}, read does not give {NEW_HOME.key}"
        )
    # items come in order of their times, those without one first, in the order they were returned
    for place, item in enumerate(items):
        if not mentions(item.text, OLD_HOME.key):
            continue
        latest = items[new[-1]]
        within = place == new[-1] and item.text.rfind(OLD_HOME.key) < item.text.rfind(NEW_HOME.key)
        if not within and (place >= new[-1] or (item.time is not None and item.time == latest.time)):
            raise RuleBroken(
                f"{OLD_HOME.key} (the old value) is read with time {_told(item)}, {NEW_HOME.key} (the new one) with"
                f" {_told(latest)}, so that the old one looks as new"
            )


@rule("clear-empties", "after clear nothing is read, held or copied, and the memory can be used again")
async def clear_empties(bench: Bench) -> None:
    subject, facts = bench.make(), facts_of(0)
    for fact in facts:
        await subject.tell(fact)
    await subject.clear()
    await _expect_nothing(subject, facts, "after clear")
    if not bench.is_view:
        copy = await bench.copy_of(await subject.snapshot())
        await _expect_nothing(copy, facts, "in a copy made after clear")
    again = facts_of(1)[0]
    await subject.tell(again)
    items = await subject.read(again.asked, LATER)
    if back := found_in(items, facts):
        raise RuleBroken(f"{_listed(back)} was written before clear and is read again after the next write")


@rule("empty-memory", "a memory without content reads as nothing, and messages without times can be written")
async def empty_memory(bench: Bench) -> None:
    subject, fact = bench.make(), facts_of(0)[0]
    await _expect_nothing(subject, (), "from a new memory")
    copy = await bench.copy_of(await subject.snapshot())
    await _expect_nothing(copy, (), "from a copy of a new memory")
    await subject.write([], fact.time)
    await subject.write([Message(m.role, m.content) for m in fact.messages()], fact.time)
    items = await subject.read(fact.asked, LATER)
    if not bench.keeps_nothing:
        _expect(items, fact, "read after it was written without a time")
    if (wrong := next((item for item in items if item.time not in (None, fact.time)), None)) is not None:
        raise RuleBroken(
            f"a message without a time, written at {fact.time}, is read as of {wrong.time}: a time nobody told"
        )


@rule("k-respected", "read returns no more than k items")
async def k_respected(bench: Bench) -> None:
    subject, facts = bench.make(), facts_of(0)
    for fact in facts:
        await subject.tell(fact)
    for k in (1, 3, ENOUGH):
        for fact in facts[:2]:
            items: Any = await subject.directly("read", fact.asked, LATER, k)
            if not isinstance(items, Sequence) or isinstance(items, str):
                raise RuleBroken(f"read returned {type(items).__name__}; it should return a list of Item or str")
            if len(items) > k:
                raise RuleBroken(f"read(…, k={k}) returned {len(items)} items")


def _expect(items: Sequence[Item], fact: Fact, where: str) -> None:
    if not any(mentions(item.text, fact.key) for item in items):
        got = f"{len(items)} item{'' if len(items) == 1 else 's'}"
        raise RuleBroken(f"{fact.key}, of {quoted(fact.said)}, is not in what is {where}: {got}, none with it")


async def _expect_nothing(subject: Subject, facts: Sequence[Fact], where: str) -> None:
    now: datetime = LATER
    for query in [fact.asked for fact in facts] or ["What do you know about me?"]:
        if items := await subject.read(query, now):
            raise RuleBroken(f"read gives {len(items)} items {where}, such as {quoted(items[0].text)}")
    if held := await subject.held():
        raise RuleBroken(f"export gives {len(held)} items {where}, such as {quoted(held[0].text)}")


def _told(item: Item) -> str:
    return "none" if item.time is None else str(item.time)


def _listed(keys: set[str]) -> str:
    return ", ".join(sorted(keys))
