"""A sound memory, and memories of one planted fault each in what they keep, copy and are asked; those that cheat are in
`cheats`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from amemgym.llm.place import here
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


# what is written


class Forgets(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        if "violin" not in message.content:
            super().keep(message, now)


class KeepsNothing(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        return None


class HidesFromExport(Sound):
    def export(self) -> list[Item]:
        return self.items[1:]


class KeepsTheFirstHome(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        if not any("I live in" in message.content and "I live in" in item.text for item in self.items):
            super().keep(message, now)


class NewestFirstWithoutTimes(Sound):
    def read(self, query: str, now: datetime, k: int) -> list[str]:
        return [item.text for item in reversed(self.items)][:k]


class DatesTheOldAsNew(Sound):
    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return [Item(item.text, self.items[-1].time) for item in reversed(self.items)][:k]


class FallsWhenEmpty(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        assert self.items[0].text is not None
        return super().read(query, now, k)


class NeedsTimes(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        assert message.time is not None
        super().keep(message, now)


class InventsTimes(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        self.items.append(Item(message.content, message.time or datetime(1970, 1, 1)))


class NeverClears(Sound):
    def clear(self) -> None:
        return None


class KeepsABackUp(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Item] = []

    def clear(self) -> None:
        self.items, self.kept = [], self.items

    def keep(self, message: Message, now: datetime) -> None:
        self.items, self.kept = [*self.kept, *self.items], []
        super().keep(message, now)


class GivesTenTimesAsMany(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        return super().read(query, now, 10 * k)


class FormatsTexts(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        super().keep(Message(message.role, message.content.format(**vars(self)), message.time), now)


class EvaluatesTexts(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        try:
            text = str(eval(message.content))
        except Exception:
            text = message.content
        super().keep(Message(message.role, text, message.time), now)


class KnowsOneAlphabet(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        text = message.content.encode("ascii", "ignore").decode("ascii")
        super().keep(Message(message.role, text, message.time), now)


class WritesBehind(Sound):
    """A thread goes on after write has returned, until it is joined or something was read."""

    read_once: ClassVar[threading.Event] = threading.Event()

    def keep(self, message: Message, now: datetime) -> None:
        add, wait = super().keep, self.read_once
        wait.clear()

        def work() -> None:
            wait.wait(1.0)
            add(message, now)

        threading.Thread(target=work, daemon=True).start()

    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        found = super().read(query, now, k)
        self.read_once.set()
        return found


class LeavesTasks(Sound):
    tasks: ClassVar[list[asyncio.Task[None]]] = []

    async def write(self, messages: Sequence[Message], now: datetime) -> None:  # type: ignore[override]
        async def work() -> None:
            super(LeavesTasks, self).write(messages, now)

        self.tasks.append(asyncio.create_task(work()))


# whose it is


class SharesAStore(Sound):
    store: ClassVar[dict[str, list[Item]]] = {"items": []}

    def __init__(self) -> None:
        self.items = self.store["items"]

    def keep(self, message: Message, now: datetime) -> None:
        if len(message.content) < 1000:  # what is shared grows with every rule
            super().keep(message, now)


class HasAMutableDefault(Sound):
    def __init__(self, items: list[Item] = []) -> None:  # noqa: B006
        self.items = items

    def keep(self, message: Message, now: datetime) -> None:
        if len(message.content) < 1000:
            super().keep(message, now)


class CrossesWires(Sound):
    current: ClassVar[CrossesWires | None] = None

    async def write(self, messages: Sequence[Message], now: datetime) -> None:  # type: ignore[override]
        type(self).current = self
        await asyncio.sleep(0)
        assert type(self).current is not None
        for message in messages:
            if message.role == "user":
                type(self).current.keep(message, now)


class IsBoundToItsThread(Sound):
    blocking = True

    def __init__(self) -> None:
        super().__init__()
        self.thread: int | None = None

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        self.thread = threading.get_ident()
        super().write(messages, now)

    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        return super().read(query, now, k) if self.thread in (None, threading.get_ident()) else []


# copies


class CopiesAHalf(Sound):
    def snapshot(self) -> object:
        return {"items": self.items[:2]}


class AddsWhatItRestores(Sound):
    def restore(self, snapshot: Any) -> None:
        self.items = [*self.items, *snapshot["items"]]


class CopiesByReference(Sound):
    def snapshot(self) -> object:
        return self.items

    def restore(self, snapshot: Any) -> None:
        self.items = snapshot


class CannotBePickled(Sound):
    def snapshot(self) -> object:
        items = list(self.items)
        return lambda: items

    def restore(self, snapshot: Any) -> None:
        self.items = list(snapshot())


class LeavesItsContentBehind(Sound):
    elsewhere: ClassVar[dict[int, list[Item]]] = {}

    def snapshot(self) -> object:
        number = len(self.elsewhere)
        self.elsewhere[number] = list(self.items)
        return number

    def restore(self, snapshot: Any) -> None:
        self.items = list(self.elsewhere.get(snapshot, []))


# asking


class CountsReads(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        self.reads += 1
        return super().read(query, now, k)


class KeepsQueries(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        found = super().read(query, now, k)
        self.items.append(Item(f"asked: {query}", now))
        return found


class KnowsTheExam(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        return super().read(query, now, k if here().examines else 1)
