"""A-MEM's package (where it is installed) and a small likeness of it, at work behind the gateway: what it is told comes
back with its time, to nobody else, and the same in every run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from amemgym.errors import QuotaExhausted
from amemgym.llm import Completion, Request, Usage
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
from amemgym.memory.adapters import amem_source
from amemgym.messages import opening
from amemgym.tasks import Chat
from tests.support import amem_like
from tests.support.lent import (
    DAY,
    NOW,
    STRANGE,
    Heard,
    as_in_a_run,
    keep_for_elsewhere,
    restored_elsewhere,
    tell,
    with_memories,
)

LIKENESS = Path(next(iter(amem_like.__path__))) / "agentic_memory"
SOURCES = {"likeness": LIKENESS} | ({"package": amem_source.folder()} if find_spec("agentic_memory") else {})
CLASS = find_memory("amem-package")
DESCRIBED = Completion(json.dumps({"keywords": ["k1", "k2"], "context": "c", "tags": ["t"]}), Usage(1, 1))


@pytest.fixture(params=SOURCES, autouse=True)
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The tests are of the package and of the likeness."""
    found = SOURCES[request.param]
    monkeypatch.setattr(amem_source, "folder", lambda: found)
    monkeypatch.setattr(amem_source, "_loaded", {})
    yield found


def shown(text: str) -> str:
    """What the offline model makes of a note's context is the same words again."""
    fact = " ".join(text.removeprefix(opening("", NOW)).split())
    return f"user: {text}\n(context: {fact})" if fact else "user: "


def test_what_is_told_comes_back_with_its_simulated_time() -> None:
    texts = (*STRANGE, "")

    async def work(memory: Memory) -> None:
        await tell(memory, *texts)
        held = await held_by(memory) or []
        assert held[::2] == [Item(shown(text), NOW + n * DAY) for n, text in enumerate(texts)]
        assert {item.text for item in held[1::2]} == {"assistant: Fine } {"}
        assert await read_from(memory, "緑茶", NOW, 1) == (Item(shown(STRANGE[1]), NOW + DAY),)
        assert len(await read_from(memory, "", NOW, 3)) == 3

    heard = with_memories(CLASS, work)
    assert len(heard.bodies) == 4 * len(texts) - 1  # the first note has nothing to be linked to
    assert not heard.unread
    today = date.today()
    assert not any(form in body for body in heard.bodies for form in (str(today), today.strftime("%Y%m%d")))


def test_what_changed_is_kept_beside_what_it_was_and_linked() -> None:
    async def work(memory: Memory) -> None:
        tea = "I always drink {} tea in the morning"
        await tell(memory, tea.format("green"), tea.format("black"))
        held = await held_by(memory) or []
        assert held[::2] == [Item(shown(tea.format("green")), NOW), Item(shown(tea.format("black")), NOW + DAY)]
        rows = (await snapshot_of(memory)).rows  # type: ignore[attr-defined]
        keys = list(rows)
        assert json.loads(rows[keys[2]].metadata["links"]) == [keys[0]]
        assert [row.metadata["last_accessed"] for row in rows.values()] == ["202205011200"] * 2 + ["202205021200"] * 2

    with_memories(CLASS, work)


def test_a_model_describes_notes_and_changes_their_neighbours(source: Path) -> None:
    def answer(request: Request) -> Completion:
        assert isinstance(request.task, Chat)
        if "memory evolution agent" not in request.task.last_said():
            return DESCRIBED
        decision = {
            "should_evolve": True,
            "actions": ["strengthen", "update_neighbor"],
            "suggested_connections": ["nobody"],
            "tags_to_update": ["new {tag}"],
            "new_context_neighborhood": ["changed"],
            "new_tags_neighborhood": [["old"]],
        }
        return Completion(json.dumps(decision), Usage(1, 1))

    async def work(memory: Memory) -> None:
        await tell(memory, "one")
        first, second = (item.text for item in await held_by(memory) or ())
        if source == LIKENESS:
            assert first == "user: one\n(context: c; keywords: k1, k2; tags: t)"
        else:
            assert first == "user: one\n(context: changed; keywords: k1, k2; tags: old)"
        assert second == "assistant: Fine } {\n(context: c; keywords: k1, k2; tags: new {tag})"
        assert len(await read_from(memory, "one", NOW, 1)) == 1

    with_memories(CLASS, work, Heard(answer))


def test_the_same_is_asked_in_every_run_and_a_journal_answers_it(tmp_path: Path) -> None:
    async def work(memory: Memory) -> None:
        await tell(memory, *STRANGE[:2])

    first, second, again = (with_memories(CLASS, work, journal=path) for path in (tmp_path / "j", None, tmp_path / "j"))
    assert first.bodies == second.bodies
    assert again.bodies == []


def test_memories_side_by_side_know_nothing_of_each_other() -> None:
    async def work(*memories: Memory) -> None:
        async with anyio.create_task_group() as group:
            for number, memory in enumerate(memories):
                group.start_soon(tell, memory, *(f"person {number} says {text}" for text in STRANGE[:2]))
        for number, memory in enumerate(memories):
            texts = [item.text for item in await held_by(memory) or ()][::2]
            assert len(texts) == 2
            assert all(text.startswith(f"user: person {number} says") for text in texts)
            assert len(await read_from(memory, "person", NOW, 9)) == 4

    with_memories(CLASS, work, count=3)


def test_a_snapshot_is_apart_and_can_be_restored_elsewhere(tmp_path: Path, source: Path) -> None:
    async def work(memory: Memory, copy: Memory) -> None:
        await tell(memory, *STRANGE)
        before = await held_by(memory)
        taken = await snapshot_of(memory)
        keep_for_elsewhere(taken, before, tmp_path)
        for _ in range(2):
            await restore_to(copy, taken)
            assert await held_by(copy) == before
            assert await read_from(copy, "tea", NOW, 3) == await read_from(memory, "tea", NOW, 3)
            await tell(copy, "I now have a parrot that sings opera")
            assert len(await held_by(copy) or ()) == 2 * len(STRANGE) + 2
        await clear_all(copy)
        assert await held_by(copy) == []
        assert await held_by(memory) == before

    with_memories(CLASS, work, count=2)
    to_source = (
        "from pathlib import Path\nfrom amemgym.memory.adapters import amem_source\n"
        f"amem_source.folder = lambda: Path({str(source)!r})\n"
    )
    assert restored_elsewhere("amem-package", tmp_path, to_source) == "as it was\n"


@pytest.mark.parametrize("good", [0, 5])
def test_an_error_of_the_model_is_an_error_though_the_package_hides_it(
    good: int, capfd: pytest.CaptureFixture[str]
) -> None:
    def answer(request: Request) -> None:
        if len(heard.bodies) > good:
            raise QuotaExhausted("no")

    async def work(memory: Memory) -> None:
        with pytest.raises(QuotaExhausted):
            await tell(memory, "one", "two")
        assert len(heard.bodies) == good + 1

    heard = Heard(answer)
    with as_in_a_run():
        with_memories(CLASS, work, heard)
    assert capfd.readouterr() == ("", "")


UNREADABLE = (
    "no {json",
    "[[]]",
    '{"keywords": 3, "context": {}, "tags": [1]}',
    '{"should_evolve": true, "actions": ["strengthen"], "suggested_connections": [{}, []], "tags_to_update": [1]}',
)


@pytest.mark.parametrize("reply", UNREADABLE)
def test_a_reply_that_cannot_be_read_leaves_the_note_as_it_was_said(
    reply: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work(memory: Memory) -> None:
        await tell(memory, "one")
        assert [item.text for item in await held_by(memory) or ()] == ["user: one", "assistant: Fine } {"]
        assert len(await read_from(memory, "one", NOW, 2)) == 2

    with as_in_a_run():
        with_memories(CLASS, work, Heard(lambda request: Completion(reply, Usage(1, 1))))
    assert capfd.readouterr() == ("", "")


def test_nothing_heavy_is_imported_and_nobody_else_sees_the_copy() -> None:
    async def work(memory: Memory) -> None:
        await tell(memory, "one")

    before = set(sys.modules)
    with_memories(CLASS, work)
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert not {"agentic_memory", "sentence_transformers", "litellm", "chromadb", "torch"} & new
