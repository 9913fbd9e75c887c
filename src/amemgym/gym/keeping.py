"""What a memory policy decides over: a store of few items, and the ways to keep something of a session in it.

The policy either writes the text to keep, each line an item, or sets the named `SETTINGS`, which keep what was said
word for word. When the store is full, the oldest item goes (or, where so set, the one nearest to the new one).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from amemgym.llm import Embedder
from amemgym.memory import Item, Memory
from amemgym.memory.store import ItemStore
from amemgym.messages import Message

#: what each bit of an action of settings means: keep the user's opening message, keep what the user said after it, keep
#: the assistant's replies (each message an item), and, when the store is full, let the item nearest to the new one go
#: instead of the oldest
SETTINGS = ("keep_opening", "keep_follow_ups", "keep_replies", "replace_nearest")

_TIME = re.compile(r"\[Current Time:[^\]\n]*\]\n?")


@dataclass(frozen=True)
class Session:
    """What was said in one session, and the simulated time of it."""

    period: int
    number: int
    time: datetime
    messages: tuple[Message, ...]

    @property
    def opening(self) -> str:
        """What the user opened it with, without the line that tells the time."""
        return spoken(self.messages[0])

    @property
    def follow_ups(self) -> list[str]:
        return [spoken(message) for message in self.messages[1:] if message.role == "user"]

    @property
    def replies(self) -> list[str]:
        return [message.content for message in self.messages if message.role == "assistant"]


def spoken(message: Message) -> str:
    """A message without the line that tells the time, which an item has beside its text."""
    return _TIME.sub("", message.content, count=1) if message.role == "user" else message.content


@dataclass
class Kept:
    """The store: at most `room` items, oldest first."""

    room: int
    embedder: Embedder
    items: list[Item] = field(default_factory=list)

    def add(self, item: Item, replace_nearest: bool = False) -> None:
        if len(self.items) >= self.room:
            del self.items[self._nearest(item) if replace_nearest else 0]
        self.items.append(item)

    def nearness(self, text: str) -> list[float]:
        """The cosine of a text with each item."""
        if not self.items:
            return []
        vectors = self.embedder.embed([text, *(item.text for item in self.items)])
        return [float(value) for value in vectors[1:] @ vectors[0]]

    def _nearest(self, item: Item) -> int:
        nearness = self.nearness(item.text)
        return max(range(len(nearness)), key=nearness.__getitem__)


def keep_text(kept: Kept, session: Session, text: str) -> None:
    """Keep each line that is not blank, as an item of the session's time."""
    for line in text.splitlines():
        if line.strip():
            kept.add(Item(line.strip(), session.time))


def keep_by_settings(kept: Kept, session: Session, settings: Sequence[bool]) -> None:
    """Keep messages as `role: text`, in the order in which they were said."""
    chosen = dict(zip(SETTINGS, settings, strict=True))
    for place, message in enumerate(session.messages):
        part = "keep_replies" if message.role == "assistant" else "keep_follow_ups" if place else "keep_opening"
        if chosen[part]:
            kept.add(Item(f"{message.role}: {spoken(message)}", session.time), chosen["replace_nearest"])


class KeptMemory(Memory):
    """What was kept, as a memory of the assistant that replies and is examined; nothing is written to it."""

    def __init__(self, items: Sequence[Item] = ()) -> None:
        self._items = tuple(items)

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        return None

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        if len(self._items) <= k:
            return list(self._items)
        store = ItemStore()
        for item in self._items:
            store.add(item)
        return store.find(query, k, self.tools.embedder)

    def snapshot(self) -> object:
        return self._items

    def restore(self, snapshot: object) -> None:
        assert isinstance(snapshot, tuple)
        self._items = snapshot

    def export(self) -> list[Item]:
        return list(self._items)
