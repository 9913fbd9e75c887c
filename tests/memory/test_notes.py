"""A-MEM: notes are made, linked and rewritten as the model says, or left as they were; at most k are read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.llm import Request
from amemgym.memory import Item, Memory, find_memory, new_memory, read_from, write_to
from amemgym.messages import Message
from amemgym.tasks import DescribeNote, EvolveNotes
from tests.support.models import Scripted, sensible, tools_of

NOW = datetime(2022, 5, 1, 12)
TRAM, CELLO, BREAD = (
    Message("user", "I take the tram to work", NOW),
    Message("user", "I play the cello at night", NOW + timedelta(days=1)),
    Message("assistant", "Bake the bread on Sunday", NOW + timedelta(days=2)),
)


def work_with(provider: Scripted, work: Callable[[Memory], Coroutine[Any, Any, None]]) -> None:
    async def inside() -> None:
        await work(new_memory(find_memory("notes"), tools_of(provider)))

    asyncio.run(inside())


def model(*evolutions: object, described: object = None) -> Scripted:
    """Describes every message by its last word, and decides on neighbours as told, step by step."""
    told = iter(evolutions)

    def answer(request: Request) -> str:
        if isinstance(request.task, DescribeNote):
            word = request.task.content.split()[-1]
            about = {"keywords": [word], "tags": [f"{word}s"], "context": f"About {word}."}
            return json.dumps(about if described is None else described)
        if isinstance(request.task, EvolveNotes):
            step = next(told, {"links": [], "updates": []})
            return step if isinstance(step, str) else json.dumps(step)
        return sensible(request)

    return Scripted(answer)


def texts(memory: Memory) -> list[str]:
    items = memory.export()
    assert items is not None
    return [item.text if isinstance(item, Item) else item for item in items]


def test_every_message_becomes_a_note() -> None:
    provider = model()

    async def work(memory: Memory) -> None:
        await write_to(memory, [TRAM, BREAD], NOW)
        first, second = (
            Item("user: I take the tram to work\ncontext: About work.\nkeywords: work\ntags: works", TRAM.time),
            Item(
                "assistant: Bake the bread on Sunday\ncontext: About Sunday.\nkeywords: Sunday\ntags: Sundays",
                BREAD.time,
            ),
        )
        assert memory.export() == [first, second]
        assert await read_from(memory, "the tram", NOW, 1) == (first,)

    work_with(provider, work)
    asked = [request.task for request in provider.requests]
    assert [type(task) for task in asked] == [DescribeNote, DescribeNote, EvolveNotes]  # a first note has no neighbours
    assert isinstance(asked[2], EvolveNotes)
    assert asked[2].new.content == "assistant: Bake the bread on Sunday"
    assert [note.about.tags for note in asked[2].neighbours] == [("works",)]
    shown = provider.requests[2].messages[0].content
    assert "id: 0\ntime: 2022-05-01 12:00:00\ncontent: user: I take the tram to work\ncontext: About work." in shown


def test_a_note_is_found_by_what_is_noted_about_it() -> None:
    about = {"keywords": ["zebra"], "tags": ["animals"], "context": "A zebra in the zoo."}

    async def work(memory: Memory) -> None:
        await write_to(memory, [CELLO, TRAM], NOW)
        (item,) = await read_from(memory, "zebras in a zoo", NOW, 1)
        assert item.text.startswith("user: I take the tram")

    def answer(request: Request) -> str:
        if isinstance(request.task, DescribeNote):
            return json.dumps(about) if "tram" in request.task.content else "?"
        return "?"

    work_with(Scripted(answer), work)


def test_neighbours_are_the_nearest_five_nearest_first() -> None:
    provider = model()

    async def work(memory: Memory) -> None:
        many = [Message("user", f"The weather was number {n}", NOW) for n in range(6)]
        await write_to(memory, [*many, TRAM, Message("user", "I take the tram to school", NOW)], NOW)

    work_with(provider, work)
    last = provider.requests[-1].task
    assert isinstance(last, EvolveNotes) and len(last.neighbours) == 5
    assert last.neighbours[0].content == "user: I take the tram to work"


def test_the_model_links_and_rewrites_neighbours() -> None:
    step = {
        "links": [0],
        "tags": ["commuting", "change"],
        "updates": [{"id": 0, "context": "The tram,\n until May.", "tags": ["past"]}],
    }
    provider = model(step)

    async def work(memory: Memory) -> None:
        await write_to(memory, [TRAM], NOW)
        await write_to(memory, [CELLO], NOW)
        assert texts(memory) == [
            "user: I take the tram to work\ncontext: The tram, until May.\nkeywords: work\ntags: past",
            "user: I play the cello at night\ncontext: About night.\nkeywords: night\ntags: commuting, change",
        ]

    work_with(provider, work)


def test_a_linked_note_follows_the_note_that_is_found_and_takes_a_place() -> None:
    """The cello is near no tram, but linked to one; the other tram is near."""
    other = Message("user", "The tram is late today", NOW + timedelta(days=3))

    async def read(links: list[int]) -> list[str]:
        provider = model({"links": [], "updates": []}, {"links": links, "updates": []})
        memory = new_memory(find_memory("notes"), tools_of(provider))
        await write_to(memory, [CELLO, other, TRAM], NOW)
        task = provider.requests[-1].task
        assert isinstance(task, EvolveNotes)
        assert [note.content for note in task.neighbours][-1] == "user: I play the cello at night"
        first = await read_from(memory, "I take the tram to work", NOW, 1)
        assert [item.text.splitlines()[0] for item in first] == ["user: I take the tram to work"]
        items = await read_from(memory, "I take the tram to work", NOW, 2)
        return [item.text.splitlines()[0] for item in items]

    assert asyncio.run(read([])) == ["user: I take the tram to work", "user: The tram is late today"]
    assert asyncio.run(read([1])) == ["user: I take the tram to work", "user: I play the cello at night"]


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON at all",
        "",
        "{}",
        '{"links": "0", "updates": 7}',
        '{"links": [9, -1, true, null, "x"], "updates": [{"id": 9, "context": "x"}, {"id": 0}, 7]}',
        '{"links": [0], "updates": [{"id": 0, "context": "cut of',
    ],
)
def test_replies_that_mean_nothing_change_nothing(reply: str) -> None:
    provider = model(reply)

    async def work(memory: Memory) -> None:
        await write_to(memory, [TRAM, CELLO], NOW)
        assert [text.splitlines()[1:] for text in texts(memory)] == [
            [f"context: About {word}.", f"keywords: {word}", f"tags: {word}s"] for word in ("work", "night")
        ]
        assert len(await read_from(memory, "tram", NOW, 1)) == 1

    work_with(provider, work)


def test_a_message_that_could_not_be_described_is_kept_as_it_was_said() -> None:
    async def work(memory: Memory) -> None:
        await write_to(memory, [TRAM], NOW)
        assert memory.export() == [Item("user: I take the tram to work", NOW)]
        assert await read_from(memory, "tram", NOW, 5) == (Item("user: I take the tram to work", NOW),)

    work_with(model(described="nothing to say"), work)


EVOLUTIONS = st.fixed_dictionaries(
    {
        "links": st.lists(st.integers(-1, 5), max_size=6),
        "updates": st.lists(
            st.fixed_dictionaries({"id": st.integers(0, 5), "context": st.sampled_from(["", "tram", "cello"])}),
            max_size=3,
        ),
    }
)


@settings(deadline=None, max_examples=12)
@given(st.lists(EVOLUTIONS, min_size=2, max_size=7), st.integers(0, 5), st.sampled_from(["tram", "cello", "?"]))
def test_never_more_than_k_and_reading_changes_nothing(steps: list[object], k: int, query: str) -> None:
    async def work(memory: Memory) -> None:
        said = [Message("user", f"{word} number {n}", NOW) for n, word in enumerate(["tram", "cello", "bread"] * 2)]
        await write_to(memory, said[:3], NOW)
        snapshot, then = memory.snapshot(), memory.export()
        read_then = memory.read(query, NOW, k)
        assert isinstance(read_then, list) and len(read_then) == len(set(read_then)) == min(k, 3)
        await write_to(memory, said[3:], NOW)
        twin = new_memory(find_memory("notes"), memory.tools)
        twin.restore(snapshot)
        assert (twin.export(), twin.read(query, NOW, k)) == (then, read_then)
        held = memory.export()
        again = memory.read(query, NOW, k)
        assert isinstance(again, list) and len(again) == min(k, 6) and again == memory.read(query, NOW, k)
        await write_to(twin, said, NOW)
        assert memory.export() == held

    work_with(model(*steps), work)


def test_notes_of_one_user_do_not_reach_another() -> None:
    provider = model()

    async def work(memory: Memory) -> None:
        other = new_memory(find_memory("notes"), memory.tools)
        await write_to(memory, [TRAM], NOW)
        await write_to(other, [CELLO], NOW)
        await write_to(other, [BREAD], NOW)
        assert "tram" not in "".join(texts(other)) and len(texts(memory)) == 1

    work_with(provider, work)
    assert "tram" not in "".join(request.messages[0].content for request in provider.requests[1:])
