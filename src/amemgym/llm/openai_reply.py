"""A chat completion as it is read: every field is looked at before it is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from amemgym.clean import clean
from amemgym.llm.openai_usage import read_usage
from amemgym.llm.provider import Usage
from amemgym.secrets import redact
from amemgym.tasks import ToolCall


class NoCompletion(Exception):
    """The body is no chat completion; the text is what it says, in one line, without keys."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The first choice. `finish` is why it ended, and `usage` None where the endpoint does not count."""

    text: str
    finish: str
    calls: tuple[ToolCall, ...]
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in a good answer: some routers say 200 before the provider behind them fails."""

    status: int
    message: str


def read_reply(body: bytes) -> Reply | Failure:
    """Read the body of a good answer. Raises NoCompletion."""
    try:
        said = json.loads(body)
        found = _read(said)
    except (ValueError, RecursionError):
        raise NoCompletion(_one_line(body.decode("utf-8", "replace"))) from None
    if found is None:
        raise NoCompletion(_one_line(json.dumps(said, ensure_ascii=False)))
    return found


def _read(said: Any) -> Reply | Failure | None:
    if not isinstance(said, dict):
        return None
    error, choices = said.get("error"), said.get("choices")
    if isinstance(error, dict):
        status = error.get("code")
        return Failure(status if type(status) is int else 400, str(error.get("message") or "no reason given"))
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return None
    text, finish = message.get("content"), choice.get("finish_reason")
    return Reply(
        text if isinstance(text, str) else "",
        clean(finish) if isinstance(finish, str) else str(None),
        _calls(message.get("tool_calls")),
        read_usage(said.get("usage")),
    )


def _calls(said: Any) -> tuple[ToolCall, ...]:
    """The functions that the model wants called."""
    found = []
    for n, call in enumerate(said if isinstance(said, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            id, name = call.get("id"), function.get("name")
            found.append(
                ToolCall(
                    id if isinstance(id, str) and id else f"call_{n}",
                    name if isinstance(name, str) else "",
                    _as_json(function.get("arguments")),
                )
            )
    return tuple(found)


def _as_json(arguments: Any) -> str:
    """Arguments as text, which some servers give as the object itself."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)


def _one_line(text: str) -> str:
    return " ".join(redact(text).split())[:80]
