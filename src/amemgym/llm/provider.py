"""What the door asks of a model: take one request, give one completion, or raise a named error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from amemgym.messages import Message
from amemgym.tasks import Labels, Prompts, Task, ToolCall

#: what an estimate without a tokenizer uses
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `estimated` where the endpoint did not count them itself.

    `cached` are those of the input that the endpoint had read before, `reasoning` those of the output that are not part
    of the reply; None where it does not say.
    """

    input: int = 0
    output: int = 0
    estimated: bool = False
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True)
class Request:
    """One call: the typed task (which an offline model solves), its messages (which a language model reads).

    `labels` are the exam's variant labels; the door hands them over, they are never rendered, and only a model that
    solves tasks by itself looks at them. `prompts` are the words the messages are made of, for a model that puts a
    task in several ways.
    """

    task: Task[Any]
    messages: Sequence[Message]
    labels: Labels | None = None
    prompts: Prompts | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply's text (reasoning is not part of it) and what it cost.

    `seconds` is how long the model took: a provider whose calls wait for one another gives it, else the door measures.
    `calls` are the tools it wants called, which only a memory system's own request can offer.
    """

    text: str
    usage: Usage
    finish: str = "stop"
    seconds: float = 0.0
    calls: tuple[ToolCall, ...] = ()


class Provider(Protocol):
    """A model that can be asked."""

    async def complete(self, request: Request) -> Completion:
        """Raises the errors of `amemgym.errors`; EndpointUnavailable where trying again may help."""
        ...

    async def aclose(self) -> None: ...


def estimate_tokens(texts: Iterable[str]) -> int:
    """Characters / 4, rounded up: a rough count for text whose tokenizer is not known."""
    return tokens_in(sum(map(len, texts)))


def tokens_in(characters: int) -> int:
    """The same for who has counted the characters."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


def estimate_usage(messages: Sequence[Message], text: str) -> Usage:
    """Usage by `estimate_tokens`, marked as an estimate."""
    return Usage(estimate_tokens(m.content for m in messages), estimate_tokens([text]), estimated=True)
