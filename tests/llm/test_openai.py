"""`openai:<name>` against a local endpoint: what is sent, what is taken for the reply, and how many calls at once."""

from __future__ import annotations

from typing import Any

import pytest

from amemgym.errors import (
    ModelError,
    NoContent,
)
from amemgym.llm import Usage
from amemgym.llm.provider import estimate_usage
from amemgym.secrets import remember
from amemgym.tasks import Status
from tests.llm.helpers import ask, question, reply_to, request_for
from tests.support.mock_openai import (
    Response,
    none_content,
    ok,
)

JSON = {"content-type": "application/json"}


def completion(message: Any, **fields: Any) -> Response:
    """A completion whose message is anything."""
    return Response(body={"object": "chat.completion", "choices": [{"index": 0, "message": message, **fields}]})


# ---- what is sent


def test_the_request_is_a_plain_chat_completion() -> None:
    outcome = ask(ok("Fine."), request_for(reply_to("Grüß dich 🦄")), api_key=remember("sk-test-0001"))
    assert outcome.text == "Fine."
    (request,) = outcome.server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer sk-test-0001"
    system, user = request.body.pop("messages")
    assert request.body == {"model": "gpt-x", "temperature": 0.0, "max_tokens": 2048}
    assert system["role"] == "system" and system["content"].startswith("You are a helpful")
    assert user == {"role": "user", "content": "Grüß dich 🦄"}


def test_json_is_asked_for_only_where_the_reply_should_be_json() -> None:
    outcome = ask(None, request_for(question()), request_for(reply_to()))
    assert [body.get("response_format") for body in outcome.bodies] == [{"type": "json_object"}, None]


def test_settings_that_are_none_are_left_to_the_endpoint() -> None:
    (body,) = ask(ok("t"), temperature=None, max_tokens=None).bodies
    assert set(body) == {"model", "messages"}


def test_settings_are_sent_as_they_are_given() -> None:
    (body,) = ask(ok("t"), temperature=0.7, max_tokens=9).bodies
    assert (body["temperature"], body["max_tokens"]) == (0.7, 9)


def test_without_a_key_a_placeholder_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")  # the client would help itself to it
    (request,) = ask(ok("t")).server.requests
    assert request.headers["authorization"] == "Bearer no-key"


def test_a_lone_surrogate_in_a_message_does_not_stop_the_call() -> None:
    """A reply cut in the middle of an emoji comes back as a lone surrogate, and is part of the next request."""
    cut = Response(
        body='{"choices": [{"message": {"content": "So \\ud83d"}, "finish_reason": "length"}]}', headers=JSON
    )
    first = ask(cut)
    second = ask(ok("Fine."), request_for(reply_to(f"You said: {first.text}, really?")))
    assert second.text == "Fine."
    sent = second.bodies[0]["messages"][-1]["content"]
    assert sent.startswith("You said: So ") and sent.endswith(", really?")


# ---- what the reply is


def test_reasoning_is_no_part_of_the_reply() -> None:
    assert ask(ok("Ride.", reasoning='{"answer": 2}')).text == "Ride."


def test_reasoning_is_not_taken_for_a_missing_reply() -> None:
    outcome = ask(none_content(reasoning='{"answer": 2}'), request_for(question()))
    assert type(outcome.error) is NoContent


def test_reasoning_in_tags_is_not_parsed_as_an_answer() -> None:
    outcome = ask(ok('<think>{"answer": 2}</think>'), request_for(question()))
    assert question().parse(outcome.text).status == Status.EMPTY


def test_an_empty_reply_is_no_content() -> None:
    """A model that spent all its tokens on reasoning sends one or the other; both cost the same."""
    for empty in (ok("", usage={"prompt_tokens": 7, "completion_tokens": 3}), none_content()):
        outcome = ask(empty)
        assert isinstance(outcome.error, NoContent)
        assert isinstance(outcome.error.usage, Usage) and outcome.error.usage.input > 0


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}, Usage(7, 3)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0, 0)),
        (None, None),
        ({}, None),
        ({"prompt_tokens": 7}, None),
        ({"prompt_tokens": None, "completion_tokens": 3}, None),
        ({"prompt_tokens": "7", "completion_tokens": "3"}, None),
        ({"prompt_tokens": -1, "completion_tokens": 3}, None),
    ],
)
def test_usage_is_the_endpoints_or_a_marked_estimate(said: Any, counted: Usage | None) -> None:
    request = request_for(reply_to("x" * 100))
    usage = ask(ok("y" * 10, usage=said), request).usage
    if counted is not None:
        assert usage == counted and not usage.estimated
    else:
        assert usage == estimate_usage(request.messages, "y" * 10)
        assert usage.estimated and usage.input > 25 and usage.output == 3


# ---- many calls


@pytest.mark.parametrize("slots", [1, 3])
def test_never_more_calls_under_way_than_slots(slots: int) -> None:
    requests = [request_for(reply_to(str(n))) for n in range(9)]
    outcome = ask(None, *requests, at_once=True, slots=slots, delay=0.04)
    assert len({result.text for result in outcome.results if not isinstance(result, ModelError)}) == 9
    assert min(2, slots) <= outcome.server.max_in_flight <= slots
