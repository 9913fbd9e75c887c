"""A memory system's own request to its model, taken as it is: its prompts are its own, its reply goes back unread.

The offline model cannot read such prompts. Whoever adapts the memory system to this package may say which task is meant
(`StandIn`); that task is solved instead, and the result worded as the memory system expects it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from amemgym.messages import Message
from amemgym.tasks.base import Task
from amemgym.tasks.parse import Parsed, Status
from amemgym.tasks.prompts import Prompts

T = TypeVar("T")

#: what of a chat completion's body says what is asked; how it is sampled is the run's
ASKING = ("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stop")


@dataclass(frozen=True)
class ToolCall:
    """A tool that a model wants called: `arguments` is JSON text, as it came."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class StandIn(Generic[T]):
    """The task that a prompt means, and how the value found (None where there is none) is worded in reply: text, or the
    tools to call."""

    task: Task[T]
    word: Callable[[T | None], str | tuple[ToolCall, ...]]


@dataclass(frozen=True)
class Chat(Task[str]):
    """One chat completion as a memory system asks for it. `body` has those of `ASKING` that it sent.

    `find_stand_in` is only called by a model that cannot read: with any other the reading of prompts decides nothing.
    """

    name: ClassVar[str] = "chat"
    body: Mapping[str, Any]
    find_stand_in: Callable[[Chat], StandIn[Any] | None] = field(default=lambda chat: None, compare=False, repr=False)

    @cached_property
    def stand_in(self) -> StandIn[Any] | None:
        """The task that is meant, where that is known."""
        return self.find_stand_in(self)

    def messages(self, prompts: Prompts) -> list[Message]:
        """Each message's text; what is no text (an image) is left out."""
        return [_as_message(message) for message in self.body["messages"]]

    def last_said(self) -> str:
        """The text of the last message that has the role of the user."""
        said = [message for message in self.body["messages"] if message.get("role") == "user"]
        return _as_message(said[-1]).content if said else ""

    def parse(self, reply: str | None) -> Parsed[str]:
        """The reply's text as it is: what can be read in it is the memory system's affair."""
        return Parsed(reply or "", Status.OK)

    def distinguishes(self) -> str:
        """All of the body, as its messages' texts are not all that is asked."""
        return json.dumps(self.body, sort_keys=True, ensure_ascii=True, default=str)


def _as_message(message: Mapping[str, Any]) -> Message:
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    role = message.get("role")
    return Message(role if role in ("system", "assistant") else "user", content if isinstance(content, str) else "")
