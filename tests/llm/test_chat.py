"""A memory system's own request: what a language model's endpoint is sent and gives back, and what the offline model
makes of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from amemgym.errors import BadRequest, NoContent
from amemgym.llm import Completion, Request, embedder
from amemgym.llm.offline import OfflineModel
from amemgym.messages import Message
from amemgym.tasks import Chat, Context, ExtractFacts, Reply, StandIn, ToolCall
from tests.llm.helpers import NOW, ask, facts_of, request_for
from tests.support.mock_openai import Response, error, refuses_parameter, sequence

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "keep",
        "parameters": {
            "type": "object",
            "properties": {"facts": {"type": "array", "items": {"type": "string"}}, "level": {"enum": ["low", "high"]}},
            "required": ["facts", "level"],
        },
    },
}
SAID = "[Current Time: 2022-03-01 09:30:00]\nI ride a {bicycle}.\n\nI live in Łódź."
FACTS = ["I ride a {bicycle}.", "I live in Łódź."]


def chat(content: Any = SAID, **body: Any) -> Request:
    return request_for(Chat({"messages": [{"role": "user", "content": content}], **body}))


def schema(**form: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object", **form}}}


def calls(*tools: dict[str, Any], content: str | None = None, finish: str = "tool_calls") -> Response:
    message = {"role": "assistant", "content": content, "tool_calls": list(tools)}
    return Response(body={"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


# --- through an endpoint ---


def test_it_is_sent_as_it_is() -> None:
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "half \ud83d, whole 😀"}], "name": "u"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ],
        "tools": [TOOL],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "response_format": schema(),
        "stop": ["x"],
    }
    outcome = ask(None, request_for(Chat(body)), max_tokens=77)
    (sent,) = outcome.bodies
    expected = json.loads(json.dumps(body).replace(r"\ud83d,", "\ufffd,"))
    assert sent == expected | {"model": "gpt-x", "temperature": 0.0, "max_tokens": 77}


def test_tool_calls_are_a_reply() -> None:
    function = {"name": "keep", "arguments": '{"facts": []}'}
    outcome = ask(calls({"id": "a", "type": "function", "function": function}), chat(tools=[TOOL]))
    reply = outcome.results[-1]
    assert isinstance(reply, Completion)
    assert (reply.text, reply.finish) == ("", "tool_calls")
    assert reply.calls == (ToolCall("a", "keep", '{"facts": []}'),)
    assert (reply.usage.estimated, reply.usage.output) == (True, 5), "the calls are what it wrote"
    # a server that gives the arguments as an object, and no id
    reply = ask(calls({"function": {"name": "keep", "arguments": {"a": "ü"}}}, content="Well."), chat()).results[-1]
    assert isinstance(reply, Completion)
    assert (reply.text, reply.calls) == ("Well.", (ToolCall("call_0", "keep", '{"a": "ü"}'),))
    assert isinstance(ask(calls(), chat()).error, NoContent)


def test_a_refused_response_format_is_dropped_only_where_the_prompt_says_it_too() -> None:
    any_json = chat(response_format={"type": "json_object"})
    outcome = ask(sequence(refuses_parameter("response_format")), any_json, any_json, request_for(facts_of("Hi.")))
    assert ["response_format" in body for body in outcome.bodies] == [True, False, False, False]
    assert len(outcome.heard.remarks) == 1
    # a schema is said nowhere else: it is an error, and a later one is sent all the same
    by_schema = chat(response_format=schema())
    outcome = ask(sequence(refuses_parameter("response_format")), by_schema, by_schema)
    assert isinstance(outcome.results[0], BadRequest)
    assert ["response_format" in body for body in outcome.bodies] == [True, True]
    refused = ask(error(400, "'tools' is not supported", param="tools"), chat(tools=[TOOL]))
    assert isinstance(refused.error, BadRequest) and len(refused.bodies) == 1


# --- offline ---


def offline(request: Request) -> Completion:
    return asyncio.run(OfflineModel(embedder()).complete(request))


def test_the_task_that_is_meant_is_solved_and_worded() -> None:
    def meant(said: str) -> StandIn[list[str]]:
        task = ExtractFacts((Message("user", said, NOW),), NOW)
        return StandIn(task, lambda facts: json.dumps({"facts_found": facts}))

    body = {"messages": [{"role": "user", "content": "RULES … Input: I ride a bicycle."}]}
    reply = offline(request_for(Chat(body, lambda chat: meant("I ride a bicycle."))))
    assert (reply.text, reply.finish, reply.calls) == ('{"facts_found": ["I ride a bicycle."]}', "stop", ())
    call = ToolCall("c", "keep", "{}")
    reply = offline(request_for(Chat(body, lambda chat: StandIn(facts_of("x"), lambda facts: (call,)))))
    assert (reply.text, reply.finish, reply.calls) == ("", "tool_calls", (call,))
    # a value that cannot be had is None, not a guess
    missing = StandIn(Unreadable(Context()), lambda value: f"found {value}")
    assert offline(request_for(Chat(body, lambda chat: missing))).text == "found None"


class Unreadable(Reply):
    def parse(self, reply: str | None) -> Any:
        return super().parse(None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "\n".join(FACTS)),
        ({"tools": [TOOL]}, "\n".join(FACTS)),
        ({"tools": [TOOL], "tool_choice": "none"}, "\n".join(FACTS)),
        ({"response_format": {"type": "text"}}, "\n".join(FACTS)),
        ({"response_format": {"type": "json_object"}}, {"facts": FACTS}),
        ({"response_format": schema()}, {}),
        ({"response_format": schema(properties={"a": {"type": "string"}})}, {"a": "\n".join(FACTS)}),
        (
            {
                "response_format": schema(
                    properties={
                        "memories": {"type": "array", "items": {"$ref": "#/$defs/Memory"}},
                        "note": {"type": ["string", "null"], "maxLength": 3},
                        "none": {"anyOf": [{"type": "null"}, {"type": "string"}]},
                        "count": {"type": "integer", "minimum": 1},
                        "sure": {"type": "boolean"},
                        "left out": {"type": "string"},
                    },
                    required=["memories", "note", "none", "count", "sure"],
                    **{
                        "$defs": {
                            "Memory": {
                                "type": "object",
                                "properties": {"text": {"type": "string"}, "kind": {"const": "fact"}},
                                "required": ["text", "kind"],
                            }
                        }
                    },
                )
            },
            {
                "memories": [{"text": fact, "kind": "fact"} for fact in FACTS],
                "note": "I r",
                "none": None,
                "count": 1,
                "sure": False,
            },
        ),
        # one that holds itself comes to an end
        ({"response_format": schema(properties={"a": {"type": "array", "items": {"$ref": "#"}}}, required=["a"])}, ...),
    ],
)
def test_without_a_meaning_it_gives_back_what_was_said_in_the_form_asked_for(body: Any, expected: Any) -> None:
    reply = offline(chat(**body))
    assert (reply.calls, reply.finish) == ((), "stop"), "no tool is called that need not be"
    assert expected is ... or (reply.text if isinstance(expected, str) else json.loads(reply.text)) == expected


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "keep"}}])
def test_a_tool_is_called_where_one_must_be(choice: Any) -> None:
    other = {"type": "function", "function": {"name": "other"}}
    tools = [TOOL, other] if choice == "required" else [other, TOOL]
    (call,) = offline(chat(tools=tools, tool_choice=choice)).calls
    assert (call.name, json.loads(call.arguments)) == ("keep", {"facts": FACTS, "level": "low"})


def test_the_last_words_of_the_user_count() -> None:
    messages = [
        {"role": "user", "content": "Old."},
        {"role": "user", "content": [{"type": "text", "text": "New."}]},
        {"role": "assistant", "content": "Mine."},
        {"role": "tool", "content": "Done.", "tool_call_id": "c"},
    ]
    assert offline(request_for(Chat({"messages": messages}))).text == "New."
    assert offline(request_for(Chat({"messages": [{"role": "system", "content": "Rules."}]}))).text == ""
