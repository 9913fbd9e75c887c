"""No memory: Native keeps everything in its window, and a window is all it has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from amemgym.memory.protocol import Item, Memory
from amemgym.messages import Message


class NoMemory(Memory):
    """None: Native keeps everything in its window, and a window is all it has."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        return None

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []

    def export(self) -> list[Item]:
        return []
