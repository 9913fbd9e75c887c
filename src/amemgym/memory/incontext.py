"""AWI, agentic write in context: a model rewrites one labelled record, and the whole record is read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from amemgym.memory.protocol import Item, Memory
from amemgym.messages import Message
from amemgym.tasks import UpdateRecord


class RecordMemory(Memory):
    """AWI: a model rewrites one labelled record; the whole record is read.

    A reply that cannot be read leaves it as it was. Where it has room for so many lines only, more are cut off."""

    def __init__(self) -> None:
        self._record = ""

    async def write(self, messages: Sequence[Message], now: datetime) -> None:
        policy, room = self.tools.policy, self.tools.room
        task = UpdateRecord(self._record, tuple(messages), now, self.tools.variables, policy, room)
        answer = await self.tools.model.ask(task)
        if answer.value:
            self._record = answer.value if room is None else self._cut(answer.value, room)

    def _cut(self, record: str, room: int) -> str:
        lines = [line for line in record.splitlines() if line.strip()]
        if len(lines) > room:
            self.tools.model.say_once(f"a record was longer than its room of {room} lines; the rest is cut off")
        return "\n".join(lines[:room])

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return self.export()

    def snapshot(self) -> object:
        return self._record

    def restore(self, snapshot: Any) -> None:
        self._record = snapshot

    def export(self) -> list[Item]:
        return [Item(self._record)] if self._record else []
