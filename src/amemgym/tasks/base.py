"""A request to a language model is a typed task: fields → messages, reply → a typed value with a status.

A language model gets the rendered messages; the embedded offline model reads the fields and solves the task directly.
So the same path runs with and without a model, and no test has to imitate a prompt.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """What makes two requests the same: the kind of task, every message and what else distinguishes it, by hash."""
    hasher = hashlib.sha256(task.name.encode() + task.distinguishes().encode("utf-8", "surrogatepass"))
    for message in messages:
        hasher.update(b"\x1e" + message.role.encode() + b"\x1f" + message.content.encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()[:32]


def listed(variables: Mapping[str, Sequence[str]]) -> str:
    """One line a variable: its name and its values, each as JSON text."""
    quoted = {n: ", ".join(json.dumps(v, ensure_ascii=False) for v in values) for n, values in variables.items()}
    return "\n".join(f"- {name}: {values}" for name, values in quoted.items())
