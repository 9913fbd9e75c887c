"""A request to a language model is a typed task: fields → messages, reply → a typed value with a status.

A language model gets the rendered messages; the embedded offline model reads the fields and solves the task directly.
So the same path runs with and without a model, and no test has to imitate a prompt.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, Generic, TypeVar

from amemgym.messages import Message
from amemgym.tasks.parse import Parsed
from amemgym.tasks.prompts import Prompts
from amemgym.tasks.schema import Schema

T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """What an assistant has before it when it speaks: what its memory gave back, and the recent conversation."""

    memories: tuple[str, ...] = ()
    conversation: tuple[Message, ...] = ()


class Task(ABC, Generic[T]):
    """One kind of request. Subclasses are frozen dataclasses."""

    name: ClassVar[str]
    #: whether the reply should be a JSON object (endpoints are asked to hold to it)
    wants_json: ClassVar[bool] = False

    @abstractmethod
    def messages(self, prompts: Prompts) -> list[Message]:
        """The request as chat messages."""

    @abstractmethod
    def parse(self, reply: str | None) -> Parsed[T]:
        """The reply as a value with a status; never raises, never guesses."""

    def distinguishes(self) -> str:
        """What tells this request from another beside its messages."""
        return ""

    def reply_schema(self) -> Schema | None:
        """The JSON schema of the reply, where one is known; for models whose decoding can be held to it."""
        return None


def digest(task: Task[T], messages: Sequence[Message]) -> str:
    """What makes two requests the same: the kind of task, every message and what else distinguishes it, by hash.

    A message is hashed once, however many requests it stands in: a request's hash is made of its messages' hashes.
    """
    beside = task.distinguishes()
    if beside:
        beside = sha256(beside.encode("utf-8", "surrogatepass")).hexdigest()
    parts = [message.digest for message in messages]
    return sha256(b"%s %s\x1e" % (task.name.encode(), beside.encode()) + b"".join(parts)).hexdigest()[:32]


def listed(variables: Mapping[str, Sequence[str]]) -> str:
    """One line a variable: its name and its values, each as JSON text."""
    quoted = {n: ", ".join(json.dumps(v, ensure_ascii=False) for v in values) for n, values in variables.items()}
    return "\n".join(f"- {name}: {values}" for name, values in quoted.items())
