"""`openai:<name>` against a local endpoint: what is sent, how each call can end, what is tried again, what is learned.

Promised: only what can pass is tried again; everything else ends the call at once, as a named error whose one sentence
says what to do; a parameter that the model refuses is dropped from then on and said once; reasoning is never a reply.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from amemgym.errors import (
    AuthenticationFailed,
    BadRequest,
    ContentFiltered,
    ContextOverflow,
    EndpointUnavailable,
    ModelError,
    NoContent,
    NotAnEndpoint,
    QuotaExhausted,
    UsageError,
)
from amemgym.evaluate.spec import make_spec
from amemgym.llm import ModelSettings, Usage, open_model
from amemgym.llm.door import LONGEST_WAIT
from amemgym.llm.openai import OpenAIModel
from amemgym.llm.provider import estimate_usage
from amemgym.secrets import remember
from amemgym.tasks import Status
from tests.llm.helpers import Outcome, ask, question, reply_to, request_for
from tests.support.mock_openai import (
    MockOpenAI,
    Request,
    Response,
    content_filter,
    context_overflow,
    error,
    html,
    none_content,
    ok,
    quota,
    rate_limited,
    refuses_parameter,
    sequence,
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


# ---- how a call ends: what the endpoint does → error, requests made of 3 attempts, part of the sentence

TRIED = "(tried 3 times)"
FAULTS: dict[str, tuple[Response, type[ModelError], int, str]] = {
    # ends at once
    "400": (error(400, "Nonsense."), BadRequest, 1, "says 400: Nonsense. The endpoint refuses the request."),
    "401": (error(401, "Bad key."), AuthenticationFailed, 1, "says 401: Bad key. Check the key in OPENAI_API_KEY"),
    "402": (error(402, "Insufficient Balance"), QuotaExhausted, 1, "quota is used up; add to it, then resume"),
    "403": (error(403, "Not for you."), AuthenticationFailed, 1, "may use gpt-x"),
    "404": (
        error(404, "No such model."),
        BadRequest,
        1,
        "Check the model name 'gpt-x' and that the base URL ends in /v1",
    ),
    "404 html": (html(404), BadRequest, 1, "ends in /v1"),
    "405": (error(405, "Method Not Allowed"), BadRequest, 1, "says 405"),
    "422": (Response(422, {"detail": [{"loc": ["body"], "msg": "wrong"}]}), BadRequest, 1, "wrong"),
    "429 quota": (quota(), QuotaExhausted, 1, "quota is used up"),
    "400 overflow": (context_overflow(), ContextOverflow, 1, "does not fit gpt-x's context"),
    "413 overflow": (error(413, "Prompt is too long"), ContextOverflow, 1, "does not fit gpt-x's context"),
    "400 filter": (content_filter(400), ContentFiltered, 1, "content filter stopped the request"),
    "403 filter": (error(403, "x", code="content_filter"), ContentFiltered, 1, "content filter stopped the request"),
    "200 filter": (content_filter(200), ContentFiltered, 1, "stopped the reply"),
    "200 filter, text": (ok("Half a", finish_reason="content_filter"), ContentFiltered, 1, "stopped the reply"),
    "None content": (none_content("length"), NoContent, 1, "(finish_reason: length); if it reasons before"),
    "no content field": (completion({"role": "assistant"}, finish_reason="stop"), NoContent, 1, "--max-tokens"),
    "list content": (completion({"content": [{"type": "thinking"}]}), NoContent, 1, "without content"),
    "html": (html(), NotAnEndpoint, 1, "usually ends in /v1"),
    "text": (Response(body="It works!"), NotAnEndpoint, 1, "It works!"),
    "no body": (Response(body=""), NotAnEndpoint, 1, "no chat completion"),
    "broken JSON": (Response(body='{"choices": [', headers=JSON), NotAnEndpoint, 1, "no chat completion"),
    "bad UTF-8": (Response(body=b'{"choices": "\xff"}', headers=JSON), NotAnEndpoint, 1, "no chat completion"),
    "null": (Response(body=None), NotAnEndpoint, 1, "no chat completion"),
    "list": (Response(body=[1, 2]), NotAnEndpoint, 1, "no chat completion"),
    "other object": (Response(body={"object": "list", "data": []}), NotAnEndpoint, 1, "no chat completion"),
    "no choices": (Response(body={"choices": []}), NotAnEndpoint, 1, "no chat completion"),
    "null choices": (Response(body={"choices": None}), NotAnEndpoint, 1, "no chat completion"),
    "null choice": (Response(body={"choices": [None]}), NotAnEndpoint, 1, "no chat completion"),
    "null message": (completion(None), NotAnEndpoint, 1, "no chat completion"),
    "text for a message": (completion("hello"), NotAnEndpoint, 1, "no chat completion"),
    "list for a message": (completion([]), NotAnEndpoint, 1, "no chat completion"),
    # may pass later
    "408": (error(408, "Too slow."), EndpointUnavailable, 3, f"says 408: Too slow. {TRIED}"),
    "409": (error(409, "Conflict."), EndpointUnavailable, 3, TRIED),
    "429": (rate_limited(0.001), EndpointUnavailable, 3, f"says 429: Slow down. {TRIED}"),
    "500": (error(500, "Oops."), EndpointUnavailable, 3, f"says 500: Oops. {TRIED}"),
    "502 html": (html(502), EndpointUnavailable, 3, TRIED),
    "503": (Response(503, ""), EndpointUnavailable, 3, f"no reason given. {TRIED}"),
    "504": (Response(504, "upstream timed out"), EndpointUnavailable, 3, "upstream timed out"),
    "529": (error(529, "Overloaded"), EndpointUnavailable, 3, TRIED),
    "dropped": (Response(drop=True), EndpointUnavailable, 3, "cannot be reached"),
    "cut off": (replace(ok("t"), truncate=True), EndpointUnavailable, 3, "cannot be reached"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_how_a_call_ends(name: str) -> None:
    response, kind, requests, fragment = FAULTS[name]
    outcome = ask(response, attempts=3, api_key=remember("sk-test-0001"))
    assert type(outcome.error) is kind
    assert fragment in str(outcome.error)
    assert (outcome.server.base_url if kind is not NoContent else "openai:gpt-x") in str(outcome.error)
    assert "\n" not in str(outcome.error)
    assert outcome.server.arrived == requests
    assert len(outcome.heard.retries) == requests - 1
    assert outcome.heard.remarks == []


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault[1] is EndpointUnavailable])
def test_what_passes_later_is_a_reply(name: str) -> None:
    fault = FAULTS[name][0]
    outcome = ask(sequence(fault, fault, ok("At last.")), attempts=3)
    assert outcome.text == "At last."
    assert outcome.server.arrived == 3
    assert len(outcome.heard.retries) == 2


def test_a_401_without_a_key_says_that_none_was_given() -> None:
    assert "No key was given: set OPENAI_API_KEY" in str(ask(error(401, "Who are you?")).error)


def test_a_long_reason_is_cut() -> None:
    said = str(ask(error(400, "word " * 1000)).error)
    assert "word word" in said and "…" in said
    assert len(said) < 500


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def call() -> None:
        model = OpenAIModel("gpt-x", base_url=f"http://127.0.0.1:{port}/v1", timeout=5)
        try:
            with pytest.raises(EndpointUnavailable, match=r"cannot be reached .*check that it runs"):
                await model.complete(request_for())
        finally:
            await model.aclose()

    asyncio.run(call())


def test_silence_is_a_time_out_and_is_tried_again() -> None:
    outcome = ask(Response(hang=True), attempts=2, timeout=0.05)
    assert type(outcome.error) is EndpointUnavailable
    assert "did not answer within 0.05 s (tried 2 times)" in str(outcome.error)
    assert outcome.server.arrived == 2


def test_signs_of_life_are_no_answer() -> None:
    """Some endpoints send white space while the model thinks: each read succeeds, and no answer ever comes."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999999\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)
        except OSError:
            pass
        finally:
            writer.transport.abort()

    async def call() -> None:
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel("gpt-x", base_url=f"http://127.0.0.1:{port}/v1", timeout=0.1)
        try:
            with pytest.raises(EndpointUnavailable, match="did not answer within"):
                async with asyncio.timeout(1):
                    await model.complete(request_for())
        finally:
            await model.aclose()
            server.close()

    asyncio.run(call())


# ---- the words of real endpoints: status, body → error

ORDINARY_LIMIT = (
    "Rate limit reached for default-gpt-3.5-turbo in organization org-x on requests per min. Limit: 3 / min. Please try"
    " again in 20s. Please add a payment method to your account to increase your rate limit. Visit"
    " https://platform.openai.com/account/billing to add a payment method."
)
WORDINGS: dict[str, tuple[Response, type[ModelError]]] = {
    "OpenAI, overflow": (error(400, "Your input exceeds the context window of this model."), ContextOverflow),
    "vLLM, overflow": (
        error(
            400,
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536"
            " tokens and your request has 57879 input tokens (8192 > 65536 - 57879).",
        ),
        ContextOverflow,
    ),
    "llama.cpp, overflow": (
        error(
            400, "the request exceeds the available context size, try increasing it", type="exceed_context_size_error"
        ),
        ContextOverflow,
    ),
    "Anthropic, overflow": (error(400, "prompt is too long: 214850 tokens > 200000 maximum"), ContextOverflow),
    "Gemini, overflow": (
        error(400, "The input token count (317740) exceeds the maximum number of tokens allowed (131072)."),
        ContextOverflow,
    ),
    "xAI, overflow": (
        error(400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        ContextOverflow,
    ),
    "SGLang, overflow": (
        error(
            400, "Input length (17778 tokens) exceeds the maximum allowed length (11052 tokens). Use a shorter input."
        ),
        ContextOverflow,
    ),
    "Azure, filter": (
        error(400, "The prompt triggered Azure OpenAI's content management policy.", code="content_filter"),
        ContentFiltered,
    ),
    "OpenAI, filter": (
        error(
            400,
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a"
            " different prompt.",
            code="invalid_prompt",
        ),
        ContentFiltered,
    ),
    "OpenRouter, filter": (
        Response(
            403, {"error": {"code": 403, "message": "Your chosen model requires moderation and your input was flagged"}}
        ),
        ContentFiltered,
    ),
    "DeepSeek, filter": (error(400, "Content Exists Risk", code="invalid_request_error"), ContentFiltered),
    "OpenAI, money": (
        error(429, "You exceeded your current quota, please check your plan and billing details.", code=None),
        QuotaExhausted,
    ),
    "OpenAI, rate with a link to billing": (
        error(429, ORDINARY_LIMIT, type="requests", code="rate_limit_exceeded"),
        EndpointUnavailable,
    ),
}


@pytest.mark.parametrize("name", WORDINGS)
def test_the_words_of_real_endpoints(name: str) -> None:
    response, kind = WORDINGS[name]
    outcome = ask(response)
    assert type(outcome.error) is kind
    assert outcome.server.arrived == 1
    assert outcome.heard.remarks == []  # no parameter was taken for refused


@pytest.mark.parametrize(
    ("code", "kind", "requests"), [(400, ModelError, 1), (429, EndpointUnavailable, 2), (502, EndpointUnavailable, 2)]
)
def test_an_error_in_a_200_is_that_error(code: int, kind: type[ModelError], requests: int) -> None:
    """OpenRouter accepts the request with 200, and then the provider behind it fails."""
    body = {"error": {"message": "Provider returned error: it is overloaded", "code": code}, "user_id": "u"}
    outcome = ask(Response(body=body), attempts=2)
    assert isinstance(outcome.error, kind)
    assert "it is overloaded" in str(outcome.error)
    assert outcome.server.arrived == requests


# ---- Retry-After

INSTANT = datetime(2030, 5, 1, 12, 0, 0, tzinfo=UTC)
BACKOFF = None  # the header asks for no wait or is not understood: the door's own wait, from 0.001 s

RETRY_AFTER: dict[str, tuple[dict[str, str], float | None]] = {
    "seconds": ({"retry-after": "0.01"}, 0.01),
    "none": ({"retry-after": "0"}, BACKOFF),
    "milliseconds": ({"retry-after-ms": "10"}, 0.01),
    "milliseconds first": ({"retry-after-ms": "10", "retry-after": "60"}, 0.01),
    "date": ({"retry-after": format_datetime(INSTANT, usegmt=True)}, 0.01),
    "date past": ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, BACKOFF),
    "absent": ({}, BACKOFF),
    "words": ({"retry-after": "soon"}, BACKOFF),
    "negative": ({"retry-after": "-1"}, BACKOFF),
    "nan": ({"retry-after": "nan"}, BACKOFF),
    "empty": ({"retry-after": ""}, BACKOFF),
}


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("name", RETRY_AFTER)
def test_retry_after_is_honoured(name: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    headers, wait = RETRY_AFTER[name]
    monkeypatch.setattr("amemgym.llm.openai.time", lambda: INSTANT.timestamp() - 0.01)
    outcome = ask(sequence(error(status, "Slow down.", headers=headers), ok("Now.")), attempts=2)
    assert outcome.text == "Now."
    ((why, waited),) = outcome.heard.retries
    assert f"says {status}: Slow down." in why
    if wait is BACKOFF:
        assert 0.001 <= waited <= 0.0015
    else:
        assert waited == pytest.approx(wait, abs=1e-5)


@pytest.mark.parametrize("asked", [f"{LONGEST_WAIT + 1:g}", "86400", "9" * 400, format_datetime(INSTANT, usegmt=True)])
def test_a_very_long_wait_is_not_waited_for(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amemgym.llm.openai.time", lambda: INSTANT.timestamp() - LONGEST_WAIT - 1)
    outcome = ask(error(429, "Slow down.", headers={"retry-after": asked}), attempts=6)
    assert type(outcome.error) is EndpointUnavailable
    assert outcome.server.arrived == 1
    assert outcome.heard.retries == []


def test_a_very_long_wait_is_told() -> None:
    outcome = ask(error(429, "Slow down.", headers={"retry-after": "3600"}), attempts=6)
    assert "3600" in str(outcome.error)


# ---- parameters that the model refuses


def refusing(
    *names: str, answer: Callable[[str], Response] = refuses_parameter
) -> Callable[[Request], Response | None]:
    """A model that refuses these parameters, the first that it meets."""

    def responder(request: Request) -> Response | None:
        found = next((name for name in names if name in request.body), None)
        return answer(found) if found else None

    return responder


def sent(outcome: Outcome) -> list[set[str]]:
    return [set(body) - {"model", "messages"} for body in outcome.bodies]


@pytest.mark.parametrize("name", ["temperature", "response_format"])
def test_a_refused_parameter_is_dropped_once_learned(name: str) -> None:
    every = {"temperature", "max_tokens", "response_format"}
    outcome = ask(refusing(name), request_for(question()), request_for(question("And now?")))
    assert sent(outcome) == [every, every - {name}, every - {name}]
    assert outcome.heard.remarks == [f"openai:gpt-x refuses the parameter {name}; it is not sent any more"]
    assert outcome.heard.retries == []  # learning is no failed attempt
    assert outcome.text == '{"answer": 1}'


def test_max_tokens_becomes_max_completion_tokens() -> None:
    outcome = ask(refusing("max_tokens"), *[request_for()] * 2, max_tokens=77)
    assert sent(outcome) == [{"temperature", "max_tokens"}] + [{"temperature", "max_completion_tokens"}] * 2
    assert [body.get("max_completion_tokens") for body in outcome.bodies] == [None, 77, 77]
    assert len(outcome.heard.remarks) == 1 and "max_tokens" in outcome.heard.remarks[0]


def test_a_model_that_refuses_everything_is_still_asked() -> None:
    names = ("max_tokens", "max_completion_tokens", "temperature", "response_format")
    outcome = ask(refusing(*names), *[request_for(question())] * 2)
    assert sent(outcome)[-2:] == [set(), set()]
    assert outcome.server.arrived == len(names) + 2
    assert [remark.split()[4].strip(";") for remark in outcome.heard.remarks] == list(names)


@pytest.mark.parametrize("names", [("temperature",), ("max_tokens", "temperature")])
def test_calls_at_once_learn_once(names: tuple[str, ...]) -> None:
    requests = [request_for(reply_to(str(n))) for n in range(8)]
    outcome = ask(refusing(*names), *requests, at_once=True, delay=0.02)
    assert outcome.server.max_in_flight > 1
    assert len({result.text for result in outcome.results if not isinstance(result, ModelError)}) == 8
    assert len(outcome.heard.remarks) == len(names)
    assert outcome.server.arrived <= 8 * (len(names) + 1)


REFUSALS: dict[str, tuple[Callable[[str], Response], str]] = {
    "OpenAI": (
        lambda name: error(
            400,
            f"Unsupported parameter: '{name}' is not supported with this model. Use 'max_completion_tokens' instead.",
            code="unsupported_parameter",
            param=name,
        ),
        "max_tokens",
    ),
    "OpenAI, a value": (
        lambda name: error(
            400,
            f"Unsupported value: '{name}' does not support 0 with this model. Only the default (1) value is supported.",
            code="unsupported_value",
            param=name,
        ),
        "temperature",
    ),
    "LM Studio": (
        lambda name: Response(400, {"error": f"'{name}.type' must be 'json_schema' or 'text'"}),
        "response_format",
    ),
    "a part of it": (lambda name: error(400, "Wrong.", param=f"{name}.type"), "response_format"),
    "FastAPI": (
        lambda name: Response(422, {"detail": [{"loc": ["body", name], "msg": "extra fields not permitted"}]}),
        "temperature",
    ),
    "plain text": (lambda name: Response(400, f"unknown field {name}"), "max_tokens"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_the_words_of_a_refusal(name: str) -> None:
    answer, parameter = REFUSALS[name]
    outcome = ask(refusing(parameter, answer=answer), request_for(question()))
    assert outcome.text == '{"answer": 1}'
    assert outcome.server.arrived == 2
    assert parameter not in outcome.bodies[-1]
    assert len(outcome.heard.remarks) == 1


@pytest.mark.parametrize("response", [error(500, "temperature"), error(404, "temperature"), error(400, "temperatures")])
def test_what_is_no_refusal_drops_nothing(response: Response) -> None:
    outcome = ask(sequence(response))
    assert isinstance(outcome.error, ModelError)
    assert outcome.server.arrived == 1
    assert outcome.heard.remarks == []


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


# ---- where the endpoint and the key come from


def reached(settings: ModelSettings) -> None:
    """Open the model and ask it once."""

    async def call() -> None:
        model = open_model(settings, lambda sentence: None)
        try:
            await model.complete(request_for())
        finally:
            await model.aclose()

    asyncio.run(call())


# given as flags, given in the environment → where the assistants' and the simulated user's calls go
A, B, C, D = "--base-url", "--user-base-url", "OPENAI_BASE_URL", "AMEMGYM_USER_BASE_URL"
WHERE: dict[tuple[str, ...], tuple[str, str]] = {
    (A,): (A, A),
    (C,): (C, C),
    (A, B): (A, B),
    (A, C): (A, A),
    (B, C): (C, B),
    (C, D): (C, D),
    (A, D): (A, D),
    (B, C, D): (C, B),
    (A, B, C, D): (A, B),
}


@pytest.mark.parametrize("given", WHERE, ids=" ".join)
def test_which_endpoint_is_asked(given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    urls = {name: f"http://{name.strip('-').replace('_', '-').lower()}.test/v1" for name in given}
    for name in {C, D} & set(given):
        monkeypatch.setenv(name, urls[name])
    spec = make_spec({"model": "openai:m", "base_url": urls.get(A), "user_base_url": urls.get(B)})
    found = (spec.model_settings().resolved_url(), spec.user_settings().resolved_url())
    assert found == tuple(urls[name] for name in WHERE[given])


def test_two_endpoints_each_get_their_own_key_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-assistant")
    monkeypatch.setenv("AMEMGYM_USER_API_KEY", " sk-user\n")
    with MockOpenAI() as ours, MockOpenAI() as theirs:
        spec = make_spec(
            {
                "model": "openai:big/model:7b",
                "base_url": ours.base_url,
                "user_model": "openai:small",
                "user_base_url": theirs.base_url,
                "user_temperature": 1.0,
            }
        )
        reached(spec.model_settings())
        reached(spec.user_settings())
    (one,), (two,) = ours.requests, theirs.requests
    assert (one.headers["authorization"], one.body["model"], one.body["temperature"]) == (
        "Bearer sk-assistant",
        "big/model:7b",
        0.0,
    )
    assert (two.headers["authorization"], two.body["model"], two.body["temperature"]) == (
        "Bearer sk-user",
        "small",
        1.0,
    )


def test_without_a_key_of_its_own_the_user_has_the_assistants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-assistant")
    with MockOpenAI() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        reached(make_spec({"model": "openai:m"}).user_settings())
    assert server.requests[0].headers["authorization"] == "Bearer sk-assistant"


def test_a_refused_key_is_named_by_the_variable_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_USER_API_KEY", "sk-user-0001")
    with MockOpenAI(lambda request: error(401, "Bad key.")) as server:
        settings = make_spec({"model": "openai:m", "base_url": server.base_url}).user_settings()
        with pytest.raises(AuthenticationFailed, match="AMEMGYM_USER_API_KEY"):
            reached(settings)


def test_no_endpoint_at_all() -> None:
    with pytest.raises(UsageError, match=r"openai:m.*set OPENAI_API_KEY, or give --base-url.*--model offline"):
        open_model(ModelSettings("openai:m"), lambda sentence: None)


@pytest.mark.parametrize("url", [None, ""])
def test_a_key_alone_means_the_clients_own_endpoint(url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """`OPENAI_BASE_URL=` in an .env file is no address."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0001")
    if url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    model = open_model(ModelSettings("openai:m"), lambda sentence: None)
    assert isinstance(model, OpenAIModel)
    assert str(model._client.base_url) == "https://api.openai.com/v1/"


@pytest.mark.parametrize("model", ["openai", "openai:"])
def test_a_model_without_a_name(model: str) -> None:
    with pytest.raises(UsageError, match="names no model; write openai:<name>"):
        open_model(ModelSettings(model, base_url="http://localhost:1/v1"), lambda sentence: None)
