"""What a memory is: something messages are written to and items are read from.

A memory sees messages and simulated times, nothing else of a scenario. To bring your own, subclass `Memory` and write
`write` and `read`; both may be plain or async methods. The rest has defaults that are right for a memory whose whole
content is in its attributes.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from amemgym.llm import Embedder, Model
from amemgym.messages import Message


@dataclass(frozen=True, slots=True)
class Item:
    """One thing remembered: its text, and the simulated time it is from, if it has one."""

    text: str
    time: datetime | None = None

    def line(self) -> str:
        """The item as an assistant is shown it."""
        return f"[{self.time.date().isoformat()}] {self.text}" if self.time else self.text


@dataclass(frozen=True)
class Tools:
    """What a memory may use: a model for agentic writing, an embedder, and the names of the state variables.

    `variables` is empty but in the ablation that is told them (SPEC section 2); values are never told.
    """

    model: Model
    embedder: Embedder
    variables: tuple[str, ...] = ()


class Memory(ABC):
    """The memory of one assistant about one user.

    `tools` is set before anything is written or read. An instance is made for each episode, and another for each exam,
    which gets the content by `restore(snapshot)`; so nothing an exam does can reach the memory that is examined.
    """

    tools: Tools

    @abstractmethod
    def write(self, messages: Sequence[Message], now: datetime) -> Awaitable[None] | None:
        """Take in messages, oldest first. `now` is the simulated time."""

    @abstractmethod
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str] | Awaitable[Sequence[Item | str]]:
        """At most `k` items for this query, best first (more are cut off); they are shown in order of their times."""

    def snapshot(self) -> object:
        """The whole content, detached from this memory. Default: a deep copy of all attributes but `tools`."""
        try:
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "tools"})
        except TypeError as error:
            raise TypeError(
                f"{error}; override snapshot and restore, since not every attribute can be copied"
            ) from error

    def restore(self, snapshot: Any) -> None:
        """Replace the content by a snapshot's, which stays as it is (it may be restored again)."""
        tools = self.tools
        vars(self).clear()
        vars(self).update(copy.deepcopy(snapshot))
        self.tools = tools

    def clear(self) -> None:
        """Forget everything. Default: as newly made by the class without arguments."""
        tools = self.tools
        vars(self).clear()
        self.__init__()  # type: ignore[misc]
        self.tools = tools

    def export(self) -> Sequence[Item | str] | None:
        """Everything held, for reports; None where that cannot be told (the default)."""
        return None


#: makes an empty memory; `tools` are attached by `new_memory`
MemoryMaker = Callable[[], Memory]


def new_memory(make: MemoryMaker, tools: Tools) -> Memory:
    """An empty memory with its tools."""
    memory = make()
    memory.tools = tools
    return memory


async def write_to(memory: Memory, messages: Sequence[Message], now: datetime) -> None:
    """`memory.write`, plain or async."""
    result = memory.write(messages, now)
    if inspect.isawaitable(result):
        await result


async def read_from(memory: Memory, query: str, now: datetime, k: int) -> tuple[Item, ...]:
    """`memory.read`, plain or async: the first k, texts made items, in order of time (those without one first)."""
    result = memory.read(query, now, k)
    found = await result if inspect.isawaitable(result) else result
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise TypeError(f"read returned {type(found).__name__}; it should return a list of Item or str")
    items = _as_items(found[:k])
    return tuple(sorted(items, key=lambda item: (item.time is not None, item.time or datetime.min)))


def held_by(memory: Memory) -> list[Item] | None:
    """`memory.export`, texts made items."""
    held = memory.export()
    return None if held is None else _as_items(held)


def _as_items(found: Sequence[Item | str]) -> list[Item]:
    return [item if isinstance(item, Item) else Item(str(item)) for item in found]
