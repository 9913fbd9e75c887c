"""RAG: messages or sessions as they were said, found again by nearness to the query."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from amemgym.memory.protocol import QUERY, Item
from amemgym.memory.store import StoreMemory
from amemgym.memory.units import add_messages, add_sessions
from amemgym.messages import Message


class VectorMemory(StoreMemory):
    """RAG: every message as it was said (`role: text`), found again by nearness to the query.

    An agent may be told a form of the query, which then is searched by in its place."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        add_messages(self._store, messages, now)

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        form = self.tools.policy or QUERY
        return super().read(form.replace(QUERY, query), now, k)


class VectorDialogMemory(StoreMemory):
    """RAG over sessions: each whole conversation (`role: text` lines), found again by nearness to the query."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        add_sessions(self._store, messages, now)
