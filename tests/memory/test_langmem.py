"""LangMem itself, at work behind the gateway: what it is told comes back with its time, to nobody else, and the same in
every run."""

from __future__ import annotations

from datetime import date
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from amemgym.errors import QuotaExhausted
from amemgym.llm import Request
from amemgym.memory import (
    Item,
    Memory,
    clear_all,
    find_memory,
    held_by,
    read_from,
    restore_to,
    snapshot_of,
)
from amemgym.messages import opening
from amemgym.tasks import Chat
from tests.support.lent import (
    DAY,
    NOW,
    STRANGE,
    Heard,
    as_in_a_run,
    calls_of,
    keep_for_elsewhere,
    restored_elsewhere,
    tell,
    with_memories,
)

pytestmark = pytest.mark.skipif(find_spec("langmem") is None, reason="langmem is not installed (amemgym[langmem])")


def words(text: str) -> str:
    return " ".join(text.removeprefix(opening("", NOW)).split())


def test_what_is_told_comes_back_with_its_simulated_time() -> None:
    async def work(memory: Memory) -> None:
        await tell(memory, *STRANGE)
        assert await held_by(memory) == [Item(words(text), NOW + n * DAY) for n, text in enumerate(STRANGE)]
        assert await read_from(memory, "緑茶", NOW, 1) == (Item(STRANGE[1], NOW + DAY),)
        assert len(await read_from(memory, "Berlin", NOW, 3)) == 3
        assert len(await read_from(memory, "", NOW, 2)) == 2

    heard = with_memories(find_memory("langmem"), work)
    assert len(heard.bodies) == len(STRANGE)
    assert not heard.unread
    assert not any(str(date.today()) in body for body in heard.bodies)


def test_what_changed_is_replaced_and_what_is_repeated_is_kept_once() -> None:
    async def work(memory: Memory) -> None:
        tea = "I always drink {} tea in the morning"
        await tell(memory, tea.format("green"), tea.format("black"), tea.format("black"), "")
        assert await held_by(memory) == [Item(tea.format("black"), NOW + DAY)]

    with_memories(find_memory("langmem"), work)


def test_the_model_may_make_and_patch_several_at_once() -> None:
    def answer(request: Request) -> object:
        assert isinstance(request.task, Chat)
        system = request.task.body["messages"][0]["content"]
        if "<existing>" not in system:
            return calls_of(("Memory", {"content": "has a dog"}), ("Memory", {"content": "has a cat"}))
        before, _, _ = system.partition("'has a dog'")
        dog = before.rpartition("<instance id=")[2].split()[0]
        patch = [{"op": "replace", "path": "/content", "value": "has two dogs"}]
        return calls_of(
            ("PatchDoc", {"json_doc_id": dog, "planned_edits": "", "patches": patch}),
            ("Memory", {"content": "has a fish"}),
            ("PatchDoc", {"json_doc_id": "nobody", "planned_edits": "", "patches": patch}),
        )

    async def work(memory: Memory) -> None:
        await tell(memory, "one", "two")
        held = [Item("has two dogs", NOW + DAY), Item("has a cat", NOW), Item("has a fish", NOW + DAY)]
        assert await held_by(memory) == held

    with_memories(find_memory("langmem"), work, Heard(answer))  # type: ignore[arg-type]


def test_the_same_is_asked_in_every_run_and_a_journal_answers_it(tmp_path: Path) -> None:
    async def work(memory: Memory) -> None:
        await tell(memory, *STRANGE[:2])

    journal = tmp_path / "journal"
    first, second, again = (
        with_memories(find_memory("langmem"), work, journal=path) for path in (journal, None, journal)
    )
    assert first.bodies == second.bodies
    assert again.bodies == []


def test_memories_side_by_side_know_nothing_of_each_other() -> None:
    async def work(*memories: Memory) -> None:
        async with anyio.create_task_group() as group:
            for number, memory in enumerate(memories):
                group.start_soon(tell, memory, *(f"person {number} says {text}" for text in STRANGE[:2]))
        for number, memory in enumerate(memories):
            texts = [item.text for item in await held_by(memory) or ()]
            assert len(texts) == 2
            assert all(text.startswith(f"person {number} says") for text in texts)

    with_memories(find_memory("langmem"), work, count=3)


def test_a_snapshot_is_apart_and_can_be_restored_elsewhere(tmp_path: Path) -> None:
    cls = find_memory("langmem")

    async def work(memory: Memory, copy: Memory) -> None:
        await tell(memory, *STRANGE)
        before = await held_by(memory)
        taken = await snapshot_of(memory)
        keep_for_elsewhere(taken, before, tmp_path)
        for _ in range(2):
            await restore_to(copy, taken)
            assert await held_by(copy) == before
            assert await read_from(copy, "tea", NOW, 2) == await read_from(memory, "tea", NOW, 2)
            await tell(copy, "I now have a parrot that sings opera")
            assert len(await held_by(copy) or ()) == len(STRANGE) + 1
        await clear_all(copy)
        assert await held_by(copy) == []
        assert await held_by(memory) == before

    with_memories(cls, work, count=2)
    assert restored_elsewhere("langmem", tmp_path) == "as it was\n"


@pytest.mark.parametrize("good", [0, 1])
def test_an_error_of_the_model_is_an_error_and_is_not_asked_again(good: int) -> None:
    def answer(request: Request) -> None:
        if len(heard.bodies) > good:
            raise QuotaExhausted("no")

    async def work(memory: Memory) -> None:
        await tell(memory, *STRANGE[:good])
        with pytest.raises(QuotaExhausted):
            await tell(memory, "I like trains")
        assert len(heard.bodies) == good + 1

    heard = Heard(answer)
    with_memories(find_memory("langmem"), work, heard)


def test_it_says_nothing_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    def answer(request: Request) -> object:
        if len(heard.bodies) == 1:
            return calls_of(("Memory", {"content": "likes trains"}))
        return calls_of(("PatchDoc", {"json_doc_id": "x", "patches": 3}), ("Memory", {"no": 1}), ("Nothing", {}))

    async def work(memory: Memory) -> None:
        await tell(memory, "I like trains", "I like planes")
        await read_from(memory, "zzqqx", NOW, 3)
        assert await held_by(memory) == [Item("likes trains", NOW)]

    heard = Heard(answer)  # type: ignore[arg-type]
    with as_in_a_run():
        with_memories(find_memory("langmem"), work, heard)
    assert capfd.readouterr() == ("", "")
