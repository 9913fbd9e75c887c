"""Generation's tasks: every language's prompts can be filled, replies are read or refused, and a second request tells
what was wrong with the first."""

from __future__ import annotations

import json
from dataclasses import replace
from string import Template
from typing import Any

import pytest

from amemgym.tasks import (
    ChooseState,
    ChooseUpdates,
    DraftQuestion,
    ExplainUpdates,
    LifeEvent,
    ListTopics,
    MakeQuestions,
    Merged,
    MergeSchema,
    Merging,
    StageTask,
    Status,
    Telling,
    Updates,
    WriteAboutOther,
    WriteAnswers,
    WriteDistractor,
    WriteUtterance,
    prompts_for,
)
from amemgym.tasks.prompts import FOLDER

SCHEMA = {"work_mode": ("home", "office"), "tea": ("green", "black")}
DRAFTS = (DraftQuestion("How?", {"work_mode": ("home", "office"), "tea": ("green", "black")}),)
TELL = (Telling("work_mode", "office", "lasting", "home"),)
TASKS: list[StageTask[Any]] = [
    MakeQuestions(profile="Ada $ {x}", count=2, states=2, values=2, earlier=("Why?",)),
    MergeSchema(questions=DRAFTS, values=2),
    ChooseState(profile="Ada", schema=SCHEMA),
    ChooseUpdates(
        profile="Ada",
        schema=SCHEMA,
        state={"work_mode": "home", "tea": "black"},
        changeable=("work_mode",),
        reverting={"tea": "green"},
        count=1,
        span="2020-10-01 – 2021-01-01",
        before=("It was quiet.",),
    ),
    ExplainUpdates(
        profile="Ada", span="2020", summary="", changes=(("work_mode", "home", "office", "lasting"),), most=3
    ),
    WriteUtterance(profile="Ada", event=None, tell=TELL, level="subtle", others={"tea": ("green", "black")}),
    ListTopics(profile="Ada", count=3, schema=SCHEMA),
    WriteDistractor(profile="Ada", topic="rain", schema=SCHEMA),
    WriteAboutOther(profile="Ada", variable="tea", value="green", level="explicit", schema=SCHEMA),
    WriteAnswers(question="How?", variables=SCHEMA, variants=(("home", "green"), ("office", "black"))),
]
BY_NAME = {task.name: task for task in TASKS}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", BY_NAME)
def test_each_task_is_put_in_each_language_with_the_form_of_its_reply(name: str, language: str) -> None:
    task = BY_NAME[name]
    [message] = task.messages(prompts_for(language))
    assert message.role == "user" and message.content.endswith(task.form)
    assert task.wants_json


@pytest.mark.parametrize("name", [*BY_NAME, "repair"])
def test_a_template_holds_the_same_fields_in_each_language(name: str) -> None:
    english, chinese = ((FOLDER / language / f"{name}.txt").read_text("utf-8") for language in ("en", "zh"))
    assert set(Template(english).get_identifiers()) == set(Template(chinese).get_identifiers())
    assert english != chinese


def test_what_fills_a_template_is_not_searched_for_fields() -> None:
    assert "Ada $ {x}" in TASKS[0].messages(prompts_for("en"))[0].content


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", BY_NAME)
def test_put_again_it_shows_the_reply_and_what_was_wrong(name: str, language: str) -> None:
    task = BY_NAME[name]
    again = replace(task, faults=("'mood' is no variable", "too long"), previous="Well …")
    request, previous, told = again.messages(prompts_for(language))
    assert [request] == task.messages(prompts_for(language))
    assert (previous.role, previous.content, told.role) == ("assistant", "Well …", "user")
    assert "- 'mood' is no variable\n- too long" in told.content and told.content.endswith(task.form)
    empty = replace(again, previous="").messages(prompts_for(language))
    assert empty[1].content  # some endpoints refuse a message without content


GOOD: list[tuple[str, Any, Any]] = [
    (
        "make_questions",
        {"questions": [{"question": " How? ", "variables": {"a": ["x", "y"]}}]},
        (DraftQuestion("How?", {"a": ("x", "y")}),),
    ),
    ("merge_schema", {"same": [], "rename": {}}, Merging((), {})),
    ("merge_schema", {}, Merging((), {})),
    (
        "merge_schema",
        {"same": [{"name": "t", "values": ["x", "y"], "of": ["1/tea", "2/tea"]}], "rename": {"1/a": "b"}},
        Merging((Merged("t", ("x", "y"), ("1/tea", "2/tea")),), {"1/a": "b"}),
    ),
    ("choose_state", {"state": {"Work mode": "Home", "tea": ["black"]}}, {"work_mode": "home", "tea": "black"}),
    ("choose_state", {"state": {"work_mode": "beach", "mood": "good"}}, {"work_mode": "beach", "mood": "good"}),
    ("choose_state", {"state": {"work_mode": 3}}, {"work_mode": "3"}),
    (
        "choose_updates",
        {"summary": "News.", "updates": {"work_mode": "office"}},
        Updates({"work_mode": "office"}, "News."),
    ),
    (
        "explain_updates",
        {"events": [{"event": "Rain.", "updates": ["work_mode"]}]},
        (LifeEvent("Rain.", ("work_mode",)),),
    ),
    ("write_utterance", {"utterance": " Hello? "}, "Hello?"),
    ("list_topics", {"topics": ["rain", "snow"]}, ("rain", "snow")),
    ("write_distractor", {"utterance": "Rain?"}, "Rain?"),
    ("write_about_other", {"utterance": "My aunt …"}, "My aunt …"),
    ("write_answers", {"answers": ["Do this.", "Do that."]}, ("Do this.", "Do that.")),
]


@pytest.mark.parametrize(("name", "reply", "value"), GOOD)
def test_a_reply_in_its_form_is_read(name: str, reply: Any, value: Any) -> None:
    parsed = BY_NAME[name].parse(json.dumps(reply))
    assert (parsed.value, parsed.status) == (value, Status.OK)
    fenced = BY_NAME[name].parse(f"<think>hm</think>\n```json\n{json.dumps(reply, indent=1)}\n```")
    assert fenced.value == value


BAD: list[tuple[str, Any]] = [
    ("make_questions", {"questions": "none"}),
    ("make_questions", {"questions": [{"question": "How?"}]}),
    ("make_questions", {"questions": [{"question": "", "variables": {"a": ["x"]}}]}),
    ("make_questions", {"questions": [{"question": "How?", "variables": {"a": "x"}}]}),
    ("make_questions", {"questions": [{"question": "How?", "variables": {"a": ["x", 2]}}]}),
    ("make_questions", {"questions": [{"question": "How?", "variables": {"a": ["x"], " a": ["x"]}}]}),
    ("merge_schema", {"same": {}}),
    ("merge_schema", {"rename": {"1/a": 2}}),
    ("merge_schema", {"same": [{"name": "t", "of": ["1/tea"]}]}),
    ("choose_state", {"state": ["home"]}),
    ("choose_state", {"state": {"work mode": "home", "Work Mode": "office"}}),
    ("choose_updates", {"updates": {}}),
    ("choose_updates", {"summary": "News."}),
    ("explain_updates", {"events": [{"event": "Rain.", "updates": []}]}),
    ("explain_updates", {"events": [{"event": None, "updates": ["tea"]}]}),
    ("write_utterance", {"utterance": ""}),
    ("write_utterance", {"message": "Hello?"}),
    ("list_topics", {"topics": ["rain", ""]}),
    ("write_answers", {"answers": {"1": "Do this."}}),
]


@pytest.mark.parametrize(("name", "reply"), BAD)
def test_a_reply_in_another_form_is_refused(name: str, reply: Any) -> None:
    parsed = BY_NAME[name].parse(json.dumps(reply))
    assert (parsed.value, parsed.status) == (None, Status.INVALID)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize(
    ("reply", "status"),
    [(None, Status.EMPTY), (" ", Status.EMPTY), ("Gladly!", Status.INVALID), ('{"questions": [{"que', Status.INVALID)],
)
def test_prose_half_an_object_and_nothing_are_told_apart_and_have_no_value(
    name: str, reply: str | None, status: Status
) -> None:
    parsed = BY_NAME[name].parse(reply)
    assert (parsed.value, parsed.status) == (None, status)
