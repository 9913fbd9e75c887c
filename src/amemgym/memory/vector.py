"""RAG: every message as it was said, found again by nearness to the query."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from amemgym.memory.protocol import Item
from amemgym.memory.store import StoreMemory
from amemgym.messages import Message


class VectorMemory(StoreMemory):
    """RAG: every message as it was said (`role: text`), found again by nearness to the query."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        for message in messages:
            self._store.add(Item(f"{message.role}: {message.content}", message.time or now))
