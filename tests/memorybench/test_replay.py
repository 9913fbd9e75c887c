"""Replay: one memory hears the dialogs in an order by seed, copies answer the prompts, and no gold is seen by any."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amemgym.agents import ConversationalAgent, Habits
from amemgym.errors import (
    DataError,
    UnknownName,
)
from amemgym.evaluate import put_to_copy
from amemgym.memory import Item
from amemgym.memorybench import MemoryBenchResults, load_points, predict, remember, sessions
from amemgym.memorybench.dialogs.predicting import OFFLINE
from amemgym.memorybench.dialogs.replay import asked
from amemgym.tasks import Reply
from tests.cli.helpers import contents
from tests.evaluate.echo import Diary, echo, every_model, mark
from tests.evaluate.test_gateway import Lines
from tests.memorybench.replaying import SYSTEM, TEST, TRAIN, Told, predictions, results
from tests.support.box import BoxServer
from tests.support.models import Scripted, model_of, tools_of
from tests.support.points import CANARY, chat, jsonl, point, trained

# --- sessions ---


def test_sessions_are_in_an_order_by_seed_a_day_apart() -> None:
    points = load_points_of(TRAIN)
    first, again, other = sessions(points), sessions(reversed(points)), sessions(points, seed=1)
    assert first == again, "the order the points come in is none of the draw"
    assert [s.key for s in first] != [s.key for s in other]
    assert {s.key for s in first} == {s.key for s in other} == {p.key for p in points}
    assert [s.time - first[0].time for s in first] == [timedelta(days=day) for day in range(6)]
    assert all(message.time == session.time for session in first for turn in session.turns for message in turn)
    assert sessions(points, start=datetime(2020, 10, 1))[0].time == datetime(2020, 10, 1)


def test_sessions_with_actions() -> None:
    points = load_points_of(TRAIN)
    assert {s.key.test_idx for s in sessions(points, actions=["copy"])} == {0, 3}
    assert {s.key.test_idx for s in sessions(points, actions=["copy", "like"])} == set(range(5))
    with pytest.raises(UnknownName, match=r"'lik'\. Did you mean 'like'\? Known: copy, dislike, like"):
        sessions(points, actions=["lik"])
    for nothing in (dict(points=[]), dict(points=load_points_of(TEST)), dict(points=points, actions=[])):
        with pytest.raises(DataError):
            sessions(**nothing)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no dialog has an action"):
        sessions(load_points_of([trained(1)]), actions=["like"])


def load_points_of(records: list[dict[str, Any]]) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return load_points(jsonl(Path(folder) / "p.jsonl", records)).points


# --- remembering and answering ---


def test_the_memory_holds_the_dialogs_and_answering_changes_nothing() -> None:
    made: list[Diary] = []

    def make() -> Diary:
        made.append(Diary())
        return made[-1]

    async def play() -> tuple[list[str], list[str], list[Any]]:
        provider = Scripted(echo)
        agent = ConversationalAgent(Habits(2, 0, 3), make, tools_of(provider), model_of(provider))
        heard = sessions(load_points_of(TRAIN))
        await remember(agent, heard)
        before = [item.text for item in made[0].items]
        copy = await agent.freeze()
        prompts = [asked(p, heard[-1].time) for p in load_points_of(TEST)] * 2
        replies = [await put_to_copy(copy, lambda one, p=prompt: one.respond(p)) for prompt in prompts]
        assert before == [message.content for s in heard for turn in s.turns for message in turn]
        return before, [item.text for item in made[0].items], replies

    before, after, replies = asyncio.run(play())
    assert len(before) == 4 * len(TRAIN) and before == after
    assert replies[:3] == replies[3:] and len({reply.text for reply in replies}) == 3
    assert all([item.text for item in reply.items] == before[-3:] for reply in replies)


def test_a_system_message_opens_the_users(data: Path) -> None:
    points = load_points_of(TEST)
    [only] = asked(points[1], datetime(2024, 1, 1))
    assert (only.role, only.content) == ("user", "Answer in one line.\n\nIs soup number 2 long?")
    more = point(1, None, input_chat_messages=[*chat("A?", "B."), *SYSTEM])
    found = asked(load_points_of([more])[0], datetime(2024, 1, 1))
    assert [m.content for m in found] == ["A?", "B.", "Answer in one line.\n\nIs soup number 2 long?"]


@pytest.mark.parametrize("agents", ["rag-2-0,bm25_dialog-2-0,awe", "awi,a_mem,native,wo_memory"])
def test_predictions_of_agents(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: str) -> None:
    provider = every_model(monkeypatch)
    report = predict(data, data, agents, "openai:m", base_url="http://localhost:1", out=tmp_path / "out")
    assert [g.entry.baseline for g in report.groups] == agents.split(",")
    assert all((g.prompts, g.missing) == (3, 0) for g in report.groups)
    replies = {mark(request): request for request in provider.requests if isinstance(request.task, Reply)}
    for agent in agents.split(","):
        found = predictions(tmp_path / "out", agent)
        assert [(one["test_idx"], one["dataset"], one["messages"]) for one in found] == [
            (20, "Kitchen", chat("How long is soup number 3?")),
            (21, "Kitchen", SYSTEM),
            (22, "Kitchen", chat("第9号汤呢？")),
        ]
        for one in found:
            request = replies[re.findall(r"\w{8}", one["response"].removeprefix("Indeed "))[0]]
            assert all(memory in request.messages[0].content for memory in one["retrieved_memories"])
    cells = {entry.cell for entry in MemoryBenchResults.from_local(tmp_path / "out").entries}
    assert {cell[:4] for cell in cells} == {("off-policy", "openai:m", "single", "Kitchen")}


@pytest.mark.parametrize(
    ("agent", "sessions_heard", "window"),
    [("wo_memory", 0, 0), ("wo_memory-2-4", 0, 0), (Diary, 6, 0), ("native", 6, 24), ("recent-2-4", 6, 4)],
)
def test_a_prompt_is_a_new_conversation(
    agent: Any, sessions_heard: int, window: int, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left in a window is in the memory by then; only who has no other memory keeps the window."""
    provider = every_model(monkeypatch)
    [group] = predict(data, data, agent, out=tmp_path / "out").groups
    asked_for = [request.messages[1:] for request in provider.requests if isinstance(request.task, Reply)]
    assert (group.sessions, [len(said) - 1 for said in asked_for]) == (sessions_heard, [window] * 3)
    found = predictions(tmp_path / "out", group.entry.baseline)
    last = sessions(load_points(data, split="train").points)[-1].turns[-1]
    for one in found:
        told = [text.partition("] ")[2] for text in one["retrieved_memories"]]
        assert told[-2:] == ([message.content for message in last] if agent is Diary else [])


def test_a_memory_is_searched_by_the_users_words(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider, queries = every_model(monkeypatch), list[str]()

    class Searched(Diary):
        def read(self, query: str, now: datetime, k: int) -> list[Item]:
            queries.append(query)
            return []

    predict(data, data, Searched, out=tmp_path / "out")
    assert sorted(queries) == sorted([TEST[0]["input_prompt"], SYSTEM[1]["content"], TEST[2]["input_prompt"]])
    assert any("Answer in one line." in repr(request.messages) for request in provider.requests)


def test_a_context_that_is_cut_for_a_prompt_is_told(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "soup words here " * 700
    jsonl(data / "train.jsonl", [trained(1) | {"dialog": chat("Hm?", long)}])
    jsonl(data / "test.jsonl", [point(1, long), point(2, "Short?")])
    every_model(monkeypatch)
    watcher = Told()
    [group] = predict(data, data, "native", out=tmp_path / "out", context_tokens=8192, watcher=watcher).groups
    assert (group.prompts, group.missing, group.cut) == (2, 0, 1)
    assert [one.get("dropped") for one in predictions(tmp_path / "out", "native")] == [2, None]
    assert any("for 1 of 2 prompts its context had no room" in sentence for sentence in watcher.sentences)


def test_the_offline_model_is_told(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model, warnings in (("offline", [OFFLINE]), ("openai:m", [])):
        watcher = Told()
        if model != "offline":
            every_model(monkeypatch)
        url = {} if model == "offline" else {"base_url": "http://localhost:1"}
        predict(data, data, "bm25_dialog", model, out=tmp_path / model, watcher=watcher, **url)
        archive = MemoryBenchResults.from_local(tmp_path / model)
        assert archive.run_config(archive.entries[0].cell)["amemgym"]["warnings"] == warnings
        assert [sentence for sentence in watcher.sentences if "offline" in sentence] == warnings


def test_what_is_found_is_what_was_said_of_it(data: Path, tmp_path: Path) -> None:
    predict(data, data, ["bm25_dialog-2-0-1"], out=tmp_path / "out")
    found = predictions(tmp_path / "out", "bm25_dialog-2-0-1")
    assert [re.findall(r"Soup number (\d)|第(\d)号汤怎么煮", one["retrieved_memories"][0]) for one in found] == [
        [("3", "")],
        [("2", "")],
        [("", "9")],
    ]


def test_gold_is_nowhere(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(data / "train.jsonl", [{**one, "info": json.dumps(one["info"])} for one in TRAIN])
    provider, watcher = every_model(monkeypatch), Told()
    report = predict(data, data, "rag,awe,awi,bm25_dialog,native", out=tmp_path / "out", watcher=watcher)
    assert provider.requests and report.groups
    for request in provider.requests:
        assert CANARY not in repr(request.messages) and CANARY not in repr(request.task)
    assert all(CANARY.encode() not in data for data in contents(tmp_path / "out").values())
    assert CANARY not in repr(watcher.sentences) + repr(report)
    assert CANARY not in repr(load_points(data))


class Counted(Diary):
    """Counts the copies there are at once, in `most`."""

    copies, most = 0, 0

    def restore(self, snapshot: Any) -> None:
        super().restore(snapshot)
        Counted.copies += 1
        Counted.most = max(Counted.most, Counted.copies)

    def close(self) -> None:
        Counted.copies -= 1


def test_no_more_copies_than_calls_at_once(data: Path, tmp_path: Path) -> None:
    jsonl(data / "test.jsonl", [point(at, f"Number {at}?") for at in range(20)])
    predict(data, data, Counted, out=tmp_path / "out", concurrency=3)
    assert Counted.most == 3, "each copy holds a whole memory"
    assert [one["test_idx"] for one in predictions(tmp_path / "out", "Counted")] == list(range(20))


class Server(Lines):
    """A memory system that calls a model by itself."""


def test_a_memory_system_that_calls_a_model_itself(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = every_model(monkeypatch)
    report = predict(data, data, Server, out=tmp_path / "out")
    assert report.groups[0].missing == 0 and any(request.task.name == "chat" for request in provider.requests)
    assert all(one["retrieved_memories"] for one in predictions(tmp_path / "out", "Server"))
    count = len(provider.requests)
    before = results(tmp_path / "out")
    predict(data, data, Server, out=tmp_path / "out")
    assert len(provider.requests) == count and results(tmp_path / "out") == before


def test_an_assistant_at_an_address(data: Path, tmp_path: Path) -> None:
    jsonl(data / "test.jsonl", [*TEST, point(23, None, input_chat_messages=chat("A?", "B.", "C?"))])
    with BoxServer() as server:
        report = predict(data, data, server.url, out=tmp_path / "out")
        [agent] = [group.entry.baseline for group in report.groups]
        found = predictions(tmp_path / "out", agent)
        heard = [call for call in server.calls if call.name == "listen"]
        answered = [call.body["message"] for call in server.calls if call.name == "answer"]
    assert len(heard) == 2 * len(TRAIN) and CANARY not in repr(server.calls)
    assert sorted(answered) == sorted(
        [TEST[0]["input_prompt"], "Answer in one line.\n\nIs soup number 2 long?", "第9号汤呢？"]
    )
    assert all(one["response"] for one in found[:3])
    assert found[3]["response"] is None and "asked one message" in found[3]["error"]
