"""The rule of secrecy: nothing of the scenario but what is said reaches a memory, however it looks for it."""

from __future__ import annotations

from collections.abc import Iterable

from amemgym.kit.bench import Bench, Subject
from amemgym.kit.canary import CANARY, HABITS, Sitting, conversing, play, read_in
from amemgym.kit.rule import rule
from amemgym.kit.talk import quoted
from amemgym.kit.verdicts import RuleBroken
from amemgym.kit.walk import reachable, roots_of, texts_in
from amemgym.llm import at
from amemgym.memory import Item, Memory

#: where the objects of a scenario and its exams are made
_SECRET_ROOMS = ("amemgym.scenario", "amemgym.env", "amemgym.evaluate")


@rule("no-ground-truth", "no state, gold, label or hidden part of the persona reaches it, even where it looks for them")
async def no_ground_truth(bench: Bench) -> None:
    agent, made = conversing(bench)
    async for sitting in play(agent):
        where = f"the exam of period {sitting.period}"
        copy = await agent.freeze()
        for asked in sitting.asked:
            examinee = await copy()
            _expect_none(await read_in(examinee, asked), f"what is read in {where} ({asked.question.query})")
            _look_inside(made[-1].memory, f"a copy of it in {where}")
            await examinee.aclose()
        await _tempt(made[0], sitting)
        _expect_none(await made[0].held() or [], f"its export after {where}")
        if not bench.is_view:
            _no_canary(texts_in(await made[0].snapshot()), f"its snapshot after {where}")
        _look_inside(made[0].memory, f"it after {where}")
    _no_canary(made[0].hearing.texts(), "a request to its model or embedder")


async def _tempt(subject: Subject, sitting: Sitting) -> None:
    """A run takes the labels away from the place before it calls a memory; here they are left for it to find."""
    for item in sitting.items:
        with at(f"p{item.period}/q{item.index}", "exam", item.labels):
            items = await subject.directly("read", item.question.query, sitting.now, HABITS.topk)
        _no_canary(
            [i.text if isinstance(i, Item) else str(i) for i in items], "what it reads where labels can be found"
        )


def _look_inside(memory: Memory, what: str) -> None:
    for thing in reachable(*roots_of(memory)):
        if type(thing).__module__.startswith(_SECRET_ROOMS):
            raise RuleBroken(f"{what} refers to {type(thing).__name__}, which is the evaluation's alone")
        if isinstance(thing, str) and CANARY in thing:
            raise RuleBroken(f"{what} holds {quoted(thing)}, which nobody said")


def _expect_none(items: Iterable[Item], where: str) -> None:
    _no_canary([item.text for item in items], where)


def _no_canary(texts: Iterable[str], where: str) -> None:
    for text in texts:
        if CANARY in text:
            raise RuleBroken(f"{where} has {quoted(text)}, which nobody said")
