"""Off-policy runs: agents are given exactly what another run recorded, say nothing, and remember nothing else."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.agents import ConversationalAgent, ExamQuestion, ProbeQuestion
from amemgym.api import RunReport
from amemgym.env import DEFAULT, exam_of_period, probes_of_period
from amemgym.errors import AuthenticationFailed, EndpointUnavailable, RunDirectoryError, RunFailed, UsageError
from amemgym.evaluate import RunDirectory, read_recorded
from amemgym.evaluate.play import turns
from amemgym.llm import Request
from amemgym.memory import Item, Memory
from amemgym.messages import TIME_FORMAT, Message
from amemgym.scenario import load_dataset
from amemgym.tasks import FollowUp, Reply
from tests.evaluate.echo import Diary, answers, copied, echo, episodes, every_model, journaled, probed, until
from tests.support.models import Scripted

SMALL: dict[str, Any] = {"users": 2, "periods": 2, "upper_bound": False}
Said = tuple[str, str, str | None]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two assistants whose conversations differ, and two reference agents."""
    out = tmp_path_factory.mktemp("source") / "r"
    with pytest.MonkeyPatch.context() as patch:
        every_model(patch)
        amemgym.run("starter", "oracle,native,rag,uniform", out=out, **SMALL)
    return out


def off(source: Path, out: Path, agents: Any = "native,awe", **settings: Any) -> RunReport:
    return amemgym.run(agents=agents, off_policy=str(source), out=out, upper_bound=False, **settings)


def manifest(directory: Path) -> dict[str, Any]:
    return RunDirectory(directory).manifest()


def recorded(directory: Path, agent: str) -> list[list[Said]]:
    """Everything that was said with an agent, user by user and trial by trial."""
    return [
        [(m["role"], m["content"], m["time"]) for period in e.conversation for session in period for m in session]
        for e in episodes(directory, agent)
    ]


def listening(monkeypatch: pytest.MonkeyPatch) -> list[list[Said]]:
    """What each agent hears from now on, in the order in which they begin."""
    heard: dict[int, list[Said]] = {}
    kept: list[ConversationalAgent] = []  # so that no two have one id
    listen = ConversationalAgent.listen

    async def noted(self: ConversationalAgent, messages: Sequence[Message]) -> None:
        if id(self) not in heard:
            kept.append(self)
            found.append(heard.setdefault(id(self), []))
        times = [message.time.strftime(TIME_FORMAT) if message.time else None for message in messages]
        heard[id(self)] += [(m.role, m.content, time) for m, time in zip(messages, times, strict=True)]
        await listen(self, messages)

    found: list[list[Said]] = []
    monkeypatch.setattr(ConversationalAgent, "listen", noted)
    return found


# --- what agents are given ---


@pytest.mark.parametrize("agent", ["native", "rag"])
def test_agents_get_what_was_recorded_and_nothing_is_said(
    agent: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, provider = listening(monkeypatch), every_model(monkeypatch)
    report = off(source, tmp_path / "r", ["rag", Diary, "uniform"], off_policy_agent=agent, concurrency=1)
    said = recorded(source, agent)
    assert heard == [said[0], said[0], said[1], said[1]]
    assert all(len(talk) > 10 and {role for role, _, _ in talk} == {"user", "assistant"} for talk in said)
    assert all(time for talk in said for _, _, time in talk)
    assert not [request for request in provider.requests if isinstance(request.task, Reply | FollowUp)]
    assert {role for e in episodes(tmp_path / "r", "rag") for role in e.ledger} == {"exam", "probe"}
    assert recorded(tmp_path / "r", "rag") == recorded(tmp_path / "r", "Diary") == said
    assert (report["rag"]["n"], report["rag"]["user_calls"]) == (32, 0)
    assert report.scores["data"] == amemgym.score(source, write=False).scores["data"]


def test_the_two_recorded_conversations_differ(source: Path) -> None:
    """Else the test above could not tell whose conversation was heard."""
    assert recorded(source, "native") != recorded(source, "rag")


def test_turns_are_heard_one_by_one_at_their_places(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_model(monkeypatch)
    off(source, tmp_path / "r", "awe-2-0-5", users=1)
    places = [line["at"] for line in journaled(tmp_path / "r") if line["role"] == "memory write"]
    (talk,) = (e.conversation for e in episodes(source, "native")[:1])
    expected = [
        f"p{p}/s{s}/r{r}"
        for p, period in enumerate(talk)
        for s, session in enumerate(period)
        for r in range(len(turns(session)))
    ]
    assert [place for place, _ in itertools.groupby(places)] == expected


def test_fewer_users_and_periods_are_given_theirs(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_model(monkeypatch)
    report = off(source, tmp_path / "r", "native", users=1, periods=1)
    assert report["native"]["n"] == 8
    (whole, _), (part,) = episodes(source, "native"), episodes(tmp_path / "r", "native")
    assert part.conversation == whole.conversation[:1] != whole.conversation


def test_a_user_who_speaks_twice_begins_two_turns() -> None:
    said = [{"role": role} for role in ("assistant", "user", "user", "assistant", "assistant", "user", "assistant")]
    assert [[m["role"][0] for m in turn] for turn in turns(said)] == [["a"], ["u"], ["u", "a", "a"], ["u", "a"]]
    assert turns([]) == []


@pytest.mark.parametrize("agent", ["native", "rag", "awe", "awi"])
def test_over_its_own_conversation_an_agent_answers_as_it_did(agent: str, tmp_path: Path) -> None:
    amemgym.run("starter", agent, out=tmp_path / "on", **SMALL)
    off(tmp_path / "on", tmp_path / "off", agent)
    assert answers(tmp_path / "on", agent) == answers(tmp_path / "off", agent)
    assert probed(tmp_path / "on", agent) == probed(tmp_path / "off", agent)
    for on, heard in zip(episodes(tmp_path / "on", agent), episodes(tmp_path / "off", agent), strict=True):
        assert (on.conversation, on.holdings, on.texts) == (heard.conversation, heard.holdings, heard.texts)
        assert on.ledger.get("memory write", {}).get("calls") == heard.ledger.get("memory write", {}).get("calls")


class Nosy(Memory):
    """Tells what it is given."""

    written: list[str] = []
    asked: set[str] = set()

    def __init__(self) -> None:
        self.items: list[Item] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        type(self).written += [message.content for message in messages]
        self.items += [Item(message.content) for message in messages]

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        type(self).asked.add(query)
        return self.items[-k:]


def test_no_exam_and_no_probe_reaches_a_memory(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Nosy.written, Nosy.asked = [], set()
    every_model(monkeypatch)
    off(source, tmp_path / "r", [Nosy])
    said = {content for talk in recorded(source, "native") for _, content, _ in talk}
    assert Nosy.written and set(Nosy.written) <= said
    exams: list[ExamQuestion] = []
    probes: list[ProbeQuestion] = []
    for scenario in load_dataset("starter").limited(2, 2):
        for period in range(2):
            exams += [item.question for item in exam_of_period(scenario, period, DEFAULT, 0)]
            probes += [item.question for item in probes_of_period(scenario, period, DEFAULT, 0)]
    assert Nosy.asked == {question.query for question in [*exams, *probes]}
    options = {option for question in exams for option in question.options}
    values = {value for question in probes for known in question.variables.values() for value in known}
    for text in Nosy.written:
        assert not any(thing in text for thing in options | values)
    for query in Nosy.asked:
        assert not any(thing in query for thing in options | values)


# --- whose conversations ---


def test_the_first_assistant_that_has_conversations_is_taken(source: Path, tmp_path: Path) -> None:
    assert manifest(off(source, tmp_path / "r", "native").directory)["compared"]["off_policy"]["agent"] == "native"
    whole = load_dataset("starter").limited(2, 2)
    assert read_recorded(source, None, whole).agent == "native"
    without = copied(source, tmp_path / "without")
    (native,) = (path for path in (without / "episodes").iterdir() if path.name.startswith("native"))
    shutil.rmtree(native)
    assert read_recorded(without, None, whole).agent == "rag"
    with pytest.raises(UsageError, match="'native' has no whole conversation with user rosalind-okafor"):
        read_recorded(without, "native", whole)


def test_trials_are_given_the_recorded_ones_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = itertools.count()
    every_model(
        monkeypatch, lambda request: f"Reply {next(count)}." if isinstance(request.task, Reply) else echo(request)
    )
    amemgym.run("starter", "native", out=tmp_path / "on", trials=2, **SMALL)
    first = recorded(tmp_path / "on", "native")
    assert len(first) == 4 and first[0] != first[1]
    off(tmp_path / "on", tmp_path / "off", "rag", trials=3)
    heard = recorded(tmp_path / "off", "rag")
    assert heard == [first[0], first[1], first[0], first[2], first[3], first[2]]
    off(tmp_path / "on", tmp_path / "one", "rag")
    assert recorded(tmp_path / "one", "rag") == [first[0], first[2]]


# --- what is refused ---


def test_an_unfinished_source_is_refused_with_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = load_dataset("starter").scenarios[1]

    def answer(request: Request) -> str:
        if isinstance(request.task, Reply) and second.periods[0].sessions[0].query in request.messages[-1].content:
            raise EndpointUnavailable("It is busy.")
        return echo(request)

    every_model(monkeypatch, answer)
    with pytest.raises(RunFailed):
        amemgym.run("starter", "native", out=tmp_path / "on", attempts=1, **SMALL)
    every_model(monkeypatch)
    with pytest.raises(UsageError, match=rf"'native' has no whole conversation with user {second.id}") as caught:
        off(tmp_path / "on", tmp_path / "r", "native")
    assert "amemgym resume" in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "r").exists()
    assert off(tmp_path / "on", tmp_path / "r", "native", users=1)["native"]["n"] == 16
    amemgym.resume(tmp_path / "on")
    assert off(tmp_path / "on", tmp_path / "both", "native")["native"]["n"] == 32


def test_other_data_is_refused_with_both_hashes(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    amemgym.save_dataset(load_dataset("starter").scenarios[:2], other)
    hashes = [load_dataset(data).sha256 for data in (other, "starter")]
    with pytest.raises(UsageError) as caught:
        off(source, tmp_path / "r", "native", data=other)
    assert all(digest in str(caught.value) for digest in hashes)
    assert hashes[0] != hashes[1] and not (tmp_path / "r").exists()
    assert off(source, tmp_path / "r", "native", data="starter")["native"]["n"] == 32


def test_a_source_without_conversations_is_refused(source: Path, tmp_path: Path) -> None:
    amemgym.run("starter", "oracle,uniform", out=tmp_path / "on", **SMALL)
    refusals: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: off(tmp_path / "on", tmp_path / "r"), UsageError, "holds no finished conversation of an agent"),
        (lambda: off(tmp_path / "on", tmp_path / "r", off_policy_agent="oracle"), UsageError, "of no agent"),
        (lambda: off(source, tmp_path / "r", off_policy_agent="awe"), UsageError, "conversations of native, rag"),
        (lambda: off(source, tmp_path / "r", off_policy_agent="oracle"), UsageError, "conversations of native, rag"),
        (lambda: off(tmp_path / "nowhere", tmp_path / "r"), RunDirectoryError, "nowhere does not exist"),
        (lambda: off(source, tmp_path / "r", users=3), UsageError, "has 2 users"),
        (lambda: off(source, source), RunDirectoryError, "run with other settings"),
        (lambda: amemgym.run(off_policy_agent="native"), UsageError, "needs --off-policy"),
    ]
    for call, kind, said in refusals:
        with pytest.raises(kind, match=said):
            call()
    assert not (tmp_path / "r").exists()


def test_a_source_may_be_given_as_a_path(source: Path, tmp_path: Path) -> None:
    amemgym.run(agents="native", off_policy=source, out=tmp_path / "r", upper_bound=False)


# --- which run it is, and going on with it ---


def test_each_source_makes_another_run(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_model(
        monkeypatch,
        lambda request: f"Quite ({len(request.messages)})." if isinstance(request.task, Reply) else echo(request),
    )
    amemgym.run("starter", "native", out=tmp_path / "on", **SMALL)
    moved, again = copied(source, tmp_path / "moved"), copied(tmp_path / "on", tmp_path / "again")
    edited = next((again / "episodes").rglob("*.json"))
    edited.write_text(edited.read_text().replace("Quite (", "Rather (", 1))
    runs = {
        "on-policy": tmp_path / "on",
        "native": off(source, tmp_path / "a", "native").directory,
        "rag": off(source, tmp_path / "b", "native", off_policy_agent="rag").directory,
        "another": off(tmp_path / "on", tmp_path / "c", "native").directory,
        "edited": off(again, tmp_path / "d", "native").directory,
    }
    prints = {name: manifest(directory)["fingerprint"] for name, directory in runs.items()}
    assert len(set(prints.values())) == len(runs)
    assert manifest(off(moved, tmp_path / "e", "native").directory)["fingerprint"] == prints["native"]
    assert manifest(runs["on-policy"])["compared"]["off_policy"] is None
    assert manifest(runs["another"])["compared"]["off_policy"]["run"] == prints["on-policy"]
    with pytest.raises(RunDirectoryError, match=r"off_policy\.run is .* there, .* here"):
        off(tmp_path / "on", runs["native"], "native")


def test_an_interrupted_off_policy_run_ends_like_an_unbroken_one(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = every_model(monkeypatch)
    off(source, tmp_path / "whole", "native,awe")
    every_model(monkeypatch, until(90))
    with pytest.raises(AuthenticationFailed):
        off(source, tmp_path / "broken", "native,awe")
    kept = journaled(tmp_path / "broken")
    assert len(kept) == 90
    rest: Scripted = every_model(monkeypatch)
    report = amemgym.resume(tmp_path / "broken")
    assert len(rest.requests) == len(whole.requests) - 90
    assert (tmp_path / "whole" / "scores.json").read_bytes() == (tmp_path / "broken" / "scores.json").read_bytes()
    for agent in ("native", "awe"):
        assert answers(tmp_path / "whole", agent) == answers(tmp_path / "broken", agent)
        assert probed(tmp_path / "whole", agent) == probed(tmp_path / "broken", agent)
    shutil.rmtree(next(p for p in (tmp_path / "broken").iterdir() if p.name == "episodes"))
    assert amemgym.resume(tmp_path / "broken").scores == report.scores


def test_a_run_is_gone_on_with_from_elsewhere_and_without_the_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source is found again, and the data is the source's own."""
    every_model(monkeypatch)
    monkeypatch.chdir(tmp_path)
    amemgym.save_dataset(load_dataset("starter").scenarios[:2], tmp_path / "mine.json")
    amemgym.run("mine.json", "native", out="on", **SMALL)
    (tmp_path / "mine.json").unlink()
    scores = off(Path("on"), tmp_path / "r", "rag").scores
    shutil.rmtree(tmp_path / "r" / "episodes")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert amemgym.resume(tmp_path / "r").scores == scores
    assert scores["data"]["name"] == "mine"


def test_a_source_that_changed_is_not_gone_on_with(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_model(monkeypatch)
    mine = copied(source, tmp_path / "mine")
    off(mine, tmp_path / "r", "native")
    for path in (mine / "episodes").rglob("*.json"):
        value = json.loads(path.read_text())
        if value["agent"] == "native":
            value["conversation"][0][0][1]["content"] = "No."
            path.write_text(json.dumps(value))
    with pytest.raises(RunDirectoryError, match=r"cannot be continued.*off_policy\.conversations"):
        amemgym.resume(tmp_path / "r")
    shutil.rmtree(mine)
    with pytest.raises(RunDirectoryError, match="does not exist"):
        amemgym.resume(tmp_path / "r")
    assert amemgym.score(tmp_path / "r")["native"]["n"] == 32  # what is finished needs no source


def test_the_agent_named_is_the_one_who_spoke(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the conversations come by way of another that only listened."""
    every_model(monkeypatch)
    off(source, tmp_path / "once", "awe,rag", off_policy_agent="native")
    off(tmp_path / "once", tmp_path / "twice", "awe", off_policy_agent="rag")
    assert manifest(tmp_path / "twice")["compared"]["off_policy"]["agent"] == "native"
    assert recorded(tmp_path / "twice", "awe") == recorded(source, "native")


def test_the_agent_found_is_kept_for_a_resume(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first one's conversations back in the source, a resume still takes those it began with."""
    every_model(monkeypatch)
    place = tmp_path / "source"
    shutil.copytree(source, place)
    native = next((place / "episodes").glob("native-*"))
    native.rename(tmp_path / "native")
    off(place, tmp_path / "r", "awe")
    assert manifest(tmp_path / "r")["settings"]["off_policy_agent"] == "rag"
    (tmp_path / "native").rename(native)
    amemgym.resume(tmp_path / "r")
