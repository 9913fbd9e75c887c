"""The window and the memory share the conversation: each message is in exactly one of them, and none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.agents import ConversationalAgent, Habits
from amemgym.agents.protocol import ExamQuestion
from amemgym.errors import ContextOverflow
from amemgym.llm import Request
from amemgym.memory import Item, Memory
from amemgym.messages import Message
from amemgym.tasks import ChooseOption, Reply
from tests.support.models import Scripted, model_of, sensible, tools_of

START = datetime(2021, 3, 1, 9, 0)


class Diary(Memory):
    """Keeps every write as it came."""

    def __init__(self) -> None:
        self.writes: list[list[Message]] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        self.writes.append(list(messages))

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return [Item(m.content, m.time) for write in self.writes for m in write][:k]


def play(agent: ConversationalAgent, rounds: int) -> list[Message]:
    """Talk for some rounds; everything that was said."""

    async def talk() -> list[Message]:
        said: list[Message] = []
        for number in range(rounds):
            message = Message("user", f"message {number}", START + timedelta(hours=number))
            said += [message, await agent.reply(message)]
        return said

    return asyncio.run(talk())


def agent_with(habits: Habits, provider: Scripted, memory: type[Memory] = Diary) -> ConversationalAgent:
    async def make() -> ConversationalAgent:
        return ConversationalAgent(habits, memory, tools_of(provider), model_of(provider))

    return asyncio.run(make())


@settings(deadline=None, max_examples=40)
@given(freq=st.integers(1, 7), n_s=st.integers(0, 7), rounds=st.integers(0, 12))
def test_each_message_is_in_window_or_memory(freq: int, n_s: int, rounds: int) -> None:
    agent = agent_with(Habits(freq=freq, n_s=n_s), Scripted())
    said = play(agent, rounds)
    memory = agent._memory
    assert isinstance(memory, Diary)
    written = [message for write in memory.writes for message in write]
    assert written + agent._window == said
    assert all(len(write) == freq for write in memory.writes)
    assert min(len(said), n_s) <= len(agent._window) < freq + n_s or len(said) < freq + n_s


def test_the_model_sees_memory_then_window_then_the_message() -> None:
    provider = Scripted()
    agent = agent_with(Habits(freq=2, n_s=2, topk=30), provider)
    play(agent, 4)
    last = provider.requests[-1].task
    assert isinstance(last, Reply)
    assert [m.content for m in last.context.conversation] == ["message 2", "Very well.", "message 3"]
    assert last.context.memories == (
        "[2021-03-01] message 0",
        "[2021-03-01] Very well.",
        "[2021-03-01] message 1",
        "[2021-03-01] Very well.",
    )


def test_topk_bounds_what_is_read() -> None:
    provider = Scripted()
    agent = agent_with(Habits(freq=2, n_s=0, topk=3), provider)
    play(agent, 6)
    last = provider.requests[-1].task
    assert isinstance(last, Reply)
    assert len(last.context.memories) == 3


def test_native_keeps_everything() -> None:
    provider = Scripted()
    agent = agent_with(Habits(freq=None), provider)
    said = play(agent, 9)
    assert agent._window == said
    assert isinstance(agent._memory, Diary) and agent._memory.writes == []
    assert agent.dropped == 0


def test_native_drops_oldest_turns_when_the_context_is_full() -> None:
    provider = Scripted(lambda request: "word " * 4000)  # 5,000 tokens a reply, by characters / 4
    agent = agent_with(Habits(freq=None, context_tokens=20_000), provider)
    said = play(agent, 6)
    kept = agent._window
    assert kept == said[-len(kept) :]
    assert agent.dropped == len(said) - len(kept) > 0
    assert agent.dropped % 2 == 0
    for request in provider.requests:
        assert sum(len(m.content) for m in request.messages) / 4 <= 20_000


def test_native_learns_from_an_overflow_that_the_estimate_did_not_see() -> None:
    def answer(request: Request) -> str:
        if len(request.messages) > 8:
            raise ContextOverflow("too long")
        return "fine"

    agent = agent_with(Habits(freq=None), Scripted(answer))
    play(agent, 10)
    assert agent.dropped > 0
    assert [m.content for m in agent._window][-2:] == ["message 9", "fine"]


def test_an_overflow_with_nothing_to_drop_is_an_error() -> None:
    def answer(request: Request) -> str:
        raise ContextOverflow("too long")

    with pytest.raises(ContextOverflow):
        play(agent_with(Habits(freq=None), Scripted(answer)), 1)


def test_a_reply_without_text_does_not_end_the_conversation() -> None:
    agent = agent_with(Habits(), Scripted(lambda request: "<think>hm</think>"))
    said = play(agent, 2)
    assert [m.content for m in said if m.role == "assistant"] == ["(no reply)", "(no reply)"]


class Fickle(Diary):
    """A memory that changes when it is read."""

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        self.writes.append([Message("user", f"was asked: {query}")])
        return super().read(query, now, 100)


@pytest.mark.parametrize("freq", [1, 2, 3])
def test_an_exam_changes_neither_the_memory_nor_another_exam(freq: int) -> None:
    provider = Scripted()
    agent = agent_with(Habits(freq=freq, n_s=0), provider, Fickle)
    play(agent, 3)
    before = agent._memory.snapshot()

    async def exam() -> None:
        examinee = await agent.freeze()
        for query in ("first?", "second?", "first?"):
            await (await examinee()).answer(ExamQuestion(query, ("a", "b"), START))

    asyncio.run(exam())
    assert agent._memory.snapshot() == before
    asked = [r.task for r in provider.requests if isinstance(r.task, ChooseOption)]
    assert asked[0] == asked[2]
    assert not any("second?" in line for line in asked[2].context.memories)


def test_a_frozen_agent_does_not_hear_what_is_said_later() -> None:
    provider = Scripted()
    agent = agent_with(Habits(freq=2, n_s=2), provider)

    async def talk() -> tuple[ChooseOption, ChooseOption]:
        await agent.reply(Message("user", "early", START))
        examinee = await agent.freeze()
        await (await examinee()).answer(ExamQuestion("now?", ("a", "b"), START))
        for number in range(5):
            await agent.reply(Message("user", f"late {number}", START))
        await (await examinee()).answer(ExamQuestion("now?", ("a", "b"), START))
        first, second = (r.task for r in provider.requests if isinstance(r.task, ChooseOption))
        assert isinstance(first, ChooseOption) and isinstance(second, ChooseOption)
        return first, second

    first, second = asyncio.run(talk())
    assert first == second
    assert any("early" in m.content for m in first.context.conversation)


def test_unreadable_exam_replies_earn_no_guess() -> None:
    agent = agent_with(Habits(), Scripted(lambda r: "perhaps" if isinstance(r.task, ChooseOption) else sensible(r)))
    question = ExamQuestion("which?", ("a", "b"), START)

    async def ask() -> None:
        reply = await (await (await agent.freeze())()).answer(question)
        assert reply.option is None
        assert reply.status == "invalid"
        assert reply.text == "perhaps"

    asyncio.run(ask())
