"""A probe at the door: counted apart from exams, without labels; and as the offline model solves it.

Promised of the offline model: the same reply each time, one of the possible values for each variable, the one that
lines literally state where they do, and never another because values are shown in another order.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.agents import ConversationalAgent, ExamQuestion, Habits, ProbeQuestion
from amemgym.llm import Journal, Line, Request, at, embedder, probe_name, question_name
from amemgym.llm.offline import OfflineModel
from amemgym.memory import Memory
from amemgym.messages import Message, opening
from amemgym.tasks import ChooseOption, Context, ProbeStates, Reply, Status
from tests.llm.helpers import NOW, PROMPTS, request_for
from tests.support.models import Scripted, line_for, model_of, sensible, tools_of

TRAVEL = ("bicycle_pedalling", "city_bus_top_deck", "on_foot")
PET = ("puppy", "no_pet_at_all", "aquarium_fish")
LABELS = ({"travel": "on_foot"}, {"travel": "bicycle_pedalling"})


# --- the offline model ---

MODEL = cache(lambda: OfflineModel(embedder("wordllama")))


def solve(task: ProbeStates) -> dict[str, str | None]:
    """The reply, which is in the form asked for."""
    parsed = task.parse(asyncio.run(MODEL().complete(request_for(task))).text)
    assert parsed.status == Status.OK
    assert parsed.value is not None
    return parsed.value


def probe(*lines: str, memories: tuple[str, ...] = (), **variables: tuple[str, ...]) -> ProbeStates:
    said = tuple(Message("user", line, NOW) for line in lines)
    return ProbeStates(variables or {"travel": TRAVEL, "pet": PET}, Context(memories, said), NOW)


CONTEXTS = [
    probe(),
    probe("I ride my bicycle to work, whatever the weather.", "My puppy chews on shoes."),
    probe(opening("Where do I find fish food?", NOW), memories=("[2021-01-01] user: I sit upstairs in the bus.",)),
    probe(memories=("travel: on_foot\npet: puppy",)),
]


@pytest.mark.parametrize("task", CONTEXTS)
def test_the_reply_is_always_the_same(task: ProbeStates) -> None:
    replies = {asyncio.run(model.complete(request_for(task))).text for model in (MODEL(), MODEL())}
    replies.add(asyncio.run(OfflineModel(embedder("wordllama")).complete(request_for(task))).text)
    assert len(replies) == 1


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(WORDS, st.lists(WORDS, min_size=1, max_size=4, unique=True), min_size=1, max_size=3),
    st.lists(st.text(max_size=30), max_size=3),
)
def test_each_variable_gets_one_of_its_values(schema: dict[str, list[str]], lines: list[str]) -> None:
    said = tuple(Message("user", line, NOW) for line in lines)
    task = ProbeStates({name: tuple(values) for name, values in schema.items()}, Context((), said), NOW)
    found = json.loads(asyncio.run(MODEL().complete(request_for(task))).text)
    assert list(found) == list(schema)
    assert all(found[name] in values for name, values in schema.items())


@pytest.mark.parametrize("travel", TRAVEL)
@pytest.mark.parametrize("pet", PET)
@pytest.mark.parametrize("place", ["window", "memory", "record"])
def test_what_lines_literally_state_is_taken_at_its_word(travel: str, pet: str, place: str) -> None:
    before = ["I ride my bicycle to work.", "My puppy chews on shoes.", "We went by bus, upstairs."]
    stated = [f"travel: {travel}", f"pet: {pet}"]
    if place == "window":
        task = probe(*before, *stated)
    elif place == "memory":
        task = probe(memories=(*before, *stated))
    else:
        task = probe(memories=("\n".join([*before, *stated]),))
    assert solve(task) == {"travel": travel, "pet": pet}


def test_the_latest_statement_counts_and_the_assistant_s_none() -> None:
    stated = [f"travel: {value}" for value in TRAVEL]
    for lines in (stated, stated[::-1], [*stated, stated[0]]):
        assert solve(probe(*lines, travel=TRAVEL)) == {"travel": lines[-1].removeprefix("travel: ")}
    talk = (Message("user", stated[0], NOW), Message("assistant", stated[1], NOW))
    assert solve(ProbeStates({"travel": TRAVEL}, Context((), talk), NOW)) == {"travel": TRAVEL[0]}
    remembered = (f"user: {stated[0]}", f"assistant: {stated[1]}")
    assert solve(ProbeStates({"travel": TRAVEL}, Context(remembered), NOW)) == {"travel": TRAVEL[0]}


@pytest.mark.parametrize("task", CONTEXTS)
def test_the_order_in_which_values_are_shown_changes_nothing(task: ProbeStates) -> None:
    expected = solve(task)
    for turn in range(3):
        turned = {name: values[turn:] + values[:turn] for name, values in reversed(task.variables.items())}
        for order in (turned, {name: values[::-1] for name, values in turned.items()}):
            assert solve(ProbeStates(order, task.context, NOW)) == expected


def test_with_nothing_known_no_place_in_the_order_is_preferred() -> None:
    shown = [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]
    assert {solve(probe(thing=order))["thing"] for order in shown} == {solve(probe(thing=shown[0]))["thing"]}
    places = {solve(probe(**{f"thing_{n}": shown[0]}))[f"thing_{n}"] for n in range(20)}
    assert places == {"a", "b", "c"}


# --- the door ---


class Asking(Memory):
    """A memory that asks its model also when it is read."""

    def write(self, messages: object, now: object) -> None:
        return None

    async def read(self, query: str, now: object, k: int) -> list[str]:
        answer = await self.tools.model.ask(Reply(Context((), (Message("user", f"recall: {query}", NOW),))))
        return [answer.text]


QUESTION = ExamQuestion("How shall I travel?", ("Walk.", "Ride."), NOW)
PROBED = ProbeQuestion({"travel": TRAVEL}, NOW)


def talk_and_examine(provider: Scripted, line: Line) -> None:
    """Two rounds of conversation, then one question and two probes, each at its place."""

    async def play() -> None:
        tools = tools_of(provider, line)
        agent = ConversationalAgent(Habits(), Asking, tools, model_of(provider, "assistant", line))
        for number in range(2):
            with at(f"p0/s0/r{number}"):
                await agent.reply(Message("user", f"message {number}", NOW))
        copy = await agent.freeze()
        with at(question_name(0, 3), "exam", LABELS):
            await (await copy()).answer(QUESTION)
        for question in (3, 4):
            with at(probe_name(0, question), "probe", LABELS):  # labels that a probe must not have anyway
                await (await copy()).probe(PROBED)

    asyncio.run(play())


def test_probes_exams_and_conversation_are_counted_apart() -> None:
    line = line_for()
    talk_and_examine(Scripted(probing), line)
    assert {role: count.calls for role, count in line.ledger.items()} == {
        "assistant": 2,
        "exam": 1,
        "probe": 4,  # a memory that asks in a probe would not have asked without it
        "memory read": 3,
    }
    assert line.ledger["probe"].statuses == {Status.OK: 4}
    assert line.ledger["probe"].as_dict()["calls"] == 4


def test_a_probe_has_a_place_of_its_own_in_the_journal() -> None:
    journal = Journal(None)
    talk_and_examine(Scripted(probing), line_for(journal))
    places = {(address.place, address.role) for address in journal._entries}
    assert ("p0/q3/probe", "probe") in places
    assert ("p0/q4/probe", "probe") in places
    assert ("p0/q3", "exam") in places
    assert probe_name(2, 7) != question_name(2, 7)


def test_no_labels_come_with_a_probe() -> None:
    provider = Scripted(probing)
    talk_and_examine(provider, line_for())
    labels = {type(request.task): request.labels for request in provider.requests}
    assert labels[ChooseOption] == LABELS
    assert [labels[kind] for kind in (ProbeStates, Reply)] == [None, None]


def probing(request: Request) -> str:
    """A readable reply, to probes too."""
    if isinstance(request.task, ProbeStates):
        return json.dumps({name: values[0] for name, values in request.task.variables.items()})
    return sensible(request)


def test_an_unreadable_probe_is_counted_as_such() -> None:
    line = line_for()
    talk_and_examine(Scripted(lambda request: "Very well."), line)
    assert line.ledger["probe"].as_dict()["unreadable"]["invalid"] >= 2


def test_the_probe_is_asked_in_the_words_of_its_template() -> None:
    (message,) = (m for m in probe().messages(PROMPTS) if m.role == "user")
    assert "what is true of me at present" in message.content
