"""A write goes on beside the user's next words, and nobody can tell: what is asked next waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from amemgym.agents import ConversationalAgent, ExamQuestion, Habits
from amemgym.env import Episode, find_rules
from amemgym.errors import MemoryFailed
from amemgym.evaluate import RunWatcher, Seat
from amemgym.evaluate.play import play
from amemgym.llm import Completion, Line, Request, Slots, Usage, here
from amemgym.memory import Item, Memory, find_memory
from amemgym.messages import Message
from amemgym.scenario import load_dataset
from amemgym.tasks import DescribeNote, ExtractFacts, FollowUp, UpdateRecord
from tests.support.models import Addresses, Scripted, line_for, model_of, sensible, tools_of

START = datetime(2021, 3, 1, 9, 0)
EXAM = ExamQuestion("Where?", ("here", "there"), START)
OFTEN = Habits(freq=2, n_s=0)


@dataclass
class Held:
    """A model whose replies to writes are held back until `go`."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    log: list[str] = field(default_factory=list)

    async def complete(self, request: Request) -> Completion:
        if isinstance(request.task, UpdateRecord):
            self.log.append(f"writes at {here().name}")
            self.begun.set()
            await self.go.wait()
            self.log.append("has written")
        else:
            self.log.append(request.task.name)
        return Completion(sensible(request), Usage(1, 1))

    async def aclose(self) -> None:
        return None


def record_keeper(provider: Any) -> ConversationalAgent:
    return ConversationalAgent(OFTEN, find_memory("in-context"), tools_of(provider), model_of(provider))


def said(number: int) -> Message:
    return Message("user", f"message {number}", START + timedelta(hours=number))


def test_a_write_and_the_user_s_next_words_are_under_way_at_once() -> None:
    async def talk() -> list[str]:
        async def complete(request: Request) -> Completion:
            if isinstance(request.task, FollowUp):
                await held.begun.wait()  # who wrote before the user speaks would wait for ever
                held.go.set()
            return await Held.complete(held, request)

        held = Held()
        provider = Scripted()
        provider.complete = complete  # type: ignore[method-assign]
        scenario = load_dataset("starter").limited(1, 2).scenarios[0]
        episode, agent = Episode(model_of(provider, "user"), find_rules("amemgym", 2, 2)), record_keeper(provider)
        step = await episode.reset(scenario)
        while step.observation is not None:
            if hasattr(step.observation, "message"):
                step = await episode.step((await agent.reply(step.observation.message)).content)
            else:
                _, step = episode.pass_exam()
        await agent.aclose()
        return held.log

    async def soon() -> list[str]:
        async with asyncio.timeout(20):
            return await talk()

    assert "follow_up" in asyncio.run(soon())


@pytest.mark.parametrize("asked", ["reply", "listen", "freeze", "holdings", "conclude", "written"])
def test_what_is_asked_next_waits_for_the_write(asked: str) -> None:
    async def talk() -> list[str]:
        held = Held()
        agent = record_keeper(held)
        await agent.reply(said(0))
        await held.begun.wait()
        agent.adopt("Remember colours alone.")
        doing: dict[str, Any] = {"reply": (said(1),), "listen": ([said(1)],)}
        following = asyncio.ensure_future(getattr(agent, asked)(*doing.get(asked, ())))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not following.done() and agent._memory.tools.policy == ""
        held.go.set()
        await following
        assert agent._memory.tools.policy == "Remember colours alone."
        await agent.written()
        await agent.aclose()
        return held.log

    log = asyncio.run(talk())
    assert log[:3] == ["reply", "writes at ", "has written"]


class Failing(Memory):
    async def write(self, messages: Sequence[Message], now: datetime) -> None:
        await asyncio.sleep(0)
        raise ValueError("no room")

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []


def test_a_failure_is_told_once_by_what_is_asked_next() -> None:
    async def talk() -> None:
        agent = ConversationalAgent(OFTEN, Failing, tools_of(Scripted()), model_of(Scripted()))
        await agent.reply(said(0))
        with pytest.raises(MemoryFailed, match="no room"):
            await agent.freeze()
        await agent.holdings()
        await agent.reply(said(1))
        await asyncio.sleep(0.01)
        with pytest.raises(MemoryFailed, match="no room"):
            await agent.aclose()

    asyncio.run(talk())


def test_several_may_wait_for_one_write() -> None:
    async def talk() -> list[Any]:
        held = Held()
        agent = record_keeper(held)
        await agent.reply(said(0))
        await held.begun.wait()
        waiting = asyncio.gather(agent.freeze(), agent.holdings(), agent.written())
        await asyncio.sleep(0)
        held.go.set()
        return await waiting

    _, holdings, _ = asyncio.run(talk())
    assert holdings


def test_letting_go_ends_the_write() -> None:
    async def talk() -> list[str]:
        held = Held()
        agent = record_keeper(held)
        await agent.reply(said(0))
        await held.begun.wait()
        await agent.aclose()
        assert len(asyncio.all_tasks()) == 1
        return held.log

    assert asyncio.run(talk()) == ["reply", "writes at "]


class Awaited(ConversationalAgent):
    """Waits for each write before it gives its reply back."""

    async def reply(self, message: Message) -> Message:
        reply = await super().reply(message)
        await self.written()
        return reply


@pytest.mark.parametrize("memory", ["extract", "in-context", "notes"])
def test_journal_and_results_are_those_of_a_write_that_is_waited_for(memory: str) -> None:
    async def played(cls: type[ConversationalAgent], journal: Addresses) -> dict[str, Any]:
        provider, line = Scripted(), line_for(journal)
        scenario = load_dataset("starter").limited(1, 2).scenarios[0]
        agent = cls(Habits(2, 2, 5), find_memory(memory), tools_of(provider, line), model_of(provider, line=line))
        episode = Episode(model_of(provider, "user", line))
        result = await play(Seat("a", 0, 0), scenario, agent, episode, line, 0, RunWatcher(), room=Slots(3))
        await agent.aclose()
        return without_seconds(result.as_dict(), line)

    def without_seconds(told: dict[str, Any], line: Line) -> dict[str, Any]:
        return told | {"ledger": {role: count.as_dict() | {"seconds": 0} for role, count in line.ledger.items()}}

    journals = Addresses(), Addresses()
    one, other = (
        asyncio.run(played(cls, journal)) for cls, journal in zip((ConversationalAgent, Awaited), journals, strict=True)
    )
    assert one == other
    addresses = [sorted((a.place, a.role, a.request) for a in journal.addresses) for journal in journals]
    assert addresses[0] == addresses[1]
    assert any(role.startswith("memory") for _, role, _ in addresses[0])


def test_notes_of_one_write_are_described_side_by_side_but_for_equal_texts() -> None:
    under_way = most = 0

    async def complete(request: Request) -> Completion:
        nonlocal under_way, most
        if isinstance(request.task, DescribeNote):
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            under_way -= 1
        return Completion(sensible(request), Usage(1, 1))

    async def write(texts: list[str]) -> None:
        provider = Scripted()
        provider.complete = complete  # type: ignore[method-assign]
        memory = find_memory("notes")()
        memory.tools = tools_of(provider)
        await memory.write([Message("user", text, START) for text in texts], START)  # type: ignore[misc]

    for texts, at_once in ((["a", "b", "c"], 3), (["a", "a"], 1)):
        most = 0
        asyncio.run(write(texts))
        assert most == at_once


def test_facts_are_extracted_from_what_left_the_window() -> None:
    """However late the write begins, it has what was due when the reply was given."""

    async def talk() -> list[tuple[str, ...]]:
        provider = Scripted()
        agent = ConversationalAgent(OFTEN, find_memory("extract"), tools_of(provider), model_of(provider))
        for number in range(3):
            await agent.reply(said(number))
        await agent.written()
        asked = [r.task for r in provider.requests if isinstance(r.task, ExtractFacts)]
        return [tuple(m.content for m in task.conversation) for task in asked]

    assert asyncio.run(talk()) == [(f"message {number}", "Very well.") for number in range(3)]
