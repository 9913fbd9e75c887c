"""The tasks of agentic writing: extract facts, reconcile them with what is stored, rewrite a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal

from amemgym.messages import TIME_FORMAT, Message
from amemgym.tasks.base import Task
from amemgym.tasks.parse import Parsed, Status, parse_object, parse_text
from amemgym.tasks.prompts import Prompts
from amemgym.tasks.schema import TEXT, Schema, an_object, list_of, one_of

OperationKind = Literal["add", "update", "delete", "keep"]


@dataclass(frozen=True)
class Operation:
    """One change of a store of facts: `id` names the stored fact (None for add), `text` the new wording."""

    kind: OperationKind
    id: int | None = None
    text: str = ""


@dataclass(frozen=True)
class ExtractFacts(Task[list[str]]):
    """Which lasting facts about the user these messages hold, each a sentence that stands alone.

    `policy` is the part of the prompt that says what is worth remembering; "" is the template's own."""

    name: ClassVar[str] = "extract_facts"
    wants_json: ClassVar[bool] = True
    conversation: tuple[Message, ...]
    now: datetime
    policy: str = ""

    def messages(self, prompts: Prompts) -> list[Message]:
        fields = {"conversation": transcript(self.conversation), "now": self.now.strftime(TIME_FORMAT)}
        policy = self.policy or prompts.fill("policy_facts")
        return [Message("user", prompts.fill("extract_facts", policy=apart(policy), **fields))]

    def parse(self, reply: str | None) -> Parsed[list[str]]:
        parsed = parse_object(reply)
        if parsed.value is None:
            return Parsed(None, parsed.status)
        facts = parsed.value.get("facts")
        if not isinstance(facts, list):
            return Parsed(None, Status.INVALID)
        texts = [fact.strip() for fact in facts if isinstance(fact, str) and fact.strip()]
        return Parsed(texts, parsed.status if len(texts) == len(facts) else Status.REPAIRED)

    def reply_schema(self) -> Schema:
        return an_object({"facts": list_of(TEXT)})


@dataclass(frozen=True)
class ReconcileFacts(Task[list[Operation]]):
    """How new facts change the stored ones: add, update, delete or keep. Stored facts are (id, text), ids from 0.

    `room` is the most facts the store may have, where that is limited; then `policy` says what is worth it."""

    name: ClassVar[str] = "reconcile_facts"
    wants_json: ClassVar[bool] = True
    stored: tuple[tuple[int, str], ...]
    facts: tuple[str, ...]
    now: datetime
    policy: str = ""
    room: int | None = None

    def messages(self, prompts: Prompts) -> list[Message]:
        text = prompts.fill(
            "reconcile_facts",
            stored="\n".join(f"{number}: {fact}" for number, fact in self.stored) or "(nothing yet)",
            facts="\n".join(f"- {fact}" for fact in self.facts),
            now=self.now.strftime(TIME_FORMAT),
            room="" if self.room is None else self._room(self.room, prompts),
        )
        return [Message("user", text)]

    def _room(self, room: int, prompts: Prompts) -> str:
        return prompts.fill("facts_room", facts=room, policy=self.policy or prompts.fill("policy_facts"))

    def parse(self, reply: str | None) -> Parsed[list[Operation]]:
        """Operations on facts that do not exist, or of no known kind, are left out (status repaired)."""
        parsed = parse_object(reply)
        if parsed.value is None:
            return Parsed(None, parsed.status)
        raw = parsed.value.get("operations")
        if not isinstance(raw, list):
            return Parsed(None, Status.INVALID)
        known = {number for number, _ in self.stored}
        operations = [operation for entry in raw if (operation := _operation(entry, known))]
        return Parsed(operations, parsed.status if len(operations) == len(raw) else Status.REPAIRED)

    def reply_schema(self) -> Schema:
        known = [number for number, _ in self.stored]
        forms = [an_object({"event": one_of(["add"]), "text": TEXT})]
        if known:
            forms += [
                an_object({"event": one_of(["update"]), "id": one_of(known), "text": TEXT}),
                an_object({"event": one_of(["delete", "keep"]), "id": one_of(known)}),
            ]
        return an_object({"operations": list_of({"anyOf": forms})})


@dataclass(frozen=True)
class UpdateRecord(Task[str]):
    """Rewrite the one labelled record about the user. `variables` names what to keep track of (an ablation of AWI).

    `policy` is the part of the prompt that says what to remember ("" is the template's own), `room` the most lines the
    record may have."""

    name: ClassVar[str] = "update_record"
    record: str
    conversation: tuple[Message, ...]
    now: datetime
    variables: tuple[str, ...] = ()
    policy: str = ""
    room: int | None = None

    def messages(self, prompts: Prompts) -> list[Message]:
        fields = {
            "record": self.record or "(empty)",
            "conversation": transcript(self.conversation),
            "now": self.now.strftime(TIME_FORMAT),
            "room": "" if self.room is None else prompts.fill("record_room", lines=self.room),
        }
        if self.variables:
            names = "\n".join(f"- {name}" for name in self.variables)
            return [Message("user", prompts.fill("update_record_named", variables=names, **fields))]
        policy = self.policy or prompts.fill("policy_record")
        return [Message("user", prompts.fill("update_record", policy=apart(policy), **fields))]

    def parse(self, reply: str | None) -> Parsed[str]:
        return parse_text(reply)


def apart(policy: str) -> str:
    """A policy in the midst of a prompt: the prompt goes on below the last line of a list."""
    return f"{policy}\n" if "\n" in policy else policy


def transcript(messages: Sequence[Message]) -> str:
    """Messages as lines of text, each behind its role."""
    return "\n".join(f"{message.role.upper()}: {message.content}" for message in messages)


def _operation(entry: Any, known: set[int]) -> Operation | None:
    if not isinstance(entry, dict):
        return None
    kind = str(entry.get("event", entry.get("operation", ""))).lower()
    text = entry.get("text")
    text = text.strip() if isinstance(text, str) else ""
    if kind == "add":
        return Operation("add", None, text) if text else None
    number = entry.get("id")
    if isinstance(number, str) and number.strip().isdecimal():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or number not in known:
        return None
    if kind == "update":
        return Operation("update", number, text) if text else None
    if kind == "delete":
        return Operation("delete", number)
    return Operation("keep", number) if kind in ("keep", "none") else None
