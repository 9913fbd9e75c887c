"""The exam's tasks: choose the option that suits the user's situation now, and (probe) say what that situation is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from amemgym.messages import TIME_FORMAT, Message
from amemgym.tasks.base import Context, Task
from amemgym.tasks.choice import Choice, parse_choice
from amemgym.tasks.conversation import assistant_messages
from amemgym.tasks.parse import Parsed, parse_values
from amemgym.tasks.prompts import Prompts
from amemgym.tasks.schema import Schema, an_object, one_of

#: for each option in the order shown, the values of the variables it is right for; never which one is gold
Labels = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class ChooseOption(Task[int]):
    """A multiple-choice question; the value is the chosen option's number, from 1, in the order shown."""

    name: ClassVar[str] = "choose_option"
    wants_json: ClassVar[bool] = True
    question: str
    options: tuple[str, ...]
    context: Context
    now: datetime | None = None

    def messages(self, prompts: Prompts) -> list[Message]:
        text = prompts.fill("exam", now=_time(self.now), question=self.question, options=_numbered(self.options))
        return [*assistant_messages(self.context, prompts), Message("user", text)]

    def parse(self, reply: str | None) -> Parsed[int]:
        return _as_parsed(parse_choice(reply, self.options))

    def reply_schema(self) -> Schema:
        return _answer(self.options)


@dataclass(frozen=True)
class ChooseKnowing(Task[int]):
    """The upper bound's question: the required states are given in the prompt and there is no conversation."""

    name: ClassVar[str] = "choose_knowing"
    wants_json: ClassVar[bool] = True
    question: str
    options: tuple[str, ...]
    known: tuple[tuple[str, str], ...]

    def messages(self, prompts: Prompts) -> list[Message]:
        known = "\n".join(f"- {name}: {value}" for name, value in self.known)
        text = prompts.fill("upper_bound", known=known, question=self.question, options=_numbered(self.options))
        return [prompts.system("assistant"), Message("user", text)]

    def parse(self, reply: str | None) -> Parsed[int]:
        return _as_parsed(parse_choice(reply, self.options))

    def reply_schema(self) -> Schema:
        return _answer(self.options)


@dataclass(frozen=True)
class ProbeStates(Task[dict[str, str | None]]):
    """The value each state variable has now, as far as the assistant knows; chosen among its possible values.

    The value is variable → value, None where the reply gives none of those possible.
    """

    name: ClassVar[str] = "probe_states"
    wants_json: ClassVar[bool] = True
    variables: Mapping[str, tuple[str, ...]]
    context: Context
    now: datetime | None = None

    def messages(self, prompts: Prompts) -> list[Message]:
        listed = "\n".join(f"- {name}: {_quoted(values)}" for name, values in self.variables.items())
        form = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: <value>" for name in self.variables)
        text = prompts.fill("probe", now=_time(self.now), variables=listed, form="{" + form + "}")
        return [*assistant_messages(self.context, prompts), Message("user", text)]

    def parse(self, reply: str | None) -> Parsed[dict[str, str | None]]:
        return parse_values(reply, self.variables)

    def reply_schema(self) -> Schema:
        return an_object({name: one_of(values) for name, values in self.variables.items()})


def _answer(options: tuple[str, ...]) -> Schema:
    return an_object({"answer": one_of(range(1, len(options) + 1))})


def _as_parsed(choice: Choice) -> Parsed[int]:
    return Parsed(choice.option, choice.status)


def _quoted(values: tuple[str, ...]) -> str:
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in values)


def _numbered(options: tuple[str, ...]) -> str:
    return "\n".join(f"{number}: {text}" for number, text in enumerate(options, start=1))


def _time(now: datetime | None) -> str:
    return f"[Current Time: {now.strftime(TIME_FORMAT)}]\n" if now else ""
