"""Memories with little room: whatever the model replies, awi's record and awe's store hold no more than they may, and
what is new stands in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.llm import Request
from amemgym.memory import Memory, Tools, write_to
from amemgym.messages import Message
from amemgym.tasks import ExtractFacts, ReconcileFacts
from tests.memory.test_kinds import run
from tests.support.models import Scripted

NOW = datetime(2022, 5, 1, 12)
LINES = st.lists(st.text(alphabet="ab \t\n\r\u2028\x0b", max_size=6), max_size=9).map("\n".join)
IDS = st.integers(-1, 9) | st.none() | st.text(max_size=1)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"event": st.sampled_from(["add", "update", "delete", "keep", "?"]), "text": st.text(max_size=3), "id": IDS}
    ),
    max_size=8,
)
EXAMPLES = settings(max_examples=25, deadline=None)


def after(kind: str, room: int | None, answer: Callable[[Request], str], writes: int, policy: str = "") -> list[int]:
    """How many lines a memory of so much room holds after each write."""
    held: list[int] = []

    async def work(memory: Memory) -> None:
        memory.tools = Tools(memory.tools.model, memory.tools.embedder, policy=policy, room=room)
        for number in range(writes):
            await write_to(memory, [Message("user", f"news {number}", NOW + timedelta(days=number))], NOW)
            items = memory.export()
            assert items is not None
            held.append(sum(len(item.text.splitlines()) for item in items) if kind == "in-context" else len(items))

    run(kind, work, Scripted(answer))
    return held


@EXAMPLES
@given(st.lists(LINES, min_size=1, max_size=3), st.integers(1, 4))
def test_a_record_never_exceeds_its_room(replies: list[str], room: int) -> None:
    told = iter(replies)
    held = after("in-context", room, lambda request: next(told), len(replies))
    assert max(held) <= room
    # and where it need not, it is not cut
    assert held[0] == min(room, sum(bool(line.strip()) for line in replies[0].splitlines()))


@EXAMPLES
@given(st.lists(st.tuples(st.lists(st.text(max_size=3), max_size=5), OPERATIONS), max_size=4), st.integers(1, 3))
def test_a_store_never_exceeds_its_room(steps: list[tuple[list[str], list[Any]]], room: int) -> None:
    facts, operations = iter([f for f, _ in steps]), iter([o for _, o in steps])

    def answer(request: Request) -> str:
        if isinstance(request.task, ExtractFacts):
            return json.dumps({"facts": next(facts)})
        return json.dumps({"operations": next(operations)})

    assert max(after("extract", room, answer, len(steps)), default=0) <= room


def test_the_oldest_facts_go_and_where_there_is_room_nothing_is_said_of_it() -> None:
    tasks: list[ReconcileFacts] = []

    def answer(request: Request) -> str:
        if isinstance(request.task, ExtractFacts):
            return json.dumps({"facts": [request.task.conversation[0].content]})
        assert isinstance(request.task, ReconcileFacts)
        tasks.append(request.task)
        return json.dumps({"operations": [{"event": "add", "text": request.task.facts[0]}]})

    assert after("extract", 2, answer, 4, "The news.") == [1, 2, 2, 2]
    assert [task.room for task in tasks] == [None, None, 2, 2]
    # all that is kept is looked at, the oldest first
    assert [[text for _, text in task.stored] for task in tasks[2:]] == [["news 0", "news 1"], ["news 1", "news 2"]]
    assert {task.policy for task in tasks} == {"The news."}
