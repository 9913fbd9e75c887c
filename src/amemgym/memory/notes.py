"""A-MEM: a network of notes that a model describes, links and rewrites (Xu et al. 2025, arXiv 2502.12110)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from amemgym.memory.protocol import Item, Memory
from amemgym.memory.store import ItemStore
from amemgym.memory.units import as_item
from amemgym.messages import Message
from amemgym.tasks import DescribeNote, Description, Evolution, EvolveNotes, Note
from amemgym.together import side_by_side

#: earlier notes that a new one is compared with
NEIGHBOURS = 5


class NoteMemory(Memory):
    """A-MEM: each message becomes a note with keywords, tags and context; a model links notes and rewrites neighbours.

    As in the original, every message is a note (`role: text`), the assistant's too. A note is found by the embedding of
    its text, keywords, tags and context together. The five notes nearest to a new one are shown to the model, which
    says to which of them it is linked and what is to be noted about them from now on; a link leads from the newer note
    to the older. What is read are the notes nearest to the query, each followed by those that it is linked to, without
    repetition and cut at k: linked notes take the places of what is less near.

    An item is the text, then a line each for context, keywords and tags where there are any; its time is the message's.
    A reply that cannot be read changes nothing: a message is then kept as a note of its text alone, or stays unlinked.
    """

    def __init__(self) -> None:
        self._notes: dict[int, Note] = {}
        self._links: dict[int, tuple[int, ...]] = {}
        #: under the same keys, what notes are found by
        self._store = ItemStore()

    async def write(self, messages: Sequence[Message], now: datetime) -> None:
        items = [as_item(message, now) for message in messages]
        for item, about in zip(items, await self._described([item.text for item in items]), strict=True):
            note = Note(item.text, item.time or now, about)
            near = self._store.nearest(_searched(note), NEIGHBOURS, self.tools.embedder)
            change = Evolution()
            if near:
                answer = await self.tools.model.ask(EvolveNotes(note, tuple(self._notes[key] for key in near)))
                change = answer.value or change
            for update in change.updates:
                self._describe(near[update.id], update.context, update.tags)
            if change.tags is not None:
                note = replace(note, about=replace(note.about, tags=change.tags))
            key = self._store.add(Item(_searched(note)))
            self._notes[key] = note
            self._links[key] = tuple(near[number] for number in change.links)

    async def _described(self, texts: Sequence[str]) -> list[Description]:
        """What is noted about each text. That depends on no other, so it is asked for side by side; but of a text that
        is said twice in turn, as which of two equal requests gets which reply must not depend on which is quicker."""

        async def described(text: str) -> list[Description]:
            answers = [await self.tools.model.ask(DescribeNote(text)) for _ in range(texts.count(text))]
            return [answer.value or Description() for answer in answers]

        different = list(dict.fromkeys(texts))
        found = dict(zip(different, await side_by_side(map(described, different)), strict=True))
        return [found[text].pop(0) for text in texts]

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        found: dict[int, None] = {}
        for key in self._store.nearest(query, k, self.tools.embedder):
            found |= dict.fromkeys((key, *self._links[key]))
            if len(found) >= k:
                break
        return [_item(self._notes[key]) for key in list(found)[:k]]

    def snapshot(self) -> object:
        self._store.embed(self.tools.embedder)  # once here, not again in every copy
        return dict(self._notes), dict(self._links), self._store.copy()

    def restore(self, snapshot: Any) -> None:
        notes, links, store = snapshot
        self._notes, self._links, self._store = dict(notes), dict(links), store.copy()

    def export(self) -> list[Item]:
        return [_item(note) for note in self._notes.values()]

    def _describe(self, key: int, context: str | None, tags: tuple[str, ...] | None) -> None:
        note = self._notes[key]
        about = note.about if context is None else replace(note.about, context=context)
        about = about if tags is None else replace(about, tags=tags)
        self._notes[key] = replace(note, about=about)
        self._store.replace(key, Item(_searched(self._notes[key])))


def _searched(note: Note) -> str:
    about = note.about
    return "\n".join(part for part in (note.content, *about.keywords, *about.tags, about.context) if part)


def _item(note: Note) -> Item:
    about = note.about
    noted = {"context": about.context, "keywords": ", ".join(about.keywords), "tags": ", ".join(about.tags)}
    return Item("\n".join([note.content, *(f"{name}: {text}" for name, text in noted.items() if text)]), note.time)
