"""The probe of an agent: no value reaches what remembers, and what is asked of a copy leaves the agent as it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.agents import ConversationalAgent, ExamQuestion, ExamReply, Habits, ProbeQuestion, ProbeReply
from amemgym.errors import ContextOverflow
from amemgym.llm import Request
from amemgym.memory import Item, Memory, find_memory
from amemgym.messages import Message
from amemgym.tasks import ChooseOption, ProbeStates, Status, UpdateRecord
from tests.support.models import Scripted, model_of, sensible, tools_of

START = datetime(2021, 3, 1, 9, 0)
SCHEMA = {"home_town": ("by_the_sea", "inner_city"), "pet": ("puppy", "two-cats", "none at all")}
PROBE = ProbeQuestion(SCHEMA, START)
RIGHT = {"home_town": "inner_city", "pet": "puppy"}
EXAM = ExamQuestion("Where shall I walk?", ("On the beach.", "In the park."), START)


def replies(request: Request) -> str:
    """A readable reply to any task, which tells apart what it is a reply to."""
    if isinstance(request.task, ProbeStates):
        return json.dumps({name: values[-1] for name, values in request.task.variables.items()})
    if isinstance(request.task, UpdateRecord):
        return "\n".join([request.task.record, *(m.content for m in request.task.conversation)]).strip()
    return sensible(request)


class Noted(Memory):
    """Notes whatever it is told and asked, and is changed by being read."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.asked: list[str] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        self.written += [message.content for message in messages]

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        self.asked.append(query)
        return [Item(f"asked before: {text}") for text in self.asked[:-1]] + [Item(text) for text in self.written][:k]


KINDS: dict[str, type[Memory]] = {name: find_memory(name) for name in ("none", "vector", "extract", "in-context")} | {
    "noted": Noted
}


def agent_with(kind: type[Memory], provider: Scripted, habits: Habits | None = None) -> ConversationalAgent:
    async def make() -> ConversationalAgent:
        return ConversationalAgent(habits or Habits(), kind, tools_of(provider), model_of(provider))

    return asyncio.run(make())


def say(agent: ConversationalAgent, number: int) -> None:
    async def one_turn() -> None:
        await agent.reply(Message("user", f"message {number}", START + timedelta(hours=number)))
        await agent.written()  # the loop ends here

    asyncio.run(one_turn())


def probe(agent: ConversationalAgent, question: ProbeQuestion = PROBE) -> ProbeReply:
    async def ask() -> ProbeReply:
        return await (await (await agent.freeze())()).probe(question)

    return asyncio.run(ask())


def examine(agent: ConversationalAgent) -> ExamReply:
    async def ask() -> ExamReply:
        return await (await (await agent.freeze())()).answer(EXAM)

    return asyncio.run(ask())


# --- what a probe asks, and of whom ---


def test_a_memory_is_asked_for_names_as_words() -> None:
    asked: list[str] = []

    class Nosy(Noted):
        def read(self, query: str, now: datetime, k: int) -> list[Item]:
            asked.append(query)
            return super().read(query, now, k)

    provider = Scripted(replies)
    agent = agent_with(Nosy, provider)
    say(agent, 0)
    del asked[:]
    probe(agent)
    assert asked == [PROBE.query] == ["home town, pet"]
    (request,) = (r for r in provider.requests if isinstance(r.task, ProbeStates))
    text = request.messages[-1].content
    assert all(value in text for values in SCHEMA.values() for value in values)  # the model sees what memory does not


@given(
    st.dictionaries(
        st.text("abcdef_", min_size=1),
        st.lists(st.text("ghijklm-0123", min_size=1), min_size=2, unique=True),
        min_size=1,
        max_size=4,
    )
)
def test_the_query_holds_every_name_and_no_value(schema: dict[str, list[str]]) -> None:
    query = ProbeQuestion({name: tuple(values) for name, values in schema.items()}, START).query
    assert [name.replace("_", " ") for name in schema] == query.split(", ")
    assert not any(value in query for values in schema.values() for value in values)


def test_the_model_sees_memory_window_and_time() -> None:
    provider = Scripted(replies)
    agent = agent_with(Noted, provider, Habits(freq=2, n_s=2))
    for number in range(3):
        say(agent, number)
    reply = probe(agent)
    task = provider.requests[-1].task
    assert isinstance(task, ProbeStates)
    assert task.now == START
    assert dict(task.variables) == SCHEMA
    assert [m.content for m in task.context.conversation] == ["message 2", "Very well."]
    assert list(task.context.memories) == [item.text for item in reply.items]
    assert task.context.memories[-4:] == ("message 0", "Very well.", "message 1", "Very well.")


@pytest.mark.parametrize(
    ("said", "values", "status"),
    [
        (json.dumps(RIGHT), RIGHT, Status.OK),
        ("home town: Inner City", {"home_town": "inner_city", "pet": None}, Status.REPAIRED),
        ("I cannot tell.", {"home_town": None, "pet": None}, Status.INVALID),
        ("", {"home_town": None, "pet": None}, Status.EMPTY),
    ],
)
def test_a_probe_s_reply_has_every_variable(said: str, values: dict[str, str | None], status: Status) -> None:
    agent = agent_with(Noted, Scripted(lambda r: said if isinstance(r.task, ProbeStates) else replies(r)))
    reply = probe(agent)
    assert (dict(reply.values), reply.status, reply.text) == (values, status, said)


def test_what_does_not_fit_beside_a_probe_is_left_out_of_that_probe_alone() -> None:
    def answer(request: Request) -> str:
        if isinstance(request.task, ProbeStates) and len(request.task.context.conversation) > 4:
            raise ContextOverflow("too long")
        return replies(request)

    agent = agent_with(find_memory("none"), Scripted(answer), Habits(freq=None))
    for number in range(5):
        say(agent, number)
    window = list(agent._window)
    for _ in range(2):
        assert probe(agent).dropped == 6
    assert (agent._window, agent.dropped) == (window, 0)
    assert examine(agent).dropped == 0


# --- asking never changes the asked ---


def state(agent: ConversationalAgent) -> tuple[object, ...]:
    """All that an agent holds."""
    memory = agent._memory
    inside = memory.snapshot() if isinstance(memory, Noted) else asyncio.run(agent.holdings())
    return json.dumps(inside, default=str), list(agent._window), agent.dropped, list(agent._early)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(1, 4),
    st.integers(0, 4),
    st.lists(st.sampled_from(["say", "exam", "probe"]), max_size=14),
)
def test_exams_and_probes_between_what_is_said_change_nothing(
    kind: str, freq: int, n_s: int, doings: list[str]
) -> None:
    habits = Habits(freq=freq, n_s=n_s)
    examined, left_alone = (agent_with(KINDS[kind], Scripted(replies), habits) for _ in range(2))
    for number, doing in enumerate(doings):
        if doing == "say":
            say(examined, number)
            say(left_alone, number)
            continue
        before = state(examined)
        ask = probe if doing == "probe" else examine
        assert ask(examined) == ask(examined)  # nor does one question change the next
        assert state(examined) == before
    assert state(examined) == state(left_alone)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_questions_at_once_do_not_meet(kind: str) -> None:
    provider = Scripted(replies)
    agent = agent_with(KINDS[kind], provider)
    for number in range(5):
        say(agent, number)

    async def at_once() -> list[ProbeReply | ExamReply]:
        copy = await agent.freeze()
        work = [(await copy()).probe(PROBE) if n % 2 else (await copy()).answer(EXAM) for n in range(6)]
        await agent.reply(Message("user", "meanwhile", START))
        return list(await asyncio.gather(*work))

    alone = [examine(agent), probe(agent)]
    assert asyncio.run(at_once()) == alone * 3
    shown = [r.task.context for r in provider.requests if isinstance(r.task, ProbeStates | ChooseOption)]
    assert not any("meanwhile" in str(context) for context in shown)


def test_a_copy_is_of_its_moment() -> None:
    agent = agent_with(Noted, Scripted(replies), Habits(freq=1, n_s=0))
    say(agent, 0)
    early = asyncio.run(agent.freeze())
    say(agent, 1)

    async def ask() -> tuple[ProbeReply, ProbeReply]:
        return await (await early()).probe(PROBE), await (await (await agent.freeze())()).probe(PROBE)

    then, now = asyncio.run(ask())
    assert [item.text for item in then.items] == ["asked before: message 0", "message 0", "Very well."]
    assert "message 1" in [item.text for item in now.items]
