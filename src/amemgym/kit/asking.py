"""Rules of asking: neither a read nor an exam changes what is asked, and an exam is answered from the same memory."""

from __future__ import annotations

from amemgym.kit.bench import Bench
from amemgym.kit.canary import conversing, play, read_in
from amemgym.kit.copies import first_change
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, facts_of
from amemgym.kit.verdicts import RuleBroken
from amemgym.kit.walk import difference
from amemgym.llm import at

ROUNDS = 5


@rule("reading-changes-nothing", "reading, however often, changes neither later reads nor what is held")
async def reading_changes_nothing(bench: Bench) -> None:
    subject, facts = bench.make(), facts_of(0)
    for fact in facts:
        await subject.tell(fact)
    held = await subject.held()
    reads = await subject.read_all(facts, LATER)  # also fills whatever is computed once and kept
    first, snapshot = (None, None) if bench.is_view else (await subject.snapshot(), await subject.snapshot())
    for number in range(ROUNDS):
        again = await subject.read_all(facts, LATER)
        if (found := first_change(reads, again)) is not None:
            raise RuleBroken(f"the same queries read other items in round {number + 2}: {found}")
    if await subject.held() != held:
        raise RuleBroken(f"after {ROUNDS + 1} rounds of reads, export gives other items")
    if bench.is_view or difference(first, snapshot) is not None:
        return  # a snapshot with a new name each time tells nothing by itself
    if (found := difference(snapshot, await subject.snapshot())) is not None:
        raise RuleBroken(f"reading changed its state: {found}")


@rule("exam-changes-nothing", "an exam leaves the memory as it is, and reads what a conversation would read")
async def exam_changes_nothing(bench: Bench) -> None:
    agent, made = conversing(bench)
    subject = made[0]
    async for sitting in play(agent, periods=1):
        queries = [asked.question.query for asked in sitting.asked]
        before = [await subject.read(query, sitting.now) for query in queries]
        held = await subject.held()
        with at("kit/as-exam", "exam"):
            disguised = [await subject.read(query, sitting.now) for query in queries]
        if (found := first_change(before, disguised)) is not None:
            raise RuleBroken(f"it reads otherwise where it is examined: {found}")
        copy = await agent.freeze()
        for time in ("", "a second time, "):
            replies = []
            for asked in sitting.asked:
                examinee = await copy()
                replies.append(await read_in(examinee, asked))
                await examinee.aclose()
            if (found := first_change(before, replies)) is not None:
                raise RuleBroken(f"examined {time}a copy reads other items than the memory it was made of: {found}")
        after = [await subject.read(query, sitting.now) for query in queries]
        if (found := first_change(before, after)) is not None:
            raise RuleBroken(f"after the exam of period {sitting.period} it reads other items: {found}")
        if await subject.held() != held:
            raise RuleBroken(f"after the exam of period {sitting.period} its export gives other items")
