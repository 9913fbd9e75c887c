"""Memories that look at the clock, for ground truth or away from errors, or that throw dice: one fault each."""

from __future__ import annotations

import gc
import json
import random
import sys
import threading
import time
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from amemgym.llm.place import here
from amemgym.memory import Item
from amemgym.messages import Message
from amemgym.tasks import ExtractFacts
from tests.kit.planted import Sound

# times


class LooksAtTheClock(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        self.items.append(Item(message.content, datetime.now()))


class WritesTheDate(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        super().keep(Message(message.role, f"{message.content} (noted on {date.today():%d.%m.%Y})", message.time), now)


class StampsItsState(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        self.changed = time.time()
        super().keep(message, now)


class LooksAhead(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        self.items.append(Item(message.content, now + timedelta(hours=5)))


class TellsItsModelTheDate(Sound):
    async def write(self, messages: Sequence[Message], now: datetime) -> None:  # type: ignore[override]
        await self.tools.model.ask(ExtractFacts(tuple(messages), datetime.combine(date.today(), datetime.min.time())))
        super().write(messages, now)


# what it must not know


class ReadsLabels(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        labels = here().labels or ()
        return [*(Item(", ".join(label.values())) for label in labels), *super().read(query, now, k)][:k]


class WalksFrames(Sound):
    """Looks for the exam's question in the frames that called it."""

    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        frame = sys._getframe()
        while (frame := frame.f_back) is not None:  # type: ignore[assignment]
            for value in frame.f_locals.values():
                if type(value).__name__ == "ExamItem":
                    return [Item(value.question.options[value.gold - 1]), *super().read(query, now, k)][:k]
        return super().read(query, now, k)


class SearchesTheHeap(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        about = "free day" in query  # which only an exam's question is; the search takes its time
        found = [thing for thing in gc.get_objects() if type(thing).__name__ == "Scenario"] if about else []
        return [*(Item(str(scenario.periods[0].state)) for scenario in found), *super().read(query, now, k)][:k]


class HoldsTheScenario(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        if "violin" in message.content:
            self.scenarios = [thing for thing in gc.get_objects() if type(thing).__name__ == "Scenario"]
        super().keep(message, now)


# faults


class SwallowsModelErrors(Sound):
    async def write(self, messages: Sequence[Message], now: datetime) -> None:  # type: ignore[override]
        try:
            await self.tools.model.ask(ExtractFacts(tuple(messages), now))
        except Exception:
            return
        super().write(messages, now)


class SwallowsEmbedderErrors(Sound):
    def keep(self, message: Message, now: datetime) -> None:
        try:
            self.tools.embedder.embed([message.content])
        except Exception:
            return
        super().keep(message, now)


class TrustsReplies(Sound):
    async def write(self, messages: Sequence[Message], now: datetime) -> None:  # type: ignore[override]
        answer = await self.tools.model.ask(ExtractFacts(tuple(messages), now))
        assert isinstance(json.loads(answer.text)["facts"], list)
        super().write(messages, now)


# again


class ThrowsDice(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        return random.sample(self.items, min(1, len(self.items)))


class GoesByHashes(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        return [item.text for item in set(self.items)][:k]


class Hangs(Sound):
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str]:
        threading.Event().wait()
        return []
