"""The tasks that write what is read: what a user says, also what tells nothing of them, and the options' answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from amemgym.tasks.base import listed
from amemgym.tasks.stage import StageTask, text_of, texts_of

#: how plainly an utterance tells a state
Level = Literal["explicit", "implicit", "subtle"]
#: what kind of news a state is when it is told
How = Literal["plain", "lasting", "temporary", "reverted", "corrected"]


@dataclass(frozen=True)
class Telling:
    """One state to be told, and as what: plain, or a change from `before`; corrected, `before` was said by mistake."""

    variable: str
    value: str
    how: How = "plain"
    before: str | None = None


class _Utterance(StageTask[str]):
    """A reply that is one utterance."""

    form: ClassVar[str] = '{"utterance": "..."}'

    def read(self, found: Mapping[str, Any]) -> str | None:
        return text_of(found.get("utterance"))


@dataclass(frozen=True, kw_only=True)
class WriteUtterance(_Utterance):
    """What opens a conversation: it tells exactly these states, and nothing of the `others`."""

    name: ClassVar[str] = "write_utterance"
    profile: str
    event: str | None
    tell: tuple[Telling, ...]
    level: Level
    others: Mapping[str, tuple[str, ...]]

    def fields(self) -> Mapping[str, object]:
        told = [{name: said for name, said in asdict(one).items() if said is not None} for one in self.tell]
        return {
            "profile": self.profile,
            "event": self.event or "-",
            "tell": "\n".join(json.dumps(one, ensure_ascii=False) for one in told),
            "level": self.level,
            "others": listed(self.others) or "-",
            "form": self.form,
        }


@dataclass(frozen=True, kw_only=True)
class ListTopics(StageTask[tuple[str, ...]]):
    """So many everyday topics that have nothing to do with the variables, to ask an assistant about."""

    name: ClassVar[str] = "list_topics"
    form: ClassVar[str] = '{"topics": ["...", ...]}'
    profile: str
    count: int
    schema: Mapping[str, tuple[str, ...]]
    earlier: tuple[str, ...] = ()

    def fields(self) -> Mapping[str, object]:
        earlier = "\n".join(f"- {topic}" for topic in self.earlier) or "-"
        told = {"profile": self.profile, "count": self.count, "schema": listed(self.schema)}
        return {**told, "earlier": earlier, "form": self.form}

    def read(self, found: Mapping[str, Any]) -> tuple[str, ...] | None:
        return texts_of(found.get("topics"))


@dataclass(frozen=True, kw_only=True)
class WriteDistractor(_Utterance):
    """What opens a conversation on a topic and tells nothing of the user's states."""

    name: ClassVar[str] = "write_distractor"
    profile: str
    topic: str
    schema: Mapping[str, tuple[str, ...]]

    def fields(self) -> Mapping[str, object]:
        told = {"profile": self.profile, "topic": self.topic, "schema": listed(self.schema)}
        return {**told, "form": self.form}


@dataclass(frozen=True, kw_only=True)
class WriteAboutOther(_Utterance):
    """What opens a conversation about somebody the user knows, for whom a variable has that value."""

    name: ClassVar[str] = "write_about_other"
    profile: str
    variable: str
    value: str
    level: Level
    schema: Mapping[str, tuple[str, ...]]

    def fields(self) -> Mapping[str, object]:
        tell = json.dumps({"variable": self.variable, "value": self.value}, ensure_ascii=False)
        told = {"profile": self.profile, "tell": tell, "level": self.level, "schema": listed(self.schema)}
        return {**told, "form": self.form}


@dataclass(frozen=True, kw_only=True)
class WriteAnswers(StageTask[tuple[str, ...]]):
    """One answer to a question for each of its variants, in order, alike in length and style."""

    name: ClassVar[str] = "write_answers"
    form: ClassVar[str] = '{"answers": ["...", ...]}'
    question: str
    variables: Mapping[str, tuple[str, ...]]
    variants: tuple[tuple[str, ...], ...]

    def fields(self) -> Mapping[str, object]:
        situations = [dict(zip(self.variables, variant, strict=True)) for variant in self.variants]
        lines = [f"{n}. {json.dumps(one, ensure_ascii=False)}" for n, one in enumerate(situations, start=1)]
        told = {"question": self.question, "variables": listed(self.variables), "situations": "\n".join(lines)}
        return {**told, "count": len(lines), "form": self.form}

    def read(self, found: Mapping[str, Any]) -> tuple[str, ...] | None:
        return texts_of(found.get("answers"))
