"""What an agent is: it replies in conversation, and a frozen copy of it answers the exam.

An agent sees user messages, questions and options with their simulated times. It never sees states or gold; the names
and possible values of variables are shown to the copy that is probed, and to nothing that remembers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from amemgym.memory import Item
from amemgym.messages import Message
from amemgym.tasks import Status


@dataclass(frozen=True)
class ExamQuestion:
    """A question as it is asked: the options in the order shown, and the simulated time."""

    query: str
    options: tuple[str, ...]
    now: datetime


@dataclass(frozen=True)
class ExamReply:
    """The option chosen (its number from 1, or None), how readable the reply was, and what memory had given back.

    `dropped` messages of the window did not fit the model's context.
    """

    option: int | None
    status: Status
    text: str
    items: tuple[Item, ...] = ()
    dropped: int = 0


@dataclass(frozen=True)
class ProbeQuestion:
    """Which values these state variables have now: variable → its possible values in the order shown."""

    variables: Mapping[str, tuple[str, ...]]
    now: datetime

    @property
    def query(self) -> str:
        """What a memory is asked for: the variables' names as words, without their values."""
        return ", ".join(name.replace("_", " ") for name in self.variables)


@dataclass(frozen=True)
class ProbeReply:
    """The value given to each variable (None where no possible one is), and what memory had given back."""

    values: Mapping[str, str | None]
    status: Status
    text: str
    items: tuple[Item, ...] = ()
    dropped: int = 0


@dataclass(frozen=True)
class OpenReply:
    """What was replied to a prompt without options (None where the model gave no text), and what memory gave back.

    `dropped` messages of the window did not fit the model's context.
    """

    text: str | None
    status: Status
    items: tuple[Item, ...] = ()
    dropped: int = 0


class Examinee(Protocol):
    """A copy of an agent, made to answer one question, one probe or one prompt."""

    async def answer(self, question: ExamQuestion) -> ExamReply: ...

    async def probe(self, question: ProbeQuestion) -> ProbeReply: ...

    async def respond(self, prompt: Sequence[Message], query: str | None = None) -> OpenReply:
        """Reply to a conversation that ends with the user's message, and remember nothing of it. `query` is what the
        memory is searched for, if not that message."""
        ...

    async def aclose(self) -> None:
        """It is asked nothing more."""
        ...


class Agent(Protocol):
    """One assistant in one episode."""

    @property
    def dropped(self) -> int:
        """Messages lost because the model's context was full."""
        ...

    @property
    def waits_for_exams(self) -> bool:
        """Whether what `freeze` gives only holds until the next turn, so that exams cannot go on beside it."""
        ...

    def adopt(self, policy: str) -> None:
        """From here on remember (or search) as this text says; what was frozen before keeps to what it was told then.
        An assistant without a prompt of ours for it goes on as it is."""
        ...

    async def reply(self, message: Message) -> Message:
        """The assistant's reply to a user message, having remembered what it remembers. Raises ModelError."""
        ...

    async def listen(self, messages: Sequence[Message]) -> None:
        """Take in a recorded stretch of conversation, remembering as if the replies were its own. Raises ModelError."""
        ...

    async def conclude(self) -> None:
        """The conversation is over, and what is said next is another: what stands in the window is written to the
        memory and leaves it. An agent whose memory is its window keeps it. Raises ModelError."""
        ...

    async def freeze(self) -> Callable[[], Awaitable[Examinee]]:
        """The agent as it is now: each call makes a fresh examinee of that moment, whatever happens since (but see
        `waits_for_exams`)."""
        ...

    async def holdings(self) -> list[Item] | None:
        """What its memory holds, or None where that cannot be told."""
        ...

    async def aclose(self) -> None:
        """The episode is over."""
        ...
