"""How memories are called: what they are made with, and what of a memory's own is a failure of the memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from amemgym import secrets
from amemgym.errors import MemoryFailed
from amemgym.llm import at, here
from amemgym.llm.place import Place
from amemgym.memory import Item, Memory, held_by, new_memory, read_from
from amemgym.messages import Message
from tests.support.models import Scripted, tools_of

NOW = datetime(2024, 3, 1, 9, 30)


class Given(Memory):
    """Gives back what a test says."""

    gives: Any = ()

    def write(self, messages: Sequence[Message], now: datetime) -> None: ...

    def read(self, query: str, now: datetime, k: int) -> Any:
        return self.gives

    def export(self) -> Any:
        return self.gives


def test_a_copy_is_made_without_the_exam_s_labels() -> None:
    class Looks(Given):
        def __init__(self) -> None:
            self.seen = here()

    async def work() -> Any:
        with at("p1/q2", "exam", ({"home": "sea"},)):
            return new_memory(Looks, tools_of(Scripted()))

    assert asyncio.run(work()).seen == Place("p1/q2", "exam", None, "write")


def test_a_memory_that_cannot_be_made_has_failed_and_tells_no_key() -> None:
    key = secrets.remember("sk-made-5Qx81LmzPw02").get_secret_value()

    class Falls(Given):
        def __init__(self) -> None:
            raise OSError(f"no room for {key}")

    async def work() -> None:
        new_memory(Falls, tools_of(Scripted()))

    with pytest.raises(MemoryFailed, match=r"OSError: no room for \[key\]"):
        asyncio.run(work())


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (None, "returned NoneType"),
        ("abc", "returned str"),
        ([None], "returned NoneType in its list"),
        ([{"text": "a"}], "returned dict in its list"),
        ([Item(None)], "returned an Item of NoneType"),  # type: ignore[arg-type]
        ([Item("a", NOW.replace(tzinfo=UTC)), Item("b", NOW)], "without a zone"),
        ([Item("a", "2024-03-01")], "returned the time"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_list_of_items_is_the_memory_s_failure(gives: Any, said: str) -> None:
    async def work(exported: bool) -> Any:
        memory = new_memory(Given, tools_of(Scripted()))
        memory.gives = gives  # type: ignore[attr-defined]
        return await (held_by(memory) if exported else read_from(memory, "q", NOW, 5))

    with pytest.raises(MemoryFailed, match=said):
        asyncio.run(work(exported=False))
    if gives is not None:  # what is held need not be told
        with pytest.raises(MemoryFailed, match=said):
            asyncio.run(work(exported=True))
