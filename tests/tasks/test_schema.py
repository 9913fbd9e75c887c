"""A reply that is held to its task's JSON schema is one that the parser takes as asked for."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.tasks import (
    ChooseKnowing,
    ChooseOption,
    Context,
    ExtractFacts,
    ProbeStates,
    ReconcileFacts,
    RecoverVariant,
    Reply,
    RevealedStates,
    Status,
    Task,
)
from tests.tasks.test_making import TASKS as MAKING

NOW = datetime(2022, 3, 1)
VALUES = {"home": ("city", "coast"), 'Wohn"ort': ("1", "null")}
TASKS: list[Task[Any]] = [
    ChooseOption("Which?", ("Walk.", "Ride.", "Fly."), Context()),
    ChooseKnowing("Which?", ("Walk.", "Ride."), (("home", "city"),)),
    ProbeStates(VALUES, Context()),
    ExtractFacts((), NOW),
    ReconcileFacts((), ("new",), NOW),
    ReconcileFacts(((0, "old"), (7, "older")), ("new",), NOW),
    RevealedStates("I walk.", VALUES),
    *MAKING,
]
TEXTS = st.text("ab ", min_size=1).filter(str.strip)


def replies(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Any value that the schema allows."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([replies(each) for each in schema["anyOf"]])
    if schema["type"] == "string":
        return TEXTS
    if schema["type"] == "array":
        return st.lists(replies(schema["items"]), min_size=1, max_size=3)
    assert schema["type"] == "object"
    if schema["additionalProperties"] is not False:
        return st.dictionaries(st.sampled_from(["a", "b"]), replies(schema["additionalProperties"]), min_size=1)
    fields = {name: replies(field) for name, field in schema["properties"].items()}
    needed = {name: fields.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(needed, optional=fields)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_a_schema_allows_is_read_as_asked_for(task: Task[Any], data: st.DataObject) -> None:
    schema = task.reply_schema()
    assert schema is not None
    assert task.parse(json.dumps(data.draw(replies(schema)))).status is Status.OK


def test_a_choice_has_each_option_s_number_and_no_other() -> None:
    schema = ChooseOption("Which?", ("Walk.", "Ride.", "Fly."), Context()).reply_schema()
    assert schema["properties"] == {"answer": {"enum": [1, 2, 3]}}


def test_an_answer_may_fit_no_value() -> None:
    schema = RecoverVariant("Why?", "Because.", {"home": ("city",)}).reply_schema()
    assert schema["properties"] == {"home": {"enum": ["city", None]}}


def test_what_is_no_json_has_no_schema() -> None:
    assert Reply(Context()).reply_schema() is None
