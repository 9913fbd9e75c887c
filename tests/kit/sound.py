"""The sound memory that the faulty ones are made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from amemgym.memory import Item, Memory
from amemgym.messages import Message


class Sound(Memory):
    """Keeps what the user says, gives back what shares most words with the query."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        for message in messages:
            if message.role == "user":
                self.keep(message, now)

    def keep(self, message: Message, now: datetime) -> None:
        self.items.append(Item(message.content, message.time or now))

    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        words = set(query.lower().split())
        return sorted(self.items, key=lambda item: -len(words & set(item.text.lower().split())))[:k]

    def export(self) -> list[Item]:
        return list(self.items)
