"""RAG: every message as it was said, found again by nearness to the query."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from amemgym.memory.protocol import Item, Memory
from amemgym.memory.store import ItemStore
from amemgym.messages import Message


class VectorMemory(Memory):
    """RAG: every message as it was said (`role: text`), found again by nearness to the query."""

    def __init__(self) -> None:
        self._store = ItemStore()

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        for message in messages:
            self._store.add(Item(f"{message.role}: {message.content}", message.time or now))

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
