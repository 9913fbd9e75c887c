"""The tasks of a conversation: the assistant replies, the simulated user follows up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from amemgym.messages import TIME_FORMAT, Message
from amemgym.tasks.base import Context, Task
from amemgym.tasks.parse import Parsed, parse_text
from amemgym.tasks.prompts import Prompts


def assistant_messages(context: Context, prompts: Prompts) -> list[Message]:
    """The system prompt with what memory gave back, then the conversation."""
    if not context.memories:
        return [prompts.system("assistant"), *context.conversation]
    lines = "\n".join(f"- {memory}" for memory in context.memories)
    return [Message("system", prompts.fill("assistant_with_memories", memories=lines)), *context.conversation]


@dataclass(frozen=True)
class Reply(Task[str]):
    """The assistant answers the last user message of its context."""

    name: ClassVar[str] = "reply"
    context: Context

    def messages(self, prompts: Prompts) -> list[Message]:
        return assistant_messages(self.context, prompts)

    def parse(self, reply: str | None) -> Parsed[str]:
        return parse_text(reply)


@dataclass(frozen=True)
class FollowUp(Task[str]):
    """The simulated user says the next thing in a session.

    `state` is the user's current state, or None where the user is told the initial profile only (protocol v1).
    `exposed` is what this session reveals; nothing else of the state may be said.
    """

    name: ClassVar[str] = "follow_up"
    profile: str
    schema: Mapping[str, list[str]]
    state: Mapping[str, str] | None
    exposed: Mapping[str, str]
    conversation: tuple[Message, ...]
    now: datetime

    def messages(self, prompts: Prompts) -> list[Message]:
        def lines(pairs: Mapping[str, object]) -> str:
            return "\n".join(f"- {name}: {value}" for name, value in pairs.items()) or "-"

        if self.state is None:
            template, state = "follow_up_profile_only", ""
        else:
            template, state = "follow_up", lines(self.state)
        text = prompts.fill(
            template,
            profile=self.profile,
            schema=lines({name: ", ".join(values) for name, values in self.schema.items()}),
            state=state,
            exposed=lines(self.exposed),
            conversation="\n\n".join(f"{m.role.upper()}: {m.content}" for m in self.conversation),
            now=self.now.strftime(TIME_FORMAT),
        )
        return [Message("user", text)]

    def parse(self, reply: str | None) -> Parsed[str]:
        return parse_text(reply)
