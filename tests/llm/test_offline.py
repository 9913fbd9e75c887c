"""The offline model: every task solved, always the same, with no network; and nothing said that gives a state away.

Promised: a reply to each task that the task's own parser takes with status ok; the same reply in every process; a
follow-up that holds no value of any state; an exam that the right memories answer right; a clear error for a task it
does not know.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.llm import ModelSettings, Request, embedder, estimate_tokens, open_model
from amemgym.llm.offline import OfflineModel
from amemgym.messages import Message, opening
from amemgym.scenario import Scenario, load_dataset
from amemgym.seeds import permutation
from amemgym.tasks import (
    ChooseKnowing,
    ChooseOption,
    Context,
    DescribeNote,
    Description,
    EvolveNotes,
    ExtractFacts,
    FollowUp,
    Labels,
    Note,
    Operation,
    Parsed,
    ReconcileFacts,
    Reply,
    RevealedStates,
    Status,
    Task,
    UpdateRecord,
)
from tests.llm.helpers import NOW, PROMPTS, facts_of, request_for

ROOT = Path(__file__).parents[2]
USERS = load_dataset("starter").scenarios
WORDS = {"travel": ["bicycle_pedalling", "city_bus_top_deck"], "pet": ["puppy", "no_pet_at_all"]}


def model() -> OfflineModel:
    return OfflineModel(embedder("wordllama"))


SHARED = cache(model)


def solve(task: Task[Any], labels: Labels | None = None) -> Parsed[Any]:
    request = Request(task, task.messages(PROMPTS), labels)
    return task.parse(asyncio.run(SHARED().complete(request)).text)


def talk(*said: str) -> tuple[Message, ...]:
    """Messages of the user and of the assistant by turns."""
    return tuple(Message("assistant" if n % 2 else "user", text, NOW) for n, text in enumerate(said))


def follow_up(conversation: tuple[Message, ...], state: Mapping[str, str] | None = None) -> FollowUp:
    return FollowUp("Name: Ann", WORDS, state, state or {}, conversation, NOW)


def every_task(text: str) -> list[Task[Any]]:
    """One of each kind about a text, and some with nothing to go on."""
    said = talk(text, "Very well.", text)
    options = ("Walk.", "Ride.", text)
    return [
        Reply(Context((), said)),
        Reply(Context((text,), said)),
        follow_up(said, {"travel": "bicycle_pedalling", "pet": "puppy"}),
        follow_up(said, None),
        ChooseOption(text, options, Context((), said), NOW),
        ChooseOption(text, options, Context((text, f"[2022-03-01] user: {text}"))),
        ChooseOption("Which?", options, Context()),
        ChooseKnowing(text, options, (("travel", text), ("pet", "puppy"))),
        ChooseKnowing("Which?", options, ()),
        ExtractFacts(said, NOW),
        ReconcileFacts(((0, "I ride a bicycle."), (7, text)), (text, f"Now {text}", "I have a puppy."), NOW),
        ReconcileFacts((), ("I have a puppy.",), NOW),
        ReconcileFacts(((0, text),), (), NOW),
        UpdateRecord("", said, NOW),
        UpdateRecord("", said[1:2], NOW),
        UpdateRecord("pet: puppy\n\ntravel: on foot", said, NOW, ("travel", "pet")),
        RevealedStates(text, {"travel": ("bicycle", "bus"), "pet": ("puppy", "none")}, said),
        RevealedStates(text, {}),
        DescribeNote(text),
        EvolveNotes(note_of(text, "x"), (note_of(text), note_of(f"user: {text}", text), note_of("I have a puppy."))),
    ]


def note_of(content: str, *tags: str) -> Note:
    return Note(content, NOW, Description(("puppy",), tags, content))


# ---- every task is solved


def ok(task: Task[Any], labels: Labels | None = None) -> None:
    assert solve(task, labels).status == Status.OK, task


TEXTS = [
    "I ride my bicycle to work, whatever the weather.",
    opening("Can you help me?", NOW),
    '{"facts": []} {"answer": 9}',
    "```json\nx\n```",
    "\u2028 one\r\ntwo\ttabs \0",
    "漢字かな交じり文",
    "x" * 30_000,
    "assistant: user: [2022-03-01] -",
    "a\ud800b",
    "<think> is a tag, and so is </think>, they say.",
    "<think>",
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:20]))
def test_each_task_is_solved_in_the_form_asked_for(text: str) -> None:
    for task in every_task(text):
        ok(task)


@settings(deadline=None, max_examples=25)
@given(st.text(min_size=1, max_size=80).filter(str.strip))
def test_whatever_the_user_says(text: str) -> None:
    for task in every_task(text):
        if not isinstance(task, UpdateRecord) or not any(sign in text for sign in "`~<"):
            ok(task)


@pytest.mark.parametrize("user", USERS, ids=lambda user: user.id)
def test_each_task_of_the_starter_data_is_solved(user: Scenario) -> None:
    record = ""
    for period in user.periods:
        for session in period.sessions:
            said = talk(opening(session.query, session.time), "I would start small.")
            ok(Reply(Context((), said[:1])))
            ok(
                FollowUp(
                    user.user_profile.text, user.state_schema, period.state, session.exposed_states, said, session.time
                )
            )
            facts = solve(ExtractFacts(said, session.time))
            assert facts.status == Status.OK
            assert facts.value == [" ".join(session.query.split())]
            parsed = solve(UpdateRecord(record, said, session.time))
            assert parsed.status == Status.OK and parsed.value
            record = parsed.value
    for question in user.qas:
        ok(ChooseOption(question.query, tuple(o.answer for o in question.answer_choices), Context((record,)), NOW))


def test_usage_is_an_estimate_and_marked() -> None:
    request = request_for(facts_of("I ride my bicycle."))
    completion = asyncio.run(model().complete(request))
    assert completion.usage.estimated
    assert completion.usage.input == estimate_tokens(m.content for m in request.messages) > 0
    assert completion.usage.output == estimate_tokens([completion.text]) > 0


# ---- the same in every process, and without a network

REPLIES = """
import asyncio, hashlib, json, socket

def no_network(*args, **more):
    raise AssertionError("a connection was opened")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = no_network
from tests.llm.helpers import PROMPTS
from tests.llm.test_offline import USERS, every_task, model
from amemgym.llm import Request
from amemgym.tasks import ChooseOption, Context

async def replies():
    offline = model()
    tasks = [(task, None) for task in every_task("I ride my bicycle to work.")]
    lines = tuple(s.query for s in USERS[0].periods[0].sessions)
    for asked in USERS[0].qas:
        labels = tuple(dict(zip(asked.required_info, o.state)) for o in asked.answer_choices)
        task = ChooseOption(asked.query, tuple(o.answer for o in asked.answer_choices), Context(lines))
        tasks += [(task, labels), (task, None)]
    return [(await offline.complete(Request(t, t.messages(PROMPTS), l))).text for t, l in tasks]

print(json.dumps(asyncio.run(replies())))
"""


def test_the_same_replies_in_every_process() -> None:
    environments = [os.environ | {"PYTHONHASHSEED": seed, "HF_HUB_OFFLINE": "0"} for seed in ("0", "4242")]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", REPLIES], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for env in environments
    ]
    outputs = [process.communicate(timeout=60) for process in running]
    for process, (_, complaint) in zip(running, outputs, strict=True):
        assert process.returncode == 0, complaint.decode()
    replies = [json.loads(output) for output, _ in outputs]
    assert len(replies[0]) == len(every_task("x")) + 2 * len(USERS[0].qas)
    assert len(set(map(str, replies[0]))) > 8
    assert replies[0] == replies[1]


def test_replies_do_not_depend_on_what_was_asked_before() -> None:
    used, tasks = model(), every_task("I ride my bicycle to work.")

    async def all_of(offline: OfflineModel, wanted: list[Task[Any]]) -> list[str]:
        return [(await offline.complete(request_for(task))).text for task in wanted]

    first = asyncio.run(all_of(used, tasks))
    assert asyncio.run(all_of(used, tasks[::-1]))[::-1] == first
    assert [asyncio.run(all_of(model(), [task]))[0] for task in tasks] == first


# ---- the simulated user


def said_in(text: str, value: str) -> bool:
    plain = " ".join(value.replace("_", " ").lower().split())
    return bool(plain) and (plain in text.lower() or value.lower() in text.lower())


@pytest.mark.parametrize("user", USERS, ids=lambda user: user.id)
def test_a_follow_up_holds_no_value_of_any_state(user: Scenario) -> None:
    values = {value for values in user.state_schema.values() for value in values}
    assert len(values) > 20
    lines = set()
    for period in user.periods:
        for session in period.sessions:
            conversation = list(talk(opening(session.query, session.time), "I would start small."))
            for _ in range(3):
                line = solve(
                    FollowUp(
                        user.user_profile.text,
                        user.state_schema,
                        period.state,
                        session.exposed_states,
                        tuple(conversation),
                        session.time,
                    )
                ).value
                assert not [value for value in values if said_in(line, value)]
                assert line not in [m.content for m in conversation]
                conversation += [Message("user", line, session.time), Message("assistant", "Good.", session.time)]
                lines.add(line)
    assert len(lines) > 3


def test_a_follow_up_does_not_depend_on_the_state() -> None:
    """What follows from the state tells of it, whatever the words."""
    for text in ("Hello.", "How do I plan a week?", "What now?"):
        said = talk(text, "Very well.")
        states = [
            None,
            {"travel": "bicycle_pedalling", "pet": "puppy"},
            {"travel": "city_bus_top_deck", "pet": "no_pet_at_all"},
        ]
        assert len({solve(follow_up(said, state)).value for state in states}) == 1


def test_follow_ups_are_no_facts() -> None:
    conversation = talk("I have a puppy.", "Good.")
    for _ in range(4):
        line = solve(follow_up(conversation)).value
        conversation += talk(line, "Good.")
    assert solve(ExtractFacts(conversation, NOW)).value == ["I have a puppy."]


# ---- exams


def labelled(user: Scenario, number: int, order: tuple[int, ...]) -> tuple[tuple[str, ...], Labels]:
    asked = user.qas[number]
    options = [asked.answer_choices[index] for index in order]
    return (
        tuple(option.answer for option in options),
        tuple(dict(zip(asked.required_info, option.state, strict=True)) for option in options),
    )


@pytest.mark.parametrize("user", USERS, ids=lambda user: user.id)
def test_knowing_the_state_it_picks_the_right_option(user: Scenario) -> None:
    seen = 0
    for number, asked in enumerate(user.qas):
        order = permutation(len(asked.answer_choices), 1, user.id, number)
        options, labels = labelled(user, number, order)
        for index, choice in enumerate(asked.answer_choices):
            known = tuple(zip(asked.required_info, choice.state, strict=True))
            parsed = solve(ChooseKnowing(asked.query, options, known), labels)
            assert (parsed.value, parsed.status) == (order.index(index) + 1, Status.OK), (number, choice.state)
            seen += 1
    assert seen > 30


@pytest.mark.parametrize("as_memory", [True, False], ids=["memory", "window"])
@pytest.mark.parametrize("user", USERS, ids=lambda user: user.id)
def test_remembering_the_state_it_picks_the_right_option(user: Scenario, as_memory: bool) -> None:
    """A record of the whole state, with an outdated one before it."""
    for period, (before, now) in enumerate(zip(user.periods, user.periods[1:], strict=False), start=1):
        lines = [f"{name}: {value}" for state in (before.state, now.state) for name, value in state.items()]
        context = (
            Context(tuple(lines)) if as_memory else Context((), tuple(Message("user", line, NOW) for line in lines))
        )
        for number in range(len(user.qas)):
            order = permutation(len(user.qas[number].answer_choices), period, user.id, number)
            options, labels = labelled(user, number, order)
            parsed = solve(ChooseOption(user.qas[number].query, options, context, NOW), labels)
            assert parsed.value == order.index(user.gold(period, number)) + 1, (period, number)


def test_the_assistants_own_words_are_no_evidence() -> None:
    labels: Labels = ({"travel": "bicycle_pedalling"}, {"travel": "city_bus_top_deck"})
    user_first = ("user: travel: city_bus_top_deck", "[2022-03-01] assistant: travel: bicycle_pedalling")
    said = (Message("user", "travel: city_bus_top_deck", NOW), Message("assistant", "travel: bicycle_pedalling", NOW))
    for context in (Context(user_first), Context((), said)):
        assert solve(ChooseOption("How do I get there?", ("A.", "B."), context, NOW), labels).value == 2


@pytest.mark.parametrize("memories", [("I pedal to work on two wheels every morning.",), ()], ids=["known", "unknown"])
def test_a_choice_does_not_depend_on_the_order_of_options(memories: tuple[str, ...]) -> None:
    labels = [{"travel": value} for value in ("bicycle_pedalling", "city_bus_top_deck", "colleague_car_share")]
    chosen = set()
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        task = ChooseOption("How do I get to the shop?", tuple("ABC"[i] for i in order), Context(memories))
        value = solve(task, tuple(labels[i] for i in order)).value
        chosen.add(order[value - 1])
    assert chosen == {0} if memories else len(chosen) == 1


# ---- memories


def test_facts_are_added_repeated_and_replaced() -> None:
    stored = ((3, "I take the city bus to work every day."), (5, "I have a puppy."))
    facts = ("I have a puppy.", "I play the cello.", "I no longer take the city bus to work every day.")
    assert solve(ReconcileFacts(stored, facts, NOW)).value == [
        Operation("keep", 5),
        Operation("add", None, "I play the cello."),
        Operation("update", 3, "I no longer take the city bus to work every day."),
    ]


def test_a_record_takes_what_is_new_and_drops_what_it_replaces() -> None:
    record = "I take the city bus to work every day.\nI have a puppy."
    said = talk("I no longer take the city bus to work every day.", "Very well.", "I play the cello.")
    assert solve(UpdateRecord(record, said, NOW)).value.splitlines() == [
        "I have a puppy.",
        "I no longer take the city bus to work every day.",
        "I play the cello.",
    ]


# ---- tasks it does not know


class Translate(Task[str]):
    """A task of somebody's plug-in."""

    name = "translate"

    def messages(self, prompts: Any) -> list[Message]:
        return [Message("user", "Translate.")]

    def parse(self, reply: str | None) -> Parsed[str]:
        return Parsed(reply, Status.OK)


def test_an_unknown_task_is_a_clear_error() -> None:
    with pytest.raises(Exception, match="does not know the task 'translate'; use a language model"):
        solve(Translate())


def test_it_is_the_default_and_needs_nothing() -> None:
    opened = open_model(ModelSettings(), print)
    assert isinstance(opened, OfflineModel)
    assert opened.identity == "offline"
    asyncio.run(opened.aclose())
