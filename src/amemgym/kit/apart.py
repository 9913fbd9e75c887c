"""Rules of keeping apart: what one user's memory holds reaches no other, one after another or at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from amemgym.kit.bench import Bench, Subject
from amemgym.kit.copies import first_change
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, PEOPLE, Fact, facts_of, mention, quoted
from amemgym.kit.verdicts import RuleBroken
from amemgym.kit.walk import texts_in
from amemgym.memory import Item
from amemgym.together import side_by_side


@rule("users-apart", "two memories used in turns hold nothing of each other, nor does one that is made after them")
async def users_apart(bench: Bench) -> None:
    one, other = bench.make(), bench.make()
    ours, theirs = facts_of(0), facts_of(1)
    for mine, yours in zip(ours, theirs, strict=True):
        await one.tell(mine)
        await other.tell(yours)
    await _expect_apart(one, ours, theirs, "the first of two memories", bench)
    await _expect_apart(other, theirs, ours, "the second of two memories", bench)
    later = bench.make()
    await _expect_apart(later, [], [*ours, *theirs], "a memory made after them", bench)
    before = await other.read_all(theirs, LATER)
    await one.clear()
    await one.close()
    if await other.read_all(theirs, LATER) != before:
        raise RuleBroken("when one memory was cleared and closed, what another one reads changed")


@rule("parallel-apart", "memories at work at the same time hold nothing of each other, and lose nothing")
async def parallel_apart(bench: Bench) -> None:
    people = [facts_of(person) for person in range(PEOPLE)]
    alone = []
    for facts in people:
        subject = bench.make()
        await _tell(subject, facts)
        alone.append(await subject.read_all(facts, LATER))
        await subject.close()
    together = [bench.make() for _ in people]
    await side_by_side(_tell(subject, facts) for subject, facts in zip(together, people, strict=True))
    # in another order, so that one that works in threads is read in another than it was written in
    pairs = list(zip(together, people, strict=True))[::-1]
    read = (await side_by_side(subject.read_all(facts, LATER) for subject, facts in pairs))[::-1]
    for person, subject in enumerate(together):
        others = [fact for number, facts in enumerate(people) if number != person for fact in facts]
        await _expect_apart(subject, people[person], others, f"one of {PEOPLE} memories used side by side", bench)
        if (found := first_change(alone[person], read[person])) is not None:
            raise RuleBroken(f"used side by side with others, a memory reads other items than alone: {found}")


async def _tell(subject: Subject, facts: Sequence[Fact]) -> None:
    for fact in facts:
        await subject.tell(fact)
        await asyncio.sleep(0)


async def _expect_apart(
    subject: Subject, own: Sequence[Fact], others: Sequence[Fact], whose: str, bench: Bench
) -> None:
    """Nothing of the others in what the memory reads, exports, copies or asks."""
    read: list[Item] = []
    for fact in (*own, *others):
        read += await subject.read(fact.asked, LATER)
    places: list[tuple[str, Iterable[str]]] = [
        ("read", [item.text for item in read]),
        ("export", [item.text for item in await subject.held() or []]),
        ("asked of the model", subject.hearing.asked),
    ]
    if not bench.is_view:
        places.append(("copied by snapshot", texts_in(await subject.snapshot())))
    keys = [fact.key for fact in others]
    for what, texts in places:
        for text in dict.fromkeys(texts):
            if (key := mention(text, keys)) is not None:
                raise RuleBroken(f"{key}, told to another memory, is {what} in {whose}: {quoted(text)}")
