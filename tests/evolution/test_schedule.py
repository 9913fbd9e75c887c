"""When a policy holds: a period is played and examined by what was learned before it, by users of any number of
periods, however few calls may be under way; and a user whose model fails stops it all, to be resumed."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from amemgym.agents import ConversationalAgent, ExamQuestion, Habits
from amemgym.errors import AgentFailed, EndpointUnavailable, UsageError
from amemgym.evolving import EvolveReport, resume_evolution
from amemgym.llm import Completion, Request
from amemgym.memory import find_memory
from amemgym.messages import Message
from amemgym.tasks import ChooseOption, UpdateRecord
from tests.evolution.people import Learner, evolved, people, person, scenarios, sides
from tests.llm.helpers import NOW
from tests.support.models import Scripted, model_of, tools_of

#: periods of each user, so that the held-out ones have fewer and more than the training ones
PERIODS = {"Ann": 3, "Ben": 3, "Cleo": 3, "Dora": 3, "Egon": 3, "Fay": 3}
LENGTHS = ([1, 3, 2], [1, 2, 4])


@dataclass(frozen=True)
class Played:
    report: EvolveReport
    model: Learner
    data: Path
    training: list[str]
    held_out: list[str]


@pytest.fixture(scope="module")
def monkey() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def unequal(path: Path) -> tuple[Path, list[str], list[str]]:
    """Data whose users have the periods of LENGTHS, by their side."""
    sided = sides(people(path, [person(name, 1) for name in PERIODS]))
    lengths = zip([*sided[0], *sided[1]], [*LENGTHS[0], *LENGTHS[1]], strict=True)
    periods = dict(lengths)
    return people(path, [person(name, periods[name]) for name in PERIODS]), *sided


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, monkey: pytest.MonkeyPatch) -> Played:
    """With one call under way at a time, and more users than that."""
    folder, model = tmp_path_factory.mktemp("unequal"), Learner()
    data, training, held_out = unequal(folder / "data.json")
    return Played(evolved(model, monkey, data, folder / "out", concurrency=1), model, data, training, held_out)


def written(played: Played) -> dict[tuple[str, int], set[str]]:
    """By user and period, the policies that its records were written by (the default policy is "")."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for place, request in played.model.places:
        if isinstance(request.task, UpdateRecord):
            [name] = set(re.findall(r"This is (\w+) in", request.task.conversation[0].content))
            found[name, int(place[1])].add(request.task.policy)
    return found


def test_each_period_is_played_by_what_was_learned_before_it(played: Played) -> None:
    found = written(played)
    start = played.report.summary["arms"]["awi-2-0+complete"]["start"]
    kinds = ("question", "complete")
    for name, length in zip(played.training, LENGTHS[0], strict=True):
        for period in range(length):
            learned = {f"{kind} version {period}" for kind in kinds} if period else {start}
            assert found[name, period] == {"", *learned}
        assert (name, length) not in found
    for name, length in zip(played.held_out, LENGTHS[1], strict=True):
        for period in range(length):
            # who has more periods than were learned from goes on by the last
            learned = {f"{kind} version {period}" for kind in kinds} if period else {start}
            assert found[name, period] == {"", *learned, *(f"{kind} version 3" for kind in kinds)}


def test_an_exam_sees_what_was_written_by_its_own_period_s_policy(played: Played) -> None:
    seen = defaultdict(set)
    for place, request in played.model.places:
        if isinstance(request.task, ChooseOption):
            [lines] = request.task.context.memories
            told, heard = re.findall(r"told: (.*)\nheard: (?:.*\n)*This is (\w+) in period (\d)", lines)[0], lines
            assert place.startswith(f"p{told[2]}/"), heard
            seen[told[1], int(told[2])].add(told[0])
    assert dict(seen) == dict(written(played))


def test_the_history_has_a_step_for_each_period_of_the_longest(played: Played) -> None:
    for kind in ("question", "complete"):
        arm = played.report.summary["arms"][f"awi-2-0+{kind}"]
        assert [step["period"] for step in arm["revisions"]] == [0, 1, 2]
        assert [step["policy"] for step in arm["revisions"]] == [f"{kind} version {n}" for n in (1, 2, 3)]
        assert [step["users"] for step in arm["revisions"]] == [3, 2, 1]
        [history] = played.report.directory.glob(f"policies/*{kind}*.json")
        assert [set(step) for step in json.loads(history.read_text())["revisions"]] == [
            {"period", "outcome", "policy", "questions", "users", "refused"}
        ] * 3
        [text] = played.report.directory.glob(f"policies/*{kind}*.txt")
        assert text.read_text() == f"{kind} version 3\n"


class Silent(Learner):
    """It has nothing to answer with: who asks it has a journal, or fails."""

    async def complete(self, request: Request) -> Completion:
        raise AssertionError(f"asked anew: {request.task.name}")


def test_a_replay_asks_nothing_and_ends_alike(played: Played, monkey: pytest.MonkeyPatch) -> None:
    """Also where a user with fewer periods is played again beside those that are finished."""
    before = files(played.report.directory)
    short = played.training[LENGTHS[0].index(1)]
    long, at = played.training[LENGTHS[0].index(3)], played.report.directory / "training/episodes"
    for episode in [*at.glob(f"*/{short}-id*.json"), *at.glob(f"*complete*/{long}-id*.json")]:
        episode.unlink()
    for name in ("evolution.json", "training/scores.json"):
        (played.report.directory / name).unlink()
    monkey.setattr("amemgym.llm.doors.open_model", lambda settings, say: Silent())
    again = resume_evolution(played.report.directory)
    assert again.summary == played.report.summary
    assert files(played.report.directory) == before


def files(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


class Failing(Learner):
    """No answer for one user in one period."""

    def __init__(self, user: str, period: int) -> None:
        super().__init__()
        self.user, self.period = user, period

    async def complete(self, request: Request) -> Completion:
        if f"This is {self.user} in period {self.period}" in str(request.messages):
            raise EndpointUnavailable("nobody answers")
        return await super().complete(request)


@pytest.mark.parametrize("side", ["training", "held_out"])
def test_a_user_whose_model_fails_stops_it_and_resume_finishes_it(
    side: str, played: Played, tmp_path: Path, monkey: pytest.MonkeyPatch
) -> None:
    user = {"training": played.training[1], "held_out": played.held_out[2]}[side]
    out = tmp_path / "an evolution"
    with pytest.raises(Exception, match=rf"amemgym resume '{out}'$") as caught:
        evolved(Failing(user, 1), monkey, played.data, out, attempts=1)
    assert "\n" not in str(caught.value) and "nobody answers" in str(caught.value)
    assert not (out / "evolution.json").exists() and bool([*out.glob("policies/*")]) is (side == "held_out")
    model = Learner()
    monkey.setattr("amemgym.llm.doors.open_model", lambda settings, say: model)
    monkey.chdir(tmp_path)
    resume_evolution("an evolution")
    assert (out / "evolution.json").read_bytes() == (played.report.directory / "evolution.json").read_bytes()
    for path in played.report.directory.glob("policies/*"):
        assert (out / "policies" / path.name).read_bytes() == path.read_bytes()
    assert len(model.requests) < len(played.model.requests)


def test_a_model_whose_code_raises_is_told_in_a_sentence_with_the_way_on(
    tmp_path: Path, monkey: pytest.MonkeyPatch
) -> None:
    def broken(task: object) -> str:
        raise RuntimeError("no mood")

    data, out = people(tmp_path / "data.json", [person(name, 2) for name in ("Ann", "Ben")]), tmp_path / "out"
    with pytest.raises(AgentFailed, match=rf"agent 'awi-2-0\+question', user 0: .*no mood.*amemgym resume {out}$"):
        evolved(Learner(broken), monkey, data, out, feedback="question")


def test_a_data_set_that_is_loaded_already_is_taken(tmp_path: Path, monkey: pytest.MonkeyPatch) -> None:
    data = scenarios(people(tmp_path / "data.json", [person(name, 1) for name in ("Ann", "Ben")]))
    report = evolved(Learner(), monkey, data, tmp_path / "out", feedback="question")
    assert report.summary["data"]["sha256"] == data.sha256
    with pytest.raises(UsageError, match="in no file"):
        evolved(Learner(), monkey, replace(data, path=None), tmp_path / "other")


def test_a_copy_for_an_exam_keeps_the_policy_it_was_frozen_with() -> None:
    """While the next period, which has another, goes on beside it."""
    asked: list[str] = []

    async def play() -> None:
        provider = Scripted()
        kind = find_memory("vector")

        class Noting(kind):  # type: ignore[misc, valid-type]
            def read(self, query: str, now: Any, k: int) -> Any:
                asked.append(self.tools.policy)
                return super().read(query, now, k)

        agent = ConversationalAgent(Habits(2, 0), Noting, tools_of(provider), model_of(provider))
        agent.adopt("old $query")
        await agent.reply(Message("user", "I moved to the sea.", NOW))
        asked.clear()
        copy = await agent.freeze()
        agent.adopt("new $query")
        await (await copy()).answer(ExamQuestion("Where?", ("Here.", "There."), NOW))
        await agent.reply(Message("user", "And now?", NOW))
        await (await (await agent.freeze())()).answer(ExamQuestion("Where?", ("Here.", "There."), NOW))

    asyncio.run(play())
    assert asked == ["old $query", "new $query", "new $query"]


@pytest.mark.parametrize("fewer", [0, 1], ids=["training", "held out"])
def test_a_side_may_have_fewer_periods_than_are_wanted(fewer: int, tmp_path: Path, monkey: pytest.MonkeyPatch) -> None:
    names = ("Ann", "Ben")
    sided = sides(people(tmp_path / "data.json", [person(name, 1) for name in names]))
    data = people(tmp_path / "data.json", [person(name, 2 if name in sided[fewer] else 4) for name in names])
    report = evolved(Learner(), monkey, data, tmp_path / "out", feedback="question", periods=3)
    arm = report.summary["arms"]["awi-2-0+question"]
    assert [len(arm[part]["by_period"]) for part in ("training", "held_out")] == ([3, 2] if fewer else [2, 3])


def test_a_period_without_a_session_is_examined_by_its_own_policy(tmp_path: Path, monkey: pytest.MonkeyPatch) -> None:
    users = [person(name, 3) for name in ("Ann", "Ben")]
    for user in users:
        for stretch in user["periods"][1:]:
            stretch["sessions"], stretch["updates"] = [], {}
            stretch["state"] = user["periods"][0]["state"]
    queries: list[str] = []
    read = find_memory("vector").read

    def noted(self: Any, query: str, now: Any, k: int) -> Any:
        queries.append(self.tools.policy)
        return read(self, query, now, k)

    monkey.setattr(find_memory("vector"), "read", noted)
    model = Learner(lambda task: json.dumps({"policy": f"{task.policy}!"}))
    evolved(
        model, monkey, people(tmp_path / "data.json", users), tmp_path / "out", agent="rag-2-0", feedback="question"
    )
    training = queries[: queries.index("$query!!!")]
    assert {"", "$query", "$query!", "$query!!"} == set(training)
