"""The judge's tasks: what a message gives away of the user's state, and which state an answer was written for.

The judge is not told what was intended; a data set is sound where it finds the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from amemgym.messages import Message
from amemgym.tasks.base import Task, listed
from amemgym.tasks.memorising import transcript
from amemgym.tasks.parse import Parsed, Status, parse_object, parse_revealed, parse_values
from amemgym.tasks.prompts import Prompts
from amemgym.tasks.schema import Schema, an_object, one_of


@dataclass(frozen=True)
class RevealedStates(Task[dict[str, str]]):
    """Which variables' current values a user's message tells, and which values; variables it is silent on are left out.

    `before` is the conversation so far, which is there to be understood and not judged.
    """

    name: ClassVar[str] = "revealed_states"
    wants_json: ClassVar[bool] = True
    message: str
    variables: Mapping[str, tuple[str, ...]]
    before: tuple[Message, ...] = ()

    def messages(self, prompts: Prompts) -> list[Message]:
        text = prompts.fill(
            "revealed_states",
            variables=listed(self.variables),
            before=transcript(self.before) or "-",
            message=self.message,
        )
        return [Message("user", text)]

    def parse(self, reply: str | None) -> Parsed[dict[str, str]]:
        return parse_revealed(reply, self.variables, "revealed")

    def reply_schema(self) -> Schema:
        values = {name: one_of(values) for name, values in self.variables.items()}
        return an_object({"revealed": an_object(values, optional=True)})


@dataclass(frozen=True)
class RecoverVariant(Task[dict[str, str | None]]):
    """The value of each variable that an answer to an advice question was written for; None where it fits none best."""

    name: ClassVar[str] = "recover_variant"
    wants_json: ClassVar[bool] = True
    question: str
    answer: str
    variables: Mapping[str, tuple[str, ...]]

    def messages(self, prompts: Prompts) -> list[Message]:
        form = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: <value>" for name in self.variables)
        text = prompts.fill(
            "recover_variant",
            question=self.question,
            answer=self.answer,
            variables=listed(self.variables),
            form="{" + form + "}",
        )
        return [Message("user", text)]

    def parse(self, reply: str | None) -> Parsed[dict[str, str | None]]:
        parsed = parse_values(reply, self.variables)
        given = parse_object(reply).value if parsed.value is None else None
        if given is not None and all(name in given and given[name] is None for name in self.variables):
            # that it is none, is said of each: unlike a reply with other words, this one is read
            return Parsed(dict.fromkeys(self.variables), Status.REPAIRED)
        return parsed

    def reply_schema(self) -> Schema:
        return an_object({name: one_of([*values, None]) for name, values in self.variables.items()})
