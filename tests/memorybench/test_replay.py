"""Replay: one memory hears the dialogs in an order by seed, copies answer the prompts, and no gold is seen by any."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amemgym.agents import ConversationalAgent, Habits
from amemgym.errors import (
    AuthenticationFailed,
    ContentFiltered,
    ContextOverflow,
    DataError,
    RequestRefused,
    RunDirectoryError,
    RunFailed,
    UnknownName,
    UsageError,
)
from amemgym.evaluate import RunWatcher, put_to_copy
from amemgym.llm import Request
from amemgym.memory import Item, Memory
from amemgym.memorybench import MemoryBenchResults, load_points, predict, remember, sessions
from amemgym.memorybench.dialogs.predicting import OFFLINE
from amemgym.memorybench.dialogs.replay import asked
from amemgym.tasks import Reply
from tests.cli.helpers import contents
from tests.evaluate.echo import Diary, echo, every_model, mark, until
from tests.evaluate.test_gateway import Lines
from tests.support.box import BoxServer
from tests.support.models import Scripted, model_of, tools_of
from tests.support.points import CANARY, chat, jsonl, point, trained

TRAIN = [*(trained(at, *(["like"] if at % 3 else ["dislike", "copy"])) for at in range(5)), trained(9, lang="zh")]
SYSTEM = [{"role": "system", "content": "Answer in one line."}, *chat("Is soup number 2 long?")]
TEST = [point(20, "How long is soup number 3?"), point(21, None, input_chat_messages=SYSTEM), point(22, "第9号汤呢？")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    jsonl(tmp_path / "data" / "train.jsonl", TRAIN)
    jsonl(tmp_path / "data" / "test.jsonl", TEST)
    return tmp_path / "data"


class Told(RunWatcher):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def said(self, sentence: str) -> None:
        self.sentences.append(sentence)


def predictions(root: Path, agent: str) -> list[dict[str, Any]]:
    """An agent's predict.json, found by our reader."""
    results = MemoryBenchResults.from_local(root)
    [entry] = [entry for entry in results.entries if entry.baseline == agent]
    found: list[dict[str, Any]] = results.load_predict(*entry.cell)
    return found


def results(root: Path) -> dict[str, bytes]:
    """The archive: all but the journals, which have seconds."""
    return {name: data for name, data in contents(root).items() if not name.startswith("journal/")}


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


# --- what goes wrong ---


def test_a_prompt_that_gets_no_reply_has_no_response(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {"20": ContextOverflow("It is too long."), "21": ContentFiltered("It is filtered."), "22": None}
    refused = [RequestRefused("It will not have that.")]

    def answer(request: Request) -> str:
        said = request.messages[-1].content
        if "number 3?" in said:
            raise wrong["20"]  # type: ignore[misc]
        if "number 2 long" in said:
            raise wrong["21"]  # type: ignore[misc]
        if "第9号汤呢" in said:
            if refused:
                raise refused.pop()
            return "<think>Hm.</think>"
        return echo(request)

    jsonl(data / "test.jsonl", [point(19, "Hello?"), *TEST])
    every_model(monkeypatch, answer)
    watcher = Told()
    report = predict(data, data, "rag", out=tmp_path / "out", watcher=watcher, concurrency=1)
    assert (report.groups[0].prompts, report.groups[0].missing) == (4, 3)
    found = predictions(tmp_path / "out", "rag")
    assert found[0]["response"].startswith("Indeed") and "error" not in found[0]
    assert [(one["response"], one["error"]) for one in found[1:]] == [
        (None, "It is too long."),
        (None, "It is filtered."),
        (None, "It will not have that."),
    ]
    [said] = [sentence for sentence in watcher.sentences if "no response" in sentence]
    assert "3 of 4 prompts" in said and "Kitchen 20: It is too long." in said
    predict(data, data, "rag", out=tmp_path / "out")  # what was refused may pass later, and is asked again
    again = predictions(tmp_path / "out", "rag")
    assert again[:3] == found[:3] and (again[3]["response"], "no text" in again[3]["error"]) == (None, True)


class Broken(Memory):
    def write(self, messages: Sequence[Any], now: datetime) -> None:
        raise OSError("the shelf fell down")

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []


def test_an_agent_that_fails_leaves_the_others(data: Path, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"agent 'Broken': .*the shelf fell down.*same command again") as raised:
        predict(data, data, ["rag", Broken], out=tmp_path / "out")
    assert [g.entry.baseline for g in raised.value.report.groups] == ["rag"]  # type: ignore[attr-defined]
    assert [e.baseline for e in MemoryBenchResults.from_local(tmp_path / "out").entries] == ["rag"]


def test_what_was_stopped_goes_on(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"agents": "rag,awe", "model": "offline"}
    whole = every_model(monkeypatch)
    predict(data, data, out=tmp_path / "whole", **how)
    for calls in (0, 2, len(whole.requests) - 2):
        stopped = every_model(monkeypatch, until(calls))
        with pytest.raises(AuthenticationFailed, match="same command again"):
            predict(data, data, out=tmp_path / f"after {calls}", **how)
        rest = every_model(monkeypatch)
        predict(data, data, out=tmp_path / f"after {calls}", **how)
        assert results(tmp_path / f"after {calls}") == results(tmp_path / "whole")
        assert calls + len(rest.requests) == len(whole.requests) and len(stopped.requests) > calls


def test_another_undertaking_is_not_mixed_in(data: Path, tmp_path: Path) -> None:
    predict(data, data, "rag", out=tmp_path / "out")
    with pytest.raises(RunDirectoryError, match=r"of other agents: agents is rag there, rag,awe here.*reads several"):
        predict(data, data, "rag,awe", out=tmp_path / "out")
    with pytest.raises(RunDirectoryError, match="seed is 42 there, 7 here"):
        predict(data, data, "rag", out=tmp_path / "out", seed=7)
    jsonl(data / "test.jsonl", TEST[:2])
    with pytest.raises(RunDirectoryError, match=r"answered\.prompts is 3 there, 2 here"):
        predict(data, data, "rag", out=tmp_path / "out")
    # what only the evaluation reads makes no other undertaking
    jsonl(data / "test.jsonl", [{**one, "info": {"golden_answer": "another"}} for one in TEST])
    predict(data, data, "rag", out=tmp_path / "out")


def test_lines_of_others_in_the_manifest_stay(data: Path, tmp_path: Path) -> None:
    predict(data, data, "rag", out=tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.jsonl"
    other = manifest.read_text().replace('"rag"', '"other"')
    manifest.write_text(other + manifest.read_text())
    predict(data, data, "rag", out=tmp_path / "out")
    assert [json.loads(line)["baseline"] for line in manifest.read_text().splitlines()] == ["rag", "other"]


class Rag(Diary):
    """Its name is another's but for the case; it fails where it is told to."""

    fails = True

    def write(self, messages: Sequence[Any], now: datetime) -> None:
        if Rag.fails:
            raise OSError("not yet")
        super().write(messages, now)


def test_an_agent_has_one_folder_whoever_finishes(data: Path, tmp_path: Path) -> None:
    manifest, lines = tmp_path / "out" / "manifest.jsonl", list[list[str]]()
    for Rag.fails in (True, False, True):
        if Rag.fails:
            with pytest.raises(RunFailed):
                predict(data, data, [Rag, "rag"], out=tmp_path / "out")
        else:
            predict(data, data, [Rag, "rag"], out=tmp_path / "out")
        lines.append(manifest.read_text().splitlines())
    assert [[json.loads(line)["baseline"] for line in one] for one in lines] == [
        ["rag"],
        ["Rag", "rag"],
        ["Rag", "rag"],
    ]
    assert lines[0] == lines[1][1:] and lines[2] == lines[1], "what was finished before stays"


def test_names_are_such_as_readers_take(data: Path, tmp_path: Path) -> None:
    own = type("Own\x07", (Diary,), {})
    predict(data, data, own, out=tmp_path / "out", set_name="Home\n\x1b[1m")
    archive = MemoryBenchResults.from_local(tmp_path / "out")
    assert [entry.cell[3:] for entry in archive.entries] == [("Home\ufffd\ufffd[1m", "Own\ufffd")]
    assert not archive.problems
    with pytest.raises(UsageError, match="two agents would both be"):
        predict(data, data, [own, type("Own\x08", (Diary,), {})], out=tmp_path / "two")


@pytest.mark.parametrize(
    ("agents", "said"),
    [
        ("uniform", "only chooses among an exam's options"),
        ("rag,awi-schema", "there is no scenario; take awi"),
        ("raag", "Did you mean 'rag'"),
        ("rag,rag", "rag twice"),
        ("", "name is empty"),
    ],
)
def test_agents_that_cannot_predict(data: Path, tmp_path: Path, agents: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        predict(data, data, agents, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_data_sets_make_a_set_with_a_name(data: Path, tmp_path: Path) -> None:
    jsonl(data / "train.jsonl", [*TRAIN, trained(1, dataset="Locomo-1")])
    jsonl(data / "test.jsonl", [*TEST, point(20, "Hm?", dataset_name="Locomo-1"), trained(1)])
    with pytest.raises(UsageError, match=r"2 data sets \(Kitchen, Locomo-1\); .*--set-name"):
        predict(data, data, "rag", out=tmp_path / "out")
    with pytest.raises(UsageError, match="--dataset-type"):
        predict(data, data, "rag", out=tmp_path / "out", set_name="Home", dataset_type="single")
    with pytest.raises(UnknownName, match="type of set"):
        predict(data, data, "rag", out=tmp_path / "out", set_name="Home", dataset_type="domian")
    watcher = Told()
    report = predict(
        data, data, "rag", out=tmp_path / "out", set_name="Home & Co", dataset_type="domain", watcher=watcher
    )
    assert report.groups[0].entry.cell[2:] == ("domain", "Home & Co", "rag") and report.sessions == 7
    found = predictions(tmp_path / "out", "rag")
    assert [(one["dataset"], one["test_idx"]) for one in found][3:] == [("Locomo-1", 20), ("Kitchen", 1)]
    said = "\n".join(watcher.sentences)
    assert "1 of the test prompts is among the dialogs" in said and "Locomo-1 are about a corpus" in said


def test_the_prompts_are_in_the_datas_language(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(data / "test.jsonl", [point(1, "第9号汤呢？", lang="zh")])
    provider = every_model(monkeypatch)
    predict(data, data, "rag", out=tmp_path / "zh")
    assert "私人助理" in provider.requests[-1].messages[0].content
    predict(data, data, "rag", out=tmp_path / "en", language="en")
    assert "personal assistant" in provider.requests[-1].messages[0].content
