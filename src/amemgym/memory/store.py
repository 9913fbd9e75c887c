"""A store of texts with times, found by nearness: what RAG and AWE keep their items in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from amemgym.llm import Embedder
from amemgym.memory.index import ExactIndex, VectorIndex
from amemgym.memory.protocol import Item, Memory


class ItemStore:
    """Items under numbers that are never used twice. A text is embedded when it is first searched for."""

    def __init__(self, index: VectorIndex | None = None) -> None:
        self.items: dict[int, Item] = {}
        self._next = 0
        self._index: VectorIndex = ExactIndex() if index is None else index
        self._indexed: set[int] = set()
        #: what is not indexed yet, or not as it is now
        self._new: set[int] = set()

    def add(self, item: Item) -> int:
        key = self._next
        self.items[key] = item
        self._new.add(key)
        self._next += 1
        return key

    def replace(self, key: int, item: Item) -> None:
        self.items[key] = item
        self._new.add(key)  # its vector is replaced when it is needed

    def remove(self, key: int) -> None:
        del self.items[key]
        self._new.discard(key)
        if key in self._indexed:
            self._index.remove(key)
            self._indexed.discard(key)

    def nearest(self, text: str, k: int, embedder: Embedder) -> list[int]:
        """Keys of the k items nearest to a text, best first."""
        self.embed(embedder)
        return self._index.nearest(embedder.embed([text])[0], k)

    def find(self, text: str, k: int, embedder: Embedder) -> list[Item]:
        """The k items nearest to a text, best first."""
        return [self.items[key] for key in self.nearest(text, k, embedder)]

    def embed(self, embedder: Embedder) -> None:
        """Index what is not indexed yet."""
        if not self._new:
            return
        new = sorted(self._new)
        for key, vector in zip(new, embedder.embed([self.items[key].text for key in new]), strict=True):
            self._index.put(key, vector)
        self._indexed.update(new)
        self._new.clear()

    def copy(self) -> ItemStore:
        """A store of the same content that goes its own way from here."""
        twin = ItemStore(self._index.copy())
        twin.items, twin._next = dict(self.items), self._next
        twin._indexed, twin._new = set(self._indexed), set(self._new)
        return twin

    def as_list(self) -> list[Item]:
        return [self.items[key] for key in sorted(self.items)]


class StoreMemory(Memory):
    """A memory whose content is a store; what is written to it is the subclass's."""

    def __init__(self) -> None:
        self._store = ItemStore()

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return self._store.find(query, k, self.tools.embedder)

    def snapshot(self) -> object:
        # embedded once here, not again in every copy an exam makes
        self._store.embed(self.tools.embedder)
        return self._store.copy()

    def restore(self, snapshot: Any) -> None:
        self._store = snapshot.copy()

    def export(self) -> list[Item]:
        return self._store.as_list()


def message_time(times: list[datetime | None], now: datetime) -> datetime:
    """When something from these messages happened: the latest of their times, else now."""
    return max((time for time in times if time is not None), default=now)
