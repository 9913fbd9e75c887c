"""The tasks that make a user's life: what they will ask, what it depends on, how that begins, changes and why.

Each gives what the model proposes; whether it fits the rules is for its caller to check, who can put the task again
with what was wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from amemgym.tasks.base import listed
from amemgym.tasks.parse import named_values
from amemgym.tasks.stage import StageTask, text_of, texts_of


@dataclass(frozen=True)
class DraftQuestion:
    """A question and the variables its answer depends on, each with its values."""

    text: str
    variables: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Merged:
    """Variables of several questions that are one: its name, its values, and the places (`2/name`) it stands for."""

    name: str
    values: tuple[str, ...]
    members: tuple[str, ...]


@dataclass(frozen=True)
class Merging:
    """What becomes of all questions' variables: some are one, some get another name, the others stay."""

    merged: tuple[Merged, ...]
    renamed: Mapping[str, str]


@dataclass(frozen=True)
class Updates:
    """The new values of a period and its story in a sentence or two."""

    new: Mapping[str, str]
    summary: str


@dataclass(frozen=True)
class LifeEvent:
    """What happened, and the variables whose change it explains."""

    text: str
    variables: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MakeQuestions(StageTask[tuple[DraftQuestion, ...]]):
    """Advice questions of a person, each with the variables that decide its answer; `earlier` are there already."""

    name: ClassVar[str] = "make_questions"
    form: ClassVar[str] = '{"questions": [{"question": "...", "variables": {"<name>": ["<value>", ...], ...}}, ...]}'
    profile: str
    count: int
    states: int
    values: int
    earlier: tuple[str, ...] = ()

    def fields(self) -> Mapping[str, object]:
        earlier = "\n".join(f"- {question}" for question in self.earlier) or "-"
        counts = {"count": self.count, "states": self.states, "values": self.values}
        return {"profile": self.profile, "earlier": earlier, "form": self.form, **counts}

    def read(self, found: Mapping[str, Any]) -> tuple[DraftQuestion, ...] | None:
        entries = found.get("questions")
        drafts = [_draft(entry) for entry in entries] if isinstance(entries, list) else [None]
        return tuple(draft for draft in drafts if draft is not None) if None not in drafts else None


@dataclass(frozen=True, kw_only=True)
class MergeSchema(StageTask[Merging]):
    """Which variables of different questions are the same thing, and which different ones need names that differ."""

    name: ClassVar[str] = "merge_schema"
    form: ClassVar[str] = (
        '{"same": [{"name": "<name>", "values": ["<value>", ...], "of": ["<number>/<name>", ...]}, ...],'
        ' "rename": {"<number>/<name>": "<new name>", ...}}'
    )
    questions: tuple[DraftQuestion, ...]
    values: int

    def fields(self) -> Mapping[str, object]:
        lines: list[str] = []
        for number, question in enumerate(self.questions, start=1):
            lines.append(f"{number}. {question.text}")
            lines += [f"   {place(number, n)}: {_quoted(values)}" for n, values in question.variables.items()]
        return {"questions": "\n".join(lines), "values": self.values, "form": self.form}

    def read(self, found: Mapping[str, Any]) -> Merging | None:
        same, renamed = found.get("same", []), found.get("rename", {})
        merged = [_merged(entry) for entry in same] if isinstance(same, list) else [None]
        if None in merged or not isinstance(renamed, dict) or not all(isinstance(n, str) for n in renamed.values()):
            return None
        return Merging(tuple(one for one in merged if one), {p.strip(): n.strip() for p, n in renamed.items()})


@dataclass(frozen=True, kw_only=True)
class ChooseState(StageTask[dict[str, str]]):
    """The value each variable has at first."""

    name: ClassVar[str] = "choose_state"
    form: ClassVar[str] = '{"state": {"<name>": "<value>", ...}}'
    profile: str
    schema: Mapping[str, tuple[str, ...]]

    def fields(self) -> Mapping[str, object]:
        return {"profile": self.profile, "schema": listed(self.schema), "form": self.form}

    def read(self, found: Mapping[str, Any]) -> dict[str, str] | None:
        return named_values(found.get("state"), self.schema)


@dataclass(frozen=True, kw_only=True)
class ChooseUpdates(StageTask[Updates]):
    """What changes in a period: about `count` of the `changeable` variables; those in `reverting` do so by themselves.

    `span` is the period as text, such as `2020-10-01 – 2021-01-01`; `before` are the summaries of earlier ones.
    """

    name: ClassVar[str] = "choose_updates"
    form: ClassVar[str] = '{"summary": "...", "updates": {"<name>": "<new value>", ...}}'
    profile: str
    schema: Mapping[str, tuple[str, ...]]
    state: Mapping[str, str]
    changeable: tuple[str, ...]
    reverting: Mapping[str, str]
    count: int
    span: str
    before: tuple[str, ...] = ()

    def fields(self) -> Mapping[str, object]:
        return {
            "profile": self.profile,
            "schema": listed({name: self.schema[name] for name in self.changeable}),
            "state": _pairs(self.state),
            "reverting": _pairs(self.reverting) or "-",
            "before": "\n".join(f"- {summary}" for summary in self.before) or "-",
            "count": self.count,
            "span": self.span,
            "form": self.form,
        }

    def read(self, found: Mapping[str, Any]) -> Updates | None:
        new, summary = named_values(found.get("updates"), self.schema), text_of(found.get("summary"))
        return Updates(new, summary) if new is not None and summary else None


@dataclass(frozen=True, kw_only=True)
class ExplainUpdates(StageTask[tuple[LifeEvent, ...]]):
    """The life events behind a period's changes. A change is (variable, old, new, how), how as in `Telling`."""

    name: ClassVar[str] = "explain_updates"
    form: ClassVar[str] = '{"events": [{"event": "...", "updates": ["<name>", ...]}, ...]}'
    profile: str
    span: str
    summary: str
    changes: tuple[tuple[str, str, str, str], ...]
    most: int

    def fields(self) -> Mapping[str, object]:
        names = ("variable", "before", "value", "how")
        changes = "\n".join(_json(dict(zip(names, change, strict=True))) for change in self.changes)
        told = {"profile": self.profile, "span": self.span, "summary": self.summary or "-", "changes": changes}
        return {**told, "most": self.most, "form": self.form}

    def read(self, found: Mapping[str, Any]) -> tuple[LifeEvent, ...] | None:
        entries = found.get("events")
        events = [_event(entry) for entry in entries] if isinstance(entries, list) else [None]
        return tuple(event for event in events if event is not None) if None not in events else None


def place(number: int, name: str) -> str:
    """A variable of a question that is counted from 1, as one text."""
    return f"{number}/{name}"


def _draft(entry: Any) -> DraftQuestion | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("variables"), dict):
        return None
    text = text_of(entry.get("question"))
    variables = {name.strip(): texts_of(values) for name, values in entry["variables"].items()}
    if text is None or None in variables.values() or len(variables) < len(entry["variables"]):
        return None
    return DraftQuestion(text, {name: values for name, values in variables.items() if values is not None})


def _merged(entry: Any) -> Merged | None:
    if not isinstance(entry, dict):
        return None
    name, values, members = text_of(entry.get("name")), texts_of(entry.get("values")), texts_of(entry.get("of"))
    return Merged(name, values, members) if name and values and members else None


def _event(entry: Any) -> LifeEvent | None:
    if not isinstance(entry, dict):
        return None
    text, variables = text_of(entry.get("event")), texts_of(entry.get("updates"))
    return LifeEvent(text, variables) if text and variables else None


def _pairs(values: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {_json(value)}" for name, value in values.items())


def _quoted(values: Sequence[str]) -> str:
    return ", ".join(_json(value) for value in values)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
