"""What the tasks of generation have in common: each can be put again, with the reply that failed and what was wrong.

The model then sees its own reply and every fault as a sentence, through one template (`repair`) for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from amemgym.messages import Message
from amemgym.tasks.base import Task
from amemgym.tasks.parse import Parsed, Status, parse_object
from amemgym.tasks.prompts import Prompts
from amemgym.tasks.schema import Schema, of_form

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class StageTask(Task[T]):
    """One stage's request, by the template of its name. `form` is the JSON that the reply should be."""

    form: ClassVar[str]
    wants_json: ClassVar[bool] = True
    faults: tuple[str, ...] = ()
    previous: str = ""

    @abstractmethod
    def fields(self) -> Mapping[str, object]:
        """What fills the template."""

    @abstractmethod
    def read(self, found: Mapping[str, Any]) -> T | None:
        """The value in the reply's JSON object, or None where it has another form."""

    def messages(self, prompts: Prompts) -> list[Message]:
        request = Message("user", prompts.fill(self.name, **self.fields()))
        if not self.faults:
            return [request]
        told = "\n".join(f"- {fault}" for fault in self.faults)
        repair = prompts.fill("repair", faults=told, form=self.form)
        return [request, Message("assistant", self.previous or "-"), Message("user", repair)]

    def parse(self, reply: str | None) -> Parsed[T]:
        parsed = parse_object(reply)
        if parsed.value is None:
            return Parsed(None, parsed.status)
        value = self.read(parsed.value)
        return Parsed(value, parsed.status if value is not None else Status.INVALID)

    def reply_schema(self) -> Schema:
        return of_form(self.form)


def text_of(said: Any) -> str | None:
    """A text that is one, without the white space around it; None for anything else and for nothing."""
    return said.strip() or None if isinstance(said, str) else None


def texts_of(said: Any) -> tuple[str, ...] | None:
    """A list of such texts."""
    if not isinstance(said, list):
        return None
    texts = [text_of(entry) for entry in said]
    return tuple(text for text in texts if text is not None) if None not in texts else None
