"""How a call to an endpoint can end.

Only what can pass is tried again; all else ends at once, as a named error whose one sentence says what to do.
"""

from __future__ import annotations

import asyncio
import socket
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
)
from amemgym.llm.door import LONGEST_WAIT
from amemgym.llm.openai import OpenAIModel
from amemgym.secrets import remember
from tests.llm.helpers import ask, request_for
from tests.support.mock_openai import (
    Response,
    content_filter,
    context_overflow,
    error,
    html,
    none_content,
    ok,
    quota,
    rate_limited,
    sequence,
)

JSON = {"content-type": "application/json"}


def completion(message: Any, **fields: Any) -> Response:
    """A completion whose message is anything."""
    return Response(body={"object": "chat.completion", "choices": [{"index": 0, "message": message, **fields}]})


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
    "no content field": (completion({"role": "assistant"}, finish_reason="stop"), NoContent, 3, "--max-tokens"),
    "list content": (completion({"content": [{"type": "thinking"}]}), NoContent, 1, "without content"),
    "html": (html(), NotAnEndpoint, 3, "usually ends in /v1"),
    "text": (Response(body="It works!"), NotAnEndpoint, 3, "It works!"),
    "no body": (Response(body=""), NotAnEndpoint, 3, "no chat completion"),
    "broken JSON": (Response(body='{"choices": [', headers=JSON), NotAnEndpoint, 3, "no chat completion"),
    "bad UTF-8": (Response(body=b'{"choices": "\xff"}', headers=JSON), NotAnEndpoint, 3, "no chat completion"),
    "null": (Response(body=None), NotAnEndpoint, 3, "no chat completion"),
    "list": (Response(body=[1, 2]), NotAnEndpoint, 3, "no chat completion"),
    "other object": (Response(body={"object": "list", "data": []}), NotAnEndpoint, 3, "no chat completion"),
    "no choices": (Response(body={"choices": []}), NotAnEndpoint, 3, "no chat completion"),
    "null choices": (Response(body={"choices": None}), NotAnEndpoint, 3, "no chat completion"),
    "null choice": (Response(body={"choices": [None]}), NotAnEndpoint, 3, "no chat completion"),
    "null message": (completion(None), NotAnEndpoint, 3, "no chat completion"),
    "text for a message": (completion("hello"), NotAnEndpoint, 3, "no chat completion"),
    "list for a message": (completion([]), NotAnEndpoint, 3, "no chat completion"),
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


def test_a_reason_of_any_length_is_looked_at_once() -> None:
    """Only its beginning is, since a pattern may go over it from each of its words: this one would take hours."""
    outcome = ask(error(400, "input token count " * 500_000))
    assert type(outcome.error) is BadRequest and len(str(outcome.error)) < 500


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
    "a zone that is none": ({"retry-after": "Wed, 21 Oct 2015 07:28:00 +99999999999999"}, BACKOFF),
}


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("name", RETRY_AFTER)
def test_retry_after_is_honoured(name: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    headers, wait = RETRY_AFTER[name]
    monkeypatch.setattr("amemgym.llm.openai_errors.time", lambda: INSTANT.timestamp() - 0.01)
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
    monkeypatch.setattr("amemgym.llm.openai_errors.time", lambda: INSTANT.timestamp() - LONGEST_WAIT - 1)
    outcome = ask(error(429, "Slow down.", headers={"retry-after": asked}), attempts=6)
    assert type(outcome.error) is EndpointUnavailable
    assert outcome.server.arrived == 1
    assert outcome.heard.retries == []


def test_a_very_long_wait_is_told() -> None:
    outcome = ask(error(429, "Slow down.", headers={"retry-after": "3600"}), attempts=6)
    assert "3600" in str(outcome.error)
