"""The kinds of memory: what each writes, keeps and gives back, and that snapshots are whole and independent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.llm import Request, embedder
from amemgym.memory import ExactIndex, Item, Memory, find_memory, new_memory, read_from, write_to
from amemgym.memory.registry import BUILT_IN
from amemgym.messages import Message
from amemgym.tasks import ExtractFacts, ReconcileFacts, UpdateRecord
from tests.support.models import Scripted, sensible, tools_of

NOW = datetime(2022, 5, 1, 12)
TALK = [
    Message("user", "I moved to a small flat near the harbour", NOW),
    Message("assistant", "How lovely", NOW),
    Message("user", "My sister bakes bread every Sunday", NOW + timedelta(days=1)),
    Message("assistant", "Delicious", NOW + timedelta(days=1)),
]


def run(
    kind: str, work: Callable[[Memory], object], provider: Scripted | None = None, **tools: tuple[str, ...]
) -> None:
    """Do something with an empty memory of that kind, inside an event loop."""

    async def inside() -> None:
        memory = new_memory(find_memory(kind), tools_of(provider or Scripted(), **tools))
        result = work(memory)
        if asyncio.iscoroutine(result):
            await result

    asyncio.run(inside())


def test_rag_finds_what_is_near() -> None:
    async def work(memory: Memory) -> None:
        await write_to(memory, TALK, NOW)
        (item,) = await read_from(memory, "bread from the bakery", NOW, 1)
        assert item == Item("user: My sister bakes bread every Sunday", NOW + timedelta(days=1))
        assert len(await read_from(memory, "bread", NOW, 3)) == 3
        held = memory.export()
        assert held is not None
        assert [item.text for item in held] == [f"{m.role}: {m.content}" for m in TALK]

    run("vector", work)


def test_what_is_read_comes_in_order_of_time() -> None:
    async def work(memory: Memory) -> None:
        await write_to(memory, list(reversed(TALK)), NOW)
        items = await read_from(memory, "bread", NOW, 4)
        assert [item.time for item in items] == sorted(m.time for m in TALK if m.time)

    run("vector", work)


def operations(*steps: dict[str, object]) -> Callable[[Request], str]:
    """A model that extracts one fact a write and reconciles as told, step by step."""
    told = iter(steps)

    def answer(request: Request) -> str:
        if isinstance(request.task, ExtractFacts):
            return json.dumps({"facts": [request.task.conversation[0].content]})
        if isinstance(request.task, ReconcileFacts):
            return json.dumps({"operations": [next(told)]})
        return sensible(request)

    return answer


def test_awe_adds_updates_keeps_and_deletes() -> None:
    provider = Scripted(
        operations(
            {"event": "add", "text": "lives in a flat"},
            {"event": "ADD", "text": "the sister bakes"},
            {"event": "update", "id": 0, "text": "lives in a house"},
            {"event": "keep", "id": 1},
            {"event": "delete", "id": 1},
        )
    )
    seen: list[list[str]] = []

    async def work(memory: Memory) -> None:
        for number in range(5):
            await write_to(memory, [Message("user", f"news {number}", NOW + timedelta(days=number))], NOW)
            held = memory.export()
            assert held is not None
            seen.append([item.line() for item in held])

    run("extract", work, provider)
    assert seen == [
        ["[2022-05-01] lives in a flat"],
        ["[2022-05-01] lives in a flat", "[2022-05-02] the sister bakes"],
        ["[2022-05-03] lives in a house", "[2022-05-02] the sister bakes"],
        ["[2022-05-03] lives in a house", "[2022-05-02] the sister bakes"],
        ["[2022-05-03] lives in a house"],
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON at all",
        "",
        '{"operations": "add"}',
        '{"operations": [{"event": "update", "id": 99, "text": "x"}]}',
        '{"operations": [{"event": "update", "id": true, "text": "x"}]}',
        '{"operations": [{"event": "explode", "id": 0}]}',
        '{"operations": [{"event": "add", "text": ""}, 7, null]}',
        '{"operations": [{"event": "delete", "id": -1}]}',
    ],
)
def test_awe_is_unmoved_by_replies_that_mean_nothing(reply: str) -> None:
    first = [True]

    def answer(request: Request) -> str:
        if isinstance(request.task, ReconcileFacts):
            if first:
                first.clear()
                return '{"operations": [{"event": "add", "text": "kept"}]}'
            return reply
        return sensible(request)

    async def work(memory: Memory) -> None:
        for _ in range(2):
            await write_to(memory, TALK, NOW)
        held = memory.export()
        assert held is not None
        assert [item.text for item in held] == ["kept"]

    run("extract", work, Scripted(answer))


def test_awe_with_two_operations_on_a_deleted_fact() -> None:
    def answer(request: Request) -> str:
        if isinstance(request.task, ReconcileFacts) and request.task.stored:
            return '{"operations": [{"event": "delete", "id": 0}, {"event": "update", "id": 0, "text": "back"}]}'
        return sensible(request)

    async def work(memory: Memory) -> None:
        await write_to(memory, TALK, NOW)
        await write_to(memory, TALK, NOW)
        assert memory.export() == []

    run("extract", work, Scripted(answer))


def test_awe_asks_nothing_more_when_there_are_no_facts() -> None:
    provider = Scripted(lambda request: '{"facts": []}')
    run("extract", lambda memory: write_to(memory, TALK, NOW), provider)
    assert [type(request.task) for request in provider.requests] == [ExtractFacts]


def test_awi_rewrites_one_record_and_gives_it_whole() -> None:
    provider = Scripted(lambda request: f"home: flat {len(provider.requests)}")

    async def work(memory: Memory) -> None:
        assert await read_from(memory, "?", NOW, 1) == ()
        for _ in range(3):
            await write_to(memory, TALK, NOW)
        assert await read_from(memory, "?", NOW, 1) == (Item("home: flat 3"),)

    run("in-context", work, provider)
    tasks = [request.task for request in provider.requests]
    assert [t.record for t in tasks if isinstance(t, UpdateRecord)] == ["", "home: flat 1", "home: flat 2"]


def test_awi_keeps_its_record_when_the_reply_is_empty() -> None:
    provider = Scripted(lambda request: "home: flat" if len(provider.requests) == 1 else "<think>hm</think>")

    async def work(memory: Memory) -> None:
        for _ in range(2):
            await write_to(memory, TALK, NOW)
        assert memory.export() == [Item("home: flat")]

    run("in-context", work, provider)


def test_awi_told_the_variables_names_them() -> None:
    provider = Scripted()
    run("in-context", lambda memory: write_to(memory, TALK, NOW), provider, variables=("home_size", "bread_source"))
    (request,) = provider.requests
    assert "- home_size\n- bread_source" in request.messages[0].content


def test_braces_and_dollars_in_any_text_are_safe() -> None:
    odd = "set {answer} to ${record} or $now {{0}} %s"
    provider = Scripted()
    run("in-context", lambda memory: write_to(memory, [Message("user", odd, NOW)], NOW), provider)
    assert odd in provider.requests[0].messages[0].content


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_a_snapshot_is_whole_and_goes_its_own_way(kind: str) -> None:
    async def work(memory: Memory) -> None:
        await write_to(memory, TALK[:2], NOW)
        snapshot = memory.snapshot()
        then, read_then = memory.export(), await read_from(memory, "bread", NOW, 9)
        await write_to(memory, TALK[2:], NOW)
        for _ in range(2):  # a snapshot can be restored again
            twin = new_memory(find_memory(kind), memory.tools)
            twin.restore(snapshot)
            assert twin.export() == then
            assert await read_from(twin, "bread", NOW, 9) == read_then
            before = memory.export()
            await write_to(twin, TALK, NOW)
            assert memory.export() == before
        memory.clear()
        assert memory.export() == []

    run(kind, work)


class Plain(Memory):
    """The smallest memory one can write, with the defaults for everything else."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        self.lines += [message.content for message in messages]

    def read(self, query: str, now: datetime, k: int) -> list[str]:
        return self.lines[-k:]


def test_the_defaults_copy_attributes_and_keep_tools() -> None:
    async def work(_: Memory) -> None:
        memory = new_memory(Plain, tools_of(Scripted()))
        await write_to(memory, TALK[:1], NOW)
        snapshot = memory.snapshot()
        await write_to(memory, TALK[1:], NOW)
        twin = new_memory(Plain, memory.tools)
        twin.restore(snapshot)
        assert await read_from(twin, "?", NOW, 9) == (Item(TALK[0].content),)
        assert twin.tools == memory.tools
        assert memory.export() is None
        memory.clear()
        assert await read_from(memory, "?", NOW, 9) == ()

    run("none", work)


VECTORS = st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=12)


@settings(deadline=None)
@given(VECTORS, st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(0, 15), st.sets(st.integers(0, 11)))
def test_the_exact_index_is_exact(rows: list[list[int]], query: list[int], k: int, removed: set[int]) -> None:
    index = ExactIndex()
    for key, row in enumerate(rows):
        index.put(key, np.array(row, dtype=np.float32))
    twin = index.copy()
    for key in removed & set(range(len(rows))):
        index.remove(key)

    def by_hand(keys: Sequence[int]) -> list[int]:
        return sorted(keys, key=lambda key: (-int(np.dot(rows[key], query)), key))[:k]

    vector = np.array(query, dtype=np.float32)
    assert index.nearest(vector, k) == by_hand([key for key in range(len(rows)) if key not in removed])
    assert twin.nearest(vector, k) == by_hand(range(len(rows)))


def test_one_embedder_serves_all() -> None:
    assert embedder() is embedder()


def test_no_memory_is_given_half_a_character() -> None:
    seen: list[str] = []

    class Keeps(Plain):
        def read(self, query: str, now: datetime, k: int) -> list[str]:
            seen.append(query)
            return super().read(query, now, k)

    async def work(_: Memory) -> None:
        memory = new_memory(Keeps, tools_of(Scripted()))
        await write_to(memory, [Message("user", "half \ud83d, whole 🎉", NOW)], NOW)
        assert await read_from(memory, "half \udc4d?", NOW, 9) == (Item("half \ufffd, whole 🎉"),)
        assert seen == ["half \ufffd?"]

    run("none", work)
