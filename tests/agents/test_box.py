"""An assistant behind an address: what it is called and asked, that a turn sent again is remembered once, and that a
server which lacks the conversation is told it, so that it never matters where a run or a server was interrupted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from amemgym.agents import BoxAgent, ExamQuestion, ExamReply, ProbeQuestion, parse_agent
from amemgym.env import find_rules
from amemgym.errors import AMemGymError, UsageError
from amemgym.evaluate import make_manifest, make_spec
from amemgym.llm import Door, Journal, Line, at, box_settings, check_model_name, open_model
from amemgym.messages import Message
from amemgym.scenario import load_dataset
from amemgym.tasks import ChooseKnowing, prompts_for
from tests.support.box import BoxServer, Call, Fault

START = datetime(2021, 3, 1, 9, 0)
EXAM = ExamQuestion("Where shall I walk?", ("On the beach.", "In the park."), START)
PROBE = ProbeQuestion({"home_town": ("by_the_sea", "inner_city")}, START)
PROMPTS = prompts_for("en")


def said(number: int, text: str = "") -> Message:
    return Message("user", text or f"message {number}", START + timedelta(hours=number))


def play(
    server: BoxServer, work: Callable[[BoxAgent, Line], Awaitable[Any]], journal: Journal | None = None
) -> tuple[Any, Line]:
    """What `work` does with an agent in a run of its own."""
    settings = box_settings(server.url)
    assert settings is not None

    async def run() -> tuple[Any, Line]:
        box = open_model(settings, lambda sentence: None)
        line = Line(journal or Journal(None), PROMPTS)
        door = Door(box, 8, attempts=3, first_wait=0.001)
        try:
            return await work(BoxAgent(line.model(door, "assistant"), "e"), line), line
        finally:
            await box.aclose()

    return asyncio.run(run())


async def talk(agent: BoxAgent, turns: int, first: int = 0) -> list[str]:
    return [(await agent.reply(said(number))).content for number in range(first, first + turns)]


async def examine(agent: BoxAgent) -> ExamReply:
    with at("p0/q0", "exam", ({"pet": "puppy"}, {"pet": "none"})):
        return await (await (await agent.freeze())()).answer(EXAM)


# --- names ---


@pytest.mark.parametrize(
    ("name", "called", "url"),
    [
        ("http:http://localhost:9000", "http:localhost:9000", "http://localhost:9000"),
        ("http://localhost:9000/", "http:localhost:9000", "http://localhost:9000"),
        ("http:localhost:9000", "http:localhost:9000", "http://localhost:9000"),
        ("HTTP://LocalHost:9000/Bot/", "http:localhost:9000/Bot", "http://localhost:9000/Bot"),
        ("http:https://a.example/v2", "https:a.example/v2", "https://a.example/v2"),
        ("https://[::1]:9000", "https:[::1]:9000", "https://[::1]:9000"),
    ],
)
def test_names(name: str, called: str, url: str) -> None:
    agent = parse_agent(name)
    assert (agent.name, agent.is_box, agent.is_reference) == (called, True, False)
    assert agent.described() == {"name": called, "model": {"model": called, "base_url": url}}
    assert parse_agent(agent.name) == agent


@pytest.mark.parametrize(
    "name",
    [
        *("http:", "http://", "http:http:", "http://:9000", "http://localhost:port", "http://localhost:9000-2-4-30"),
        *("http://me:hidden-word@localhost:9000", "http://localhost:9000/?token=hidden-word", "http://hidden-word@:x"),
    ],
)
def test_no_address(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_agent(name)
    assert "hidden-word" not in str(caught.value)
    assert "http://localhost:9000" in str(caught.value) or "AMEMGYM_AGENT_API_KEY" in str(caught.value)


def test_an_assistant_is_no_model() -> None:
    with pytest.raises(UsageError, match="--agents"):
        check_model_name("http://localhost:9000")


# --- what it is asked ---


def test_what_is_sent() -> None:
    async def work(agent: BoxAgent, line: Line) -> ExamReply:
        await talk(agent, 2)
        return await examine(agent)

    with BoxServer() as server:
        reply, _ = play(server, work)
    assert reply.option in (1, 2)
    reset, first, second, answer = server.calls
    id = reset.body["episode"]
    assert (reset.path, reset.body) == ("/reset", {"episode": id})
    first_body = {"episode": id, "turn": 1, "message": "message 0", "time": "2021-03-01 09:00:00"}
    assert (first.path, first.body) == ("/act", first_body)
    assert second.body == {"episode": id, "turn": 2, "message": "message 1", "time": "2021-03-01 10:00:00"}
    assert answer.path == "/answer"
    asked = answer.body["message"]
    assert answer.body == {"episode": id, "message": asked, "time": "2021-03-01 09:00:00"}
    assert asked.startswith("[Current Time: 2021-03-01 09:00:00]\nWhere shall I walk?\n")
    assert "1: On the beach.\n2: In the park.\n" in asked
    assert "puppy" not in json.dumps([call.body for call in server.calls]), "labels are for no assistant"


def test_what_is_asked_is_not_remembered() -> None:
    async def work(agent: BoxAgent, line: Line) -> list[Any]:
        await talk(agent, 2)
        before = {id: dict(turns) for id, turns in server.episodes.items()}
        copies = [await (await agent.freeze())() for _ in range(6)]
        replies: list[Any] = await asyncio.gather(*(copy.answer(EXAM) for copy in copies))
        replies.append(await copies[0].probe(PROBE))
        assert server.episodes == before
        assert await talk(agent, 1, 2) == ["I see. You told me before: message 1"]
        return replies

    with BoxServer() as server:
        *exams, probe = play(server, work)[0]
    assert len({reply.option for reply in exams}) == 1
    assert probe.values == {"home_town": "by_the_sea"}
    assert [call.name for call in server.calls].count("listen") == 0


def test_the_upper_bound_is_asked_where_nothing_was_said() -> None:
    task = ChooseKnowing("Where shall I walk?", EXAM.options, (("home_town", "beach"),))

    async def work(agent: BoxAgent, line: Line) -> list[int | None]:
        await talk(agent, 1)
        return [(await agent._model.ask(task)).value for _ in range(2)]

    with BoxServer() as server:
        assert play(server, work)[0] == [1, 1]
    conversation, *alone = [call.body["episode"] for call in server.named("reset")]
    assert len({conversation, *alone}) == 3
    assert [call.body["episode"] for call in server.named("answer")] == alone
    assert all(server.episodes[id] == {} for id in alone)
    assert server.named("answer")[0].body["time"] is None


def test_usage_is_the_server_s_own_or_an_estimate() -> None:
    def fault(call: Call) -> Fault | None:
        return (
            Fault(body='{"reply": "Yes.", "usage": {"input": 50, "output": 7}}') if call.body.get("turn") == 1 else None
        )

    with BoxServer(fault) as server:
        _, line = play(server, lambda agent, line: talk(agent, 1))
        count = line.ledger["assistant"]
        assert (count.input, count.output, count.estimated) == (50, 7, 0)
        server.fault = lambda call: Fault(body='{"reply": "Yes!"}') if call.name == "act" else None
        _, line = play(server, lambda agent, line: talk(agent, 1))
    count = line.ledger["assistant"]
    assert (count.input, count.output, count.estimated) == (3, 1, 1)  # characters / 4 of "message 0" and "Yes!"


def test_a_reply_without_text_is_unreadable_and_the_conversation_goes_on() -> None:
    with BoxServer(
        lambda call: Fault(body='{"reply": ""}', seen=True) if call.body.get("turn") == 1 else None
    ) as server:
        replies, line = play(server, lambda agent, line: talk(agent, 2))
    assert replies[0] == "(no reply)" and replies[1].startswith("I see.")
    assert line.ledger["assistant"].statuses == {"empty": 1, "ok": 1}


# --- the same turn again, and a conversation that the server lacks ---


def test_a_turn_whose_answer_was_lost_is_sent_again_and_remembered_once() -> None:
    lost = Fault(502, "bad gateway", seen=True)

    def fault(call: Call) -> Fault | None:
        return lost if call.body.get("turn") == 2 and len(server.named("act")) == 2 else None

    with BoxServer(fault) as server:
        replies, _ = play(server, lambda agent, line: talk(agent, 3))
    assert [call.body["turn"] for call in server.named("act")] == [1, 2, 2, 3]
    assert server.calls[2].body == server.calls[3].body
    assert len({call.body["episode"] for call in server.calls}) == 1
    assert list(server.episodes.values()) == [{1: "message 0", 2: "message 1", 3: "message 2"}]
    assert replies[2] == "I see. You told me before: message 1"


def test_a_run_that_goes_on_tells_the_conversation_up_to_there() -> None:
    async def whole(agent: BoxAgent, line: Line) -> list[Any]:
        return [*await talk(agent, 2), await examine(agent), *await talk(agent, 2, 2)]

    async def begun(agent: BoxAgent, line: Line) -> None:
        await talk(agent, 2)

    with BoxServer() as server, BoxServer() as other:
        unbroken, line = play(server, whole)
        journal = Journal(None)
        play(other, begun, journal)
        journal._used.clear()  # as it is read from a file
        other.example.EPISODES.clear()
        del other.calls[:]
        resumed, again = play(other, whole, journal)
    assert resumed == unbroken
    counts = [count.as_dict() | {"seconds": 0} for count in line.ledger.values()]
    assert [count.as_dict() | {"seconds": 0} for count in again.ledger.values()] == counts
    assert [call.name for call in other.calls] == ["reset", "listen", "listen", "answer", "act", "act"]
    assert other.calls[2].body["turn"] == 2
    assert other.calls[2].body["messages"] == [
        {"role": "user", "content": "message 1", "time": "2021-03-01 10:00:00"},
        {"role": "assistant", "content": "I see. You told me before: message 0", "time": "2021-03-01 10:00:00"},
    ]
    assert list(other.episodes.values()) == list(server.episodes.values())


def test_a_server_that_was_started_anew_is_told_the_conversation() -> None:
    async def work(agent: BoxAgent, line: Line) -> list[str]:
        replies = await talk(agent, 2)
        server.example.EPISODES.clear()
        copies = [await (await agent.freeze())() for _ in range(4)]
        await asyncio.gather(*(copy.answer(EXAM) for copy in copies))
        server.example.EPISODES.clear()
        return replies + await talk(agent, 1, 2)

    with BoxServer() as server, BoxServer() as other:
        assert play(server, work)[0] == play(other, lambda agent, line: talk(agent, 3))[0]
    ids = [call.body["episode"] for call in server.named("reset")]
    assert len(ids) == len(set(ids)) == 3, "each time under another id, or what is under way could meet half of it"
    assert list(server.episodes) == ids[-1:]
    assert server.episodes[ids[-1]] == {1: "message 0", 2: "message 1", 3: "message 2"}


def test_recorded_turns_are_listened_to() -> None:
    turns = [(said(n), Message("assistant", f"reply {n}", said(n).time)) for n in range(2)]

    async def work(agent: BoxAgent, line: Line) -> ExamReply:
        for turn in turns:
            await agent.listen(turn)
        return await examine(agent)

    with BoxServer() as server:
        _, line = play(server, work)
    assert [call.name for call in server.calls] == ["reset", "listen", "listen", "answer"]
    assert [call.body["turn"] for call in server.named("listen")] == [1, 2]
    assert line.ledger["assistant"].calls == 2 and line.ledger["exam"].calls == 1
    assert list(server.episodes.values()) == [{1: "message 0", 2: "message 1"}]


def test_two_runs_at_once_never_meet() -> None:
    async def work(agent: BoxAgent, line: Line) -> list[str]:
        replies = await talk(agent, 1)
        await asyncio.to_thread(play, server, lambda other, line: talk(other, 3))
        return replies + await talk(agent, 1, 1)

    with BoxServer() as server:
        assert play(server, work)[0][1] == "I see. You told me before: message 0"
    assert sorted(map(len, server.episodes.values())) == [2, 3]


@pytest.mark.parametrize("status", [400, 409])
def test_what_is_refused_for_good_is_an_error(status: int) -> None:
    with (
        BoxServer(lambda call: Fault(status) if call.name == "act" else None) as server,
        pytest.raises(AMemGymError, match=f"{server.url} says {status} to /act"),
    ):
        play(server, lambda agent, line: talk(agent, 1))


@pytest.mark.parametrize("path", ["agent.json", "bot.py:Main"])
def test_an_address_that_ends_like_a_file_is_an_address(path: str) -> None:
    url = f"http://localhost:9000/{path}"
    spec = make_spec({"agents": [url], "users": 1, "periods": 1, "upper_bound": False})
    (agent,) = spec.agent_specs(lambda sentence: None)
    assert agent.is_box and agent.name == f"http:localhost:9000/{path}"
    data = load_dataset(spec.data).limited(1, 1)
    manifest = make_manifest(
        spec, data, [agent], spec.model_settings(), spec.user_settings(), find_rules("amemgym", 1, 2)
    )
    assert manifest["settings"]["agents"] == [url], "a resume finds the assistant again"
