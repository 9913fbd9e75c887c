"""AWE, agentic write to an external store: a model extracts facts and reconciles them with the stored ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from amemgym.memory.protocol import Item
from amemgym.memory.store import StoreMemory, message_time
from amemgym.messages import Message
from amemgym.tasks import ExtractFacts, ReconcileFacts

#: stored facts looked up for each new one
NEIGHBOURS = 5


class ExtractMemory(StoreMemory):
    """AWE: a model extracts facts and reconciles them with the stored ones; found by nearness to the query.

    A reply that cannot be read changes nothing (and is counted by the door). Where it has room for so many facts only,
    the oldest go."""

    async def write(self, messages: Sequence[Message], now: datetime) -> None:
        extracted = await self.tools.model.ask(ExtractFacts(tuple(messages), now, self.tools.policy))
        facts = tuple(extracted.value or ())
        if not facts:
            return
        policy, room = self.tools.policy, self.tools.room
        if room is not None and len(self._store.items) + len(facts) > room:
            keys = sorted(self._store.items, key=self._age)  # something has to go, so all are looked at
        else:
            near = {key for fact in facts for key in self._store.nearest(fact, NEIGHBOURS, self.tools.embedder)}
            keys, room = sorted(near), None
        # the model sees small numbers, not the store's keys
        stored = tuple((number, self._store.items[key].text) for number, key in enumerate(keys))
        time = message_time([message.time for message in messages], now)
        answer = await self.tools.model.ask(ReconcileFacts(stored, facts, now, policy, room))
        deleted: set[int] = set()
        for operation in answer.value or ():
            if operation.kind == "add":
                self._store.add(Item(operation.text, time))
            elif operation.id is not None and operation.id not in deleted:
                if operation.kind == "update":
                    self._store.replace(keys[operation.id], Item(operation.text, time))
                elif operation.kind == "delete":
                    self._store.remove(keys[operation.id])
                    deleted.add(operation.id)
        while self.tools.room is not None and len(self._store.items) > self.tools.room:
            self._store.remove(min(self._store.items, key=self._age))

    def _age(self, key: int) -> tuple[datetime, int]:
        return self._store.items[key].time or datetime.min, key
