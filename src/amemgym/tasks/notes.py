"""The tasks of a memory of notes: describe what was said, and decide what a new note means for those near it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from amemgym.messages import TIME_FORMAT, Message
from amemgym.tasks.base import Task
from amemgym.tasks.parse import Parsed, Status, parse_object
from amemgym.tasks.prompts import Prompts


@dataclass(frozen=True)
class Description:
    """What is noted about a text: keywords (the most telling first), tags (its topics), and one sentence of context."""

    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True)
class Note:
    """A text as it was said, when, and what is noted about it."""

    content: str
    time: datetime
    about: Description = Description()


@dataclass(frozen=True)
class NoteUpdate:
    """What is now noted about the neighbour `id`: None where it stays as it was."""

    id: int
    context: str | None = None
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Evolution:
    """What a new note changes: the neighbours it is linked to, its own tags (None: as they were), and neighbours."""

    links: tuple[int, ...] = ()
    tags: tuple[str, ...] | None = None
    updates: tuple[NoteUpdate, ...] = ()


@dataclass(frozen=True)
class DescribeNote(Task[Description]):
    """Keywords, tags and context of one message (`role: text`)."""

    name: ClassVar[str] = "describe_note"
    wants_json: ClassVar[bool] = True
    content: str

    def messages(self, prompts: Prompts) -> list[Message]:
        return [Message("user", prompts.fill("describe_note", content=self.content))]

    def parse(self, reply: str | None) -> Parsed[Description]:
        """All three must be there; a keyword or tag that is no text is left out (status repaired)."""
        parsed = parse_object(reply)
        if parsed.value is None:
            return Parsed(None, parsed.status)
        keywords, tags = _texts(parsed.value.get("keywords")), _texts(parsed.value.get("tags"))
        context = parsed.value.get("context")
        if keywords is None or tags is None or not isinstance(context, str):
            return Parsed(None, Status.INVALID)
        as_asked = parsed.status is Status.OK and keywords[1] and tags[1]
        value = Description(keywords[0], tags[0], _line(context))
        return Parsed(value, Status.OK if as_asked else Status.REPAIRED)


@dataclass(frozen=True)
class EvolveNotes(Task[Evolution]):
    """Which of its neighbours a new note is linked to, and what is to be noted about them now; their ids are 0, 1, …"""

    name: ClassVar[str] = "evolve_notes"
    wants_json: ClassVar[bool] = True
    new: Note
    neighbours: tuple[Note, ...]

    def messages(self, prompts: Prompts) -> list[Message]:
        shown = "\n\n".join(f"id: {number}\n{_shown(note)}" for number, note in enumerate(self.neighbours))
        return [Message("user", prompts.fill("evolve_notes", note=_shown(self.new), neighbours=shown))]

    def parse(self, reply: str | None) -> Parsed[Evolution]:
        """What a reply does not say stays as it is, but it must hold links or updates. Ids of no neighbour, and updates
        without readable content, are left out (status repaired); of several updates of a neighbour the last counts."""
        parsed = parse_object(reply)
        if parsed.value is None:
            return Parsed(None, parsed.status)
        lists = [parsed.value.get(key) for key in ("links", "updates", "tags")]
        if not any(isinstance(listed, list) for listed in lists[:2]):
            return Parsed(None, Status.INVALID)
        links, updates = (listed if isinstance(listed, list) else [] for listed in lists[:2])
        known = range(len(self.neighbours))
        linked = dict.fromkeys(number for entry in links if (number := _id(entry, known)) is not None)
        updated = {update.id: update for entry in updates if (update := _update(entry, known))}
        tags = _texts(lists[2])
        as_asked = all(isinstance(listed, list) for listed in lists) and tags is not None and tags[1]
        as_asked = as_asked and len(linked) == len(links) and len(updated) == len(updates)
        value = Evolution(tuple(linked), tags[0] if tags else None, tuple(updated.values()))
        return Parsed(value, parsed.status if as_asked else Status.REPAIRED)


def _shown(note: Note) -> str:
    about = note.about
    lines = [
        f"time: {note.time.strftime(TIME_FORMAT)}",
        f"content: {note.content}",
        f"context: {about.context}",
        f"keywords: {', '.join(about.keywords)}",
        f"tags: {', '.join(about.tags)}",
    ]
    return "\n".join(lines)


def _texts(listed: Any) -> tuple[tuple[str, ...], bool] | None:
    """The different texts of a list, and whether it held nothing else; None where it is no list."""
    if not isinstance(listed, list):
        return None
    texts = tuple(dict.fromkeys(_line(text) for text in listed if isinstance(text, str) and text.strip()))
    return texts, len(texts) == len(listed)


def _line(text: str) -> str:
    """The text on one line, so that what is noted stays apart from what was said."""
    return " ".join(text.split())


def _id(entry: Any, known: Collection[int]) -> int | None:
    if isinstance(entry, str) and entry.strip().isdecimal() and len(entry) < 10:
        entry = int(entry)
    return entry if isinstance(entry, int) and not isinstance(entry, bool) and entry in known else None


def _update(entry: Any, known: Collection[int]) -> NoteUpdate | None:
    if not isinstance(entry, dict) or (number := _id(entry.get("id"), known)) is None:
        return None
    said, tags = entry.get("context"), _texts(entry.get("tags"))
    context = _line(said) or None if isinstance(said, str) else None
    if context is None and tags is None:
        return None
    return NoteUpdate(number, context, tags[0] if tags else None)
