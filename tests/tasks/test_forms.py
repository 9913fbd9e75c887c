"""What a message keeps for the requests it stands in says the same as what is made anew, and is made once."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym import messages
from amemgym.agents import ConversationalAgent, Habits
from amemgym.agents.conversational import RESERVED_TOKENS
from amemgym.llm import estimate_tokens
from amemgym.memory import NoMemory
from amemgym.messages import Message, whole
from amemgym.tasks import Context, Reply, digest
from tests.support.models import Scripted, model_of, tools_of

START = datetime(2021, 3, 1, 9, 0)
TEXT = st.text(st.characters(), max_size=20)  # half characters too
TALK = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), TEXT), max_size=5)


def said(talk: list[tuple[Any, str]]) -> list[Message]:
    return [Message(role, content) for role, content in talk]


@settings(deadline=None, max_examples=80)
@given(TALK)
def test_kept_forms_are_the_plain_ones(talk: list[tuple[Any, str]]) -> None:
    for message in said(talk):
        for _ in range(2):
            assert json.loads(message.chat_json) == message.as_chat()
            text = f"{message.role}\x1f{message.content}".encode("utf-8", "surrogatepass")
            assert message.digest == sha256(text).digest()
        assert whole(message.content) == whole(whole(message.content))


@settings(deadline=None, max_examples=80)
@given(TALK, TALK)
def test_one_request_has_one_digest_and_two_have_two(one: list[tuple[Any, str]], other: list[tuple[Any, str]]) -> None:
    task, first, second = Reply(Context()), said(one), said(other)
    assert (digest(task, first) == digest(task, second)) is (one == other)
    assert digest(task, first) == digest(task, said(one))  # whether it is kept or made anew


def test_a_digest_is_the_same_in_every_process_and_version() -> None:
    """A journal written by one is read by another."""
    request = [Message("system", "You help."), Message("user", "Grüße, 世界 \ud83d")]
    assert digest(Reply(Context()), request) == "3c1aeb3111e33f6022f2df4ca99aa67f"


def test_what_is_kept_is_no_part_of_the_message() -> None:
    fresh, used = Message("user", "Hello.", START), Message("user", "Hello.", START)
    assert used.chat_json and used.digest
    assert fresh == used and hash(fresh) == hash(used) and repr(fresh) == repr(used)
    assert pickle.dumps(fresh) == pickle.dumps(used)
    assert copy.deepcopy(used) == used


# --- over a conversation ---


def talk(turns: int, habits: Habits) -> tuple[ConversationalAgent, Scripted]:
    async def go() -> ConversationalAgent:
        provider.requests.clear()
        agent = ConversationalAgent(habits, NoMemory, tools_of(provider), model_of(provider))
        for number in range(turns):
            await agent.reply(Message("user", f"{number} " + "word " * 20, START + timedelta(hours=number)))
        return agent

    provider = Scripted()
    return asyncio.run(go()), provider


@pytest.mark.parametrize("tokens", [128_000, RESERVED_TOKENS + 200])
def test_the_count_of_a_window_is_that_of_its_messages(tokens: int) -> None:
    agent, provider = talk(30, Habits(freq=None, context_tokens=tokens))
    assert agent._size == sum(len(message.content) for message in agent._window)
    assert bool(agent.dropped) is (tokens < 128_000)
    for request in provider.requests:
        assert estimate_tokens(message.content for message in request.messages[1:]) <= tokens


def test_the_work_of_a_conversation_grows_with_its_length_and_not_with_its_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashed: list[int] = []

    def counted(text: bytes) -> Any:
        hashed.append(len(text))
        return sha256(text)

    monkeypatch.setattr(messages, "sha256", counted)
    work = []
    for turns in (20, 40):
        hashed.clear()
        talk(turns, Habits(freq=None))
        work.append(sum(hashed))
    assert work[1] < 2.2 * work[0]
