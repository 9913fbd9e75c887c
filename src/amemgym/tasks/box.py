"""What an assistant that is a black box is asked: to reply, to take in a turn that was had without it, and to answer.

It remembers by itself, so each task carries the conversation so far, and not what a memory gave back. The conversation
is what makes two requests the same, and what a server that has lost it is told again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeVar

from amemgym.messages import Message
from amemgym.tasks.base import Task
from amemgym.tasks.parse import Parsed, Status, parse_text
from amemgym.tasks.prompts import Prompts

T = TypeVar("T")
#: what the user said and what the assistant replied
Turn = tuple[Message, ...]


@dataclass(frozen=True)
class Act(Task[str]):
    """Reply to a user message after these turns, and remember both. `episode` names the conversation."""

    name: ClassVar[str] = "act"
    episode: str
    turns: tuple[Turn, ...]
    message: Message

    def messages(self, prompts: Prompts) -> list[Message]:
        return [*_all(self.turns), self.message]

    def parse(self, reply: str | None) -> Parsed[str]:
        return parse_text(reply)

    def distinguishes(self) -> str:
        return _times([*_all(self.turns), self.message])


@dataclass(frozen=True)
class Listen(Task[None]):
    """Remember a turn that was had without it, after these turns."""

    name: ClassVar[str] = "listen"
    episode: str
    turns: tuple[Turn, ...]
    heard: Turn

    def messages(self, prompts: Prompts) -> list[Message]:
        return _all((*self.turns, self.heard))

    def parse(self, reply: str | None) -> Parsed[None]:
        """There is nothing to reply."""
        return Parsed(None, Status.OK)

    def distinguishes(self) -> str:
        return _times(_all((*self.turns, self.heard)))


@dataclass(frozen=True)
class Ask(Task[T]):
    """Answer a question after these turns, and remember nothing of it: the words of `question` without its context."""

    name: ClassVar[str] = "ask"
    episode: str
    turns: tuple[Turn, ...]
    question: Task[T]
    now: datetime | None = None

    def messages(self, prompts: Prompts) -> list[Message]:
        text = self.question.messages(prompts)[-1].content
        return [*_all(self.turns), Message("user", text, self.now)]

    def parse(self, reply: str | None) -> Parsed[T]:
        return self.question.parse(reply)

    def distinguishes(self) -> str:
        return f"{self.question.name} {self.question.distinguishes()} {_times(_all(self.turns))}"


def _all(turns: Iterable[Turn]) -> list[Message]:
    return [message for turn in turns for message in turn]


def _times(messages: Iterable[Message]) -> str:
    """A box is told the time of each message, beside its text."""
    return " ".join(message.time.isoformat() if message.time else "-" for message in messages)
