"""OpenAI's HTTP interface as the gateway speaks it: bodies read, completions, embeddings and errors written.

Nothing here is drawn or taken from a clock, so that the same request has the same answer to the byte.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from amemgym.clean import clean
from amemgym.errors import (
    AuthenticationFailed,
    ContentFiltered,
    ContextOverflow,
    EndpointUnavailable,
    ModelError,
    NotAnEndpoint,
    QuotaExhausted,
    StorageError,
)
from amemgym.llm.embed import Vectors
from amemgym.llm.lent import EMBEDDING_MODEL, MODEL, Refused
from amemgym.llm.provider import Completion, Usage
from amemgym.secrets import redact
from amemgym.tasks import Chat, digest
from amemgym.tasks.chat import ASKING

#: error → HTTP status and OpenAI's code
_ERRORS: tuple[tuple[type[Exception], int, str | None], ...] = (
    (AuthenticationFailed, 401, "invalid_api_key"),
    (QuotaExhausted, 402, "insufficient_quota"),
    (ContextOverflow, 400, "context_length_exceeded"),
    (ContentFiltered, 400, "content_filter"),
    (EndpointUnavailable, 503, "unavailable"),
    (NotAnEndpoint, 503, "unavailable"),
    (StorageError, 503, "unavailable"),
    (ModelError, 400, None),
)
#: what would be left out without a word, where it is sent with anything but this or null
_ONLY = {"n": 1, "logprobs": False, "functions": [], "function_call": "none", "audio": {}}


def read_body(raw: bytes) -> dict[str, Any]:
    """A request's body, with keys struck out and half characters replaced. Raises Refused."""
    try:
        body = json.loads(raw, parse_constant=_finite, parse_float=_finite)
        if isinstance(body, dict):
            cleaned: dict[str, Any] = clean(body)
            return cleaned
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body of its request is no JSON that can be read ({error})") from error
    raise Refused(400, "the body of its request is no JSON object")


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError(f"{number} is no number of JSON")
    return value


def asked_for(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a chat completion's body asks. Raises Refused for what cannot be answered."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "its request has no messages; send at least one in `messages`")
    if not all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages):
        raise Refused(400, "its request has a message without a role; each is an object with `role` and `content`")
    for name, only in _ONLY.items():
        if body.get(name, only) not in (only, None):
            raise Refused(400, f"its request has `{name}` = {_short(body[name])}, which is not served; leave it out")
    return {name: body[name] for name in ASKING if body.get(name) is not None}


def texts_of(body: Mapping[str, Any], dimensions: int) -> list[str]:
    """The texts that a body wants embedded. Raises Refused."""
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise Refused(400, "its request for embeddings has no input; send a text or a list of texts")
    if not all(isinstance(text, str) for text in texts):
        way = "send text (in LangChain: check_embedding_ctx_length=False)"
        raise Refused(400, f"its request for embeddings has tokens, or no texts, for input; {way}")
    if body.get("dimensions") not in (None, dimensions):
        raise Refused(
            400, f"its request wants {_short(body['dimensions'])} dimensions; the vectors here have {dimensions}"
        )
    if body.get("encoding_format") not in (None, "float", "base64"):
        raise Refused(400, f"encoding_format is {_short(body['encoding_format'])}; it can be float or base64")
    return texts


def wants_usage(body: Mapping[str, Any]) -> bool:
    """Whether a stream shall end with the usage."""
    options = body.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))


def completion(asked: Mapping[str, Any], reply: Completion) -> dict[str, Any]:
    """A chat completion. Its id is the request's hash."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message = {"role": "assistant", "content": reply.text or None, "tool_calls": _tool_calls(reply)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    return _head(asked, "chat.completion") | {"choices": [choice], "usage": _usage(reply.usage)}


def chunks(asked: Mapping[str, Any], reply: Completion, with_usage: bool) -> Iterator[bytes]:
    """The same as server-sent events: the whole message, why it ended, [DONE]."""
    head = _head(asked, "chat.completion.chunk")
    delta: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        delta["tool_calls"] = [{"index": n} | call for n, call in enumerate(_tool_calls(reply))]
    for part, finish in ((delta, None), ({}, _finish(reply))):
        yield _event(head | {"choices": [{"index": 0, "delta": part, "logprobs": None, "finish_reason": finish}]})
    if with_usage:
        yield _event(head | {"choices": [], "usage": _usage(reply.usage)})
    yield b"data: [DONE]\n\n"


def embeddings(vectors: Vectors, tokens: int, encoding: str) -> dict[str, Any]:
    """Vectors as numbers, or as base64 of little-endian 32-bit floats."""
    written: Sequence[Any] = vectors.tolist()
    if encoding == "base64":
        written = [base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii") for vector in vectors]
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(written)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": EMBEDDING_MODEL, "usage": usage}


def models() -> dict[str, Any]:
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "amemgym"} for name in (MODEL, EMBEDDING_MODEL)]
    return {"object": "list", "data": listed}


def error(failure: Exception) -> tuple[int, dict[str, Any]]:
    """An error's status and body."""
    status, code = 500, None
    if isinstance(failure, Refused):
        status = failure.status
    else:
        for kind, its_status, its_code in _ERRORS:
            if isinstance(failure, kind):
                status, code = its_status, its_code
                break
    kinds = {401: "authentication_error", 402: "insufficient_quota"}
    name = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    sentence = redact(str(failure)) or type(failure).__name__
    return status, {"error": {"message": sentence, "type": name, "param": None, "code": code}}


def _head(asked: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{digest(Chat(asked), ())}", "object": kind, "created": 0, "model": MODEL}


def _tool_calls(reply: Completion) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.calls
    ]


def _finish(reply: Completion) -> str:
    """Why it ended, of the reasons that clients know."""
    known = ("stop", "length", "tool_calls", "content_filter")
    return reply.finish if reply.finish in known else "tool_calls" if reply.calls else "stop"


def _usage(usage: Usage) -> dict[str, int]:
    total = usage.input + usage.output
    return {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": total}


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode("ascii") + b"\n\n"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"
