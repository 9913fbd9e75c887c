"""Documents found by their words: BM25 with our own terms.

A document is cut into terms when it is first searched for, and then stands in the index. Copies share the index until
one of the stores that share it gets another document.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from amemgym.memory.bm25 import Postings
from amemgym.memory.protocol import Item, Memory
from amemgym.memory.terms import terms_of
from amemgym.memory.units import add_messages, add_sessions
from amemgym.messages import Message


class LexicalStore:
    """Items under numbers, found by their words."""

    def __init__(self) -> None:
        self.items: dict[int, Item] = {}
        self._postings = Postings()
        #: the terms of the newest item that is in the index: it is the one that may be replaced
        self._newest: list[str] = []
        self._shared = False

    def add(self, item: Item) -> int:
        key = len(self.items)  # nothing is ever removed
        self.items[key] = item
        return key

    def replace(self, key: int, item: Item) -> None:
        """Replace the newest item (a session that goes on)."""
        assert key == len(self.items) - 1
        self.items[key] = item
        if key < len(self._postings):
            self._own().take_last(self._newest)

    def find(self, text: str, k: int) -> list[Item]:
        """At most k items that share a term with the text, best first; equals by age, the oldest first."""
        return [self.items[key] for key in self._indexed().nearest(terms_of(text), k)]

    def copy(self) -> LexicalStore:
        """A store of the same content that goes its own way from here."""
        twin = LexicalStore()
        twin._postings = self._indexed()
        self._shared = twin._shared = True
        twin.items, twin._newest = dict(self.items), self._newest
        return twin

    def _indexed(self) -> Postings:
        for key in range(len(self._postings), len(self.items)):
            self._newest = terms_of(self.items[key].text)
            self._own().add(self._newest)
        return self._postings

    def _own(self) -> Postings:
        """The index, to be changed."""
        if self._shared:
            self._postings, self._shared = self._postings.copy(), False
        return self._postings


class LexicalMemory(Memory):
    """A memory whose items are found by BM25; what is written to it is the subclass's.

    What shares no term with the query is no hit, so fewer than k items may come back, and none for a query without any
    known word.
    """

    def __init__(self) -> None:
        self._store = LexicalStore()

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return self._store.find(query, k)

    def snapshot(self) -> object:
        return self._store.copy()

    def restore(self, snapshot: Any) -> None:
        self._store = snapshot.copy()

    def export(self) -> list[Item]:
        return list(self._store.items.values())


class LexicalMessageMemory(LexicalMemory):
    """BM25 over messages: each as it was said (`role: text`), found again by the words it shares with the query."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        add_messages(self._store, messages, now)


class LexicalDialogMemory(LexicalMemory):
    """BM25 over sessions: each whole conversation (`role: text` lines), found by the words it shares with the query."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        add_sessions(self._store, messages, now)
