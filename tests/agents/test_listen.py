"""Listening to a recorded conversation: the same is remembered as by the agent that had it, and nothing is said."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.agents import ConversationalAgent, ExamQuestion, Habits
from amemgym.llm import Request
from amemgym.memory import Memory, find_memory
from amemgym.messages import Message
from amemgym.tasks import ChooseOption, ExtractFacts, ReconcileFacts, Reply, Task, UpdateRecord
from tests.agents.test_window import Diary
from tests.support.models import Scripted, model_of, sensible, tools_of

START = datetime(2021, 3, 1, 9, 0)
KINDS: dict[str, type[Memory]] = {name: find_memory(name) for name in ("none", "vector", "extract", "in-context")} | {
    "diary": Diary
}
EXAM = ExamQuestion("Where shall I walk?", ("On the beach.", "In the park."), START)


def replies(request: Request) -> str:
    """A readable reply to any task; what is written to a memory depends on all it is asked to write."""
    task = request.task
    if isinstance(task, Reply):
        return f"Indeed, {task.context.conversation[-1].content}." * (1 + len(task.context.conversation) % 3)
    if isinstance(task, ExtractFacts):
        return json.dumps({"facts": [f"fact: {message.content[:60]}" for message in task.conversation]})
    if isinstance(task, ReconcileFacts):
        known = [{"event": "update", "id": number, "text": text + "!"} for number, text in task.stored[:1]]
        return json.dumps({"operations": [*known, *({"event": "add", "text": fact} for fact in task.facts)]})
    if isinstance(task, UpdateRecord):
        return "\n".join([*task.record.splitlines(), *(m.content for m in task.conversation)][-12:])
    return sensible(request)


class Pair:
    """An agent that converses, and one that only listens to it."""

    def __init__(self, kind: str, habits: Habits) -> None:
        self.provider, self.heard_by = Scripted(replies), Scripted(replies)

        async def make(provider: Scripted) -> ConversationalAgent:
            return ConversationalAgent(habits, KINDS[kind], tools_of(provider), model_of(provider))

        self.speaker, self.listener = asyncio.run(make(self.provider)), asyncio.run(make(self.heard_by))

    def talk(self, text: str, number: int) -> None:
        async def one_turn() -> None:
            message = Message("user", text, START + timedelta(hours=number))
            await self.listener.listen([message, await self.speaker.reply(message)])

        asyncio.run(one_turn())

    def memory_tasks(self) -> tuple[list[Task[str]], list[Task[str]]]:
        """What each one's memory asked of its model."""
        asked = [[r.task for r in p.requests if not isinstance(r.task, Reply)] for p in (self.provider, self.heard_by)]
        return asked[0], asked[1]

    def check(self) -> None:
        assert self.listener._window == self.speaker._window
        assert asyncio.run(self.listener.holdings()) == asyncio.run(self.speaker.holdings())
        assert self.listener.dropped == self.speaker.dropped
        for one, other in ((self.speaker._memory, self.listener._memory),):
            if isinstance(one, Diary) and isinstance(other, Diary):
                assert one.writes == other.writes


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)),
    st.none() | st.integers(1, 7),
    st.integers(0, 6),
    st.lists(st.text("ab c", min_size=1, max_size=9), min_size=1, max_size=9),
)
def test_listening_remembers_what_replying_would_have(kind: str, freq: int | None, n_s: int, said: list[str]) -> None:
    pair = Pair(kind, Habits(freq=freq, n_s=n_s))
    for number, text in enumerate(said):
        pair.talk(f"message {number} {text}", number)
        pair.check()  # after each turn, not only in the end
    spoken, heard = pair.memory_tasks()
    assert spoken == heard
    assert not any(isinstance(request.task, Reply) for request in pair.heard_by.requests)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_pair_does_remember_something(kind: str) -> None:
    """What the test above compares is not empty."""
    pair = Pair(kind, Habits(freq=2, n_s=2))
    for number in range(5):
        pair.talk(f"message {number}", number)
    assert len(pair.listener._window) == 2
    assert sum(isinstance(request.task, Reply) for request in pair.provider.requests) == 5
    held = asyncio.run(pair.listener.holdings())
    if kind == "diary":
        assert isinstance(pair.listener._memory, Diary) and len(pair.listener._memory.writes) == 4
    else:
        assert bool(held) == (kind != "none")
        assert kind != "vector" or len(held or []) == 8


def test_times_are_those_of_the_conversation() -> None:
    seen: list[tuple[datetime, list[datetime | None]]] = []

    class Clocked(Diary):
        def write(self, messages: object, now: datetime) -> None:
            seen.append((now, [message.time for message in messages]))  # type: ignore[attr-defined]

    async def make() -> ConversationalAgent:
        provider = Scripted()
        return ConversationalAgent(Habits(freq=2, n_s=0), Clocked, tools_of(provider), model_of(provider))

    agent = asyncio.run(make())
    for number in range(3):
        time = START + timedelta(days=number)
        asyncio.run(agent.listen([Message("user", "hello", time), Message("assistant", "hi", time)]))
    times = [START + timedelta(days=number) for number in range(3)]
    assert seen == [(time, [time, time]) for time in times]


def test_a_long_stretch_is_written_like_its_turns() -> None:
    messages = [
        Message("assistant" if number % 2 else "user", f"message {number}", START + timedelta(hours=number // 2))
        for number in range(10)
    ]
    for freq, n_s in ((2, 2), (3, 1), (4, 0)):
        pair = Pair("diary", Habits(freq=freq, n_s=n_s))
        asyncio.run(pair.listener.listen(messages))
        assert isinstance(pair.listener._memory, Diary)
        writes = pair.listener._memory.writes
        assert [message for write in writes for message in write] + pair.listener._window == messages
        assert all(len(write) == freq for write in writes)
        assert len(pair.listener._window) < freq + n_s


def test_listening_to_nothing_is_nothing() -> None:
    pair = Pair("diary", Habits())
    asyncio.run(pair.listener.listen([]))
    pair.check()
    assert pair.heard_by.requests == []


# --- where the model's context is full ---


def exam_of(agent: ConversationalAgent, provider: Scripted) -> Task[int]:
    """The exam question as the model gets it."""

    async def ask() -> None:
        await (await (await agent.freeze())()).answer(EXAM)

    asyncio.run(ask())
    task: Task[int] = [r.task for r in provider.requests if isinstance(r.task, ChooseOption)][-1]
    return task


def full(kind: str, habits: Habits) -> Pair:
    """Turns of 4,000 tokens, more than the context holds; at each of them both would be asked the same."""
    pair = Pair(kind, habits)
    for number in range(6):
        pair.talk("word " * 1600, number)
        assert exam_of(pair.speaker, pair.provider) == exam_of(pair.listener, pair.heard_by)
    return pair


def test_native_s_full_context_is_the_same_to_its_exams() -> None:
    pair = full("none", Habits(freq=None, context_tokens=20_000))
    window = pair.listener._window
    assert 0 < len(window) < 12
    assert pair.speaker._window[-len(window) :] == window
    assert pair.listener.dropped > 0


def test_nothing_is_lost_or_turned_round_where_the_context_is_full() -> None:
    pair = Pair("diary", Habits(freq=4, n_s=6, topk=3, context_tokens=20_000))
    for number in range(6):
        pair.talk(f"{number} " + "word " * 1600, number)
    for agent in (pair.speaker, pair.listener):
        assert isinstance(agent._memory, Diary)
        known = [message for write in agent._memory.writes for message in write] + agent._window
        assert [m.content.split()[0] for m in known if m.role == "user"] == [str(number) for number in range(6)]
        assert len(known) == 12 and agent.dropped == 0
