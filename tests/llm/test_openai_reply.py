"""What is read in a completion: nothing is believed before it is looked at, and only counts are taken for counts."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from amemgym.llm import Usage
from amemgym.llm.openai_reply import Failure, NoCompletion, Reply, read_reply
from amemgym.llm.openai_usage import read_usage

FULL: dict[str, Any] = {
    "id": "chatcmpl-0",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Ride.",
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "keep", "arguments": '{"a": 1}'}}],
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 70,
        "completion_tokens": 30,
        "total_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 20},
    },
    "error": None,
}
WRONG: list[Any] = [
    None,
    [],
    {},
    7,
    -1,
    2.5,
    10**300,
    True,
    "",
    "text",
    [[]],
    [7],
    {"a": {"b": []}},
    [{"content": "x"}],
]


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value within."""
    yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from places(part, (*way, name))


def changed(way: tuple[Any, ...], to: Any) -> Any:
    """The full answer with one value changed."""
    if not way:
        return to
    whole = copy.deepcopy(FULL)
    inner: Any = whole
    for name in way[:-1]:
        inner = inner[name]
    inner[way[-1]] = to
    return whole


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_whole_answer_is_read_whole() -> None:
    reply = read_reply(body(FULL))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish, len(reply.calls)) == ("Ride.", "stop", 1)
    assert reply.usage == Usage(70, 30, cached=64, reasoning=20)


@pytest.mark.parametrize("way", list(places(FULL)), ids=lambda way: ".".join(map(str, way)) or "all")
def test_a_wrong_type_anywhere_is_no_surprise(way: tuple[Any, ...]) -> None:
    """Each value of the answer in turn is anything else: what can be read still is, of the right types."""
    for wrong in WRONG:
        try:
            reply = read_reply(body(changed(way, wrong)))
        except NoCompletion as error:
            assert way == () or way[0] == "choices", way
            assert "\n" not in str(error) and len(str(error)) <= 80
            continue
        if isinstance(reply, Failure):
            assert way == ("error",) and isinstance(wrong, dict)
            assert (type(reply.status), type(reply.message)) == (int, str)
            continue
        assert isinstance(reply.text, str) and isinstance(reply.finish, str)
        assert all(isinstance(part, str) for call in reply.calls for part in (call.id, call.name, call.arguments))
        if reply.usage is not None:
            counts = (reply.usage.input, reply.usage.output, reply.usage.cached or 0, reply.usage.reasoning or 0)
            assert all(type(count) is int and 0 <= count < 10**12 for count in counts)


NO_JSON = {
    "nothing": b"",
    "white space": b" \n\t",
    "half": body(FULL)[:150],
    "more than one": body(FULL) * 2,
    "HTML": b"<html>Sign in</html>",
    "a stream": b"data: " + body(FULL) + b"\n\ndata: [DONE]\n\n",
    "no UTF-8": b'{"choices": "\xff\xfe"}',
    "zeros": bytes(1000),
    "too deep": b"[" * 200_000,
    "too deep, closed": b'{"choices":' * 50_000 + b"1" + b"}" * 50_000,
    "a number without end": b'{"usage": ' + b"9" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", NO_JSON)
def test_what_is_no_json_is_no_completion(name: str) -> None:
    with pytest.raises(NoCompletion):
        read_reply(NO_JSON[name])


@pytest.mark.parametrize("sign", [b"\xef\xbb\xbf", b"  \n"])
def test_signs_before_the_json_do_no_harm(sign: bytes) -> None:
    assert isinstance(read_reply(sign + body(FULL)), Reply)


TWO = {"prompt_tokens": 70, "completion_tokens": 30}
#: what the endpoint says beside input and output → what is cached and what is reasoning
TOLD: list[tuple[dict[str, Any], int | None, int | None]] = [
    ({}, None, None),
    ({"prompt_tokens_details": None, "completion_tokens_details": None}, None, None),
    ({"prompt_tokens_details": {"cached_tokens": 0}}, 0, None),
    ({"prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0}}, 64, None),
    ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 6}, 64, None),
    ({"cached_tokens": 64}, 64, None),
    ({"cache_read_input_tokens": 64}, 64, None),
    ({"prompt_tokens_details": {"cached_tokens": None}, "prompt_cache_hit_tokens": 64}, 64, None),
    ({"completion_tokens_details": {"reasoning_tokens": 20}}, None, 20),
    ({"completion_tokens_details": {"reasoning_tokens": 0}}, None, 0),
    ({"reasoning_tokens": 20}, None, 20),
    # no counts
    ({"prompt_tokens_details": {"cached_tokens": "64"}}, None, None),
    ({"prompt_tokens_details": {"cached_tokens": -1}}, None, None),
    ({"prompt_tokens_details": {"cached_tokens": 2.0}}, None, None),
    ({"prompt_tokens_details": {"cached_tokens": True}}, None, None),
    ({"prompt_tokens_details": [64]}, None, None),
    ({"prompt_tokens_details": {"cached_tokens": 71}}, None, None),  # more than were read
    ({"completion_tokens_details": {"reasoning_tokens": 31}}, None, None),
]


@pytest.mark.parametrize(("said", "cached", "reasoning"), TOLD)
def test_cached_and_reasoning_are_those_that_are_told(
    said: dict[str, Any], cached: int | None, reasoning: int | None
) -> None:
    assert read_usage(TWO | said) == Usage(70, 30, cached=cached, reasoning=reasoning)


def test_reasoning_that_is_counted_apart_is_output_too() -> None:
    """Of some endpoints the total tells that it is not among the completion's tokens; it is paid for as they are."""
    said = TWO | {"completion_tokens_details": {"reasoning_tokens": 200}, "total_tokens": 300}
    assert read_usage(said) == Usage(70, 230, reasoning=200)


@pytest.mark.parametrize("wrong", [None, "7", -1, 2.5, True, [7], 10**300])
def test_without_both_counts_there_is_no_usage(wrong: Any) -> None:
    assert read_usage(TWO | {"prompt_tokens": wrong}) is None
    assert read_usage(TWO | {"completion_tokens": wrong}) is None
    assert read_usage([wrong]) is None
