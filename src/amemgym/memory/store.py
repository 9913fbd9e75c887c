"""A store of texts with times, found by nearness: what RAG and AWE keep their items in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from amemgym.llm import Embedder
from amemgym.memory.index import ExactIndex, VectorIndex
from amemgym.memory.protocol import Item


@dataclass
class ItemStore:
    """Items under numbers that are never used twice. Vectors follow from the texts, so a snapshot is the items."""

    make_index: Callable[[], VectorIndex] = ExactIndex
    items: dict[int, Item] = field(default_factory=dict)
    next_key: int = 0

    def __post_init__(self) -> None:
        self._index = self.make_index()
        self._indexed: set[int] = set()

    def add(self, item: Item) -> int:
        key = self.next_key
        self.items[key] = item
        self.next_key += 1
        return key

    def replace(self, key: int, item: Item) -> None:
        self.items[key] = item
        self._forget(key)

    def remove(self, key: int) -> None:
        del self.items[key]
        self._forget(key)

    def nearest(self, text: str, k: int, embedder: Embedder) -> list[int]:
        """Keys of the k items nearest to a text, best first."""
        for key in sorted(self.items.keys() - self._indexed):
            self._index.put(key, embedder.embed([self.items[key].text])[0])
            self._indexed.add(key)
        return self._index.nearest(embedder.embed([text])[0], k)

    def find(self, text: str, k: int, embedder: Embedder) -> list[Item]:
        """The k items nearest to a text, best first."""
        return [self.items[key] for key in self.nearest(text, k, embedder)]

    def snapshot(self) -> tuple[dict[int, Item], int]:
        return dict(self.items), self.next_key

    def restored(self, snapshot: tuple[dict[int, Item], int]) -> ItemStore:
        """A new store with a snapshot's content."""
        return ItemStore(self.make_index, dict(snapshot[0]), snapshot[1])

    def as_list(self) -> list[Item]:
        return [self.items[key] for key in sorted(self.items)]

    def _forget(self, key: int) -> None:
        if key in self._indexed:
            self._index.remove(key)
            self._indexed.discard(key)


def message_time(times: list[datetime | None], now: datetime) -> datetime:
    """When something from these messages happened: the latest of their times, else now."""
    return max((time for time in times if time is not None), default=now)
