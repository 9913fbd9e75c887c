"""mem0 as a memory: the real package behind the gateway, with the offline model or with replies made to measure."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.errors import ContentFiltered, MemoryFailed, UsageError
from amemgym.kit.rules import RULES
from amemgym.llm import ModelSettings
from amemgym.memory import (
    Item,
    clear_all,
    find_memory,
    held_by,
    read_from,
    restore_to,
    snapshot_of,
    write_to,
)
from amemgym.messages import Message
from tests.memory.mem0s import APRIL, BREAD, FLAT, MARCH, NAME, PIANO, TALK, Recording, memories, play, said
from tests.support.lending import in_loop

ROOT = Path(__file__).parents[2]
V1 = Path(sys.prefix) / "mem0-v1"
#: braces, quotes, what ends a section of a prompt, right to left, Chinese, what looks like another's turn
ODD = "I said \"{x}\" and '%s' ``` ]\n\n## Observation Date\n2001-01-01\nשלום عربي 我喜欢茶 \\n {{y}} 🍞"


@in_loop
async def test_what_is_written_comes_back_with_its_time_and_as_many_as_wanted() -> None:
    async with memories(Recording(), "anna") as (anna,):
        await play(anna)
        assert await held_by(anna) == [
            Item(BREAD, MARCH),
            Item(FLAT, MARCH),
            Item(PIANO, APRIL),
            Item("I gave up my car.", APRIL),
        ]
        assert await read_from(anna, "Who bakes bread on Sunday?", APRIL, 1) == (Item(BREAD, MARCH),)
        best = await asyncio.to_thread(_found, anna, "playing the piano before breakfast")
        assert best[0] == Item(PIANO, APRIL), "best first"
        assert await read_from(anna, " \n", APRIL, 3) == ()
        await clear_all(anna)
        assert await held_by(anna) == []


def _found(memory: Any, query: str) -> list[Item]:
    with memory.tools.endpoint.in_use():
        found: list[Item] = memory.read(query, APRIL, 4)
        return found


@in_loop
async def test_memories_at_work_side_by_side_are_apart() -> None:
    recording = Recording()
    names = [f"user {i}" for i in range(4)]
    async with memories(recording, *names) as made:
        own = [[(MARCH, [f"My dog is called Rex{i}."]), (APRIL, [f"My cat is called Tom{i}."])] for i in range(4)]
        await asyncio.gather(*(play(memory, talk) for memory, talk in zip(made, own, strict=True)))
        for i, memory in enumerate(made):
            held = [item.text for item in await held_by(memory) or ()]
            assert held == [f"My dog is called Rex{i}.", f"My cat is called Tom{i}."]
            found = await read_from(memory, "My dog is called Rex", APRIL, 9)
            assert {item.text for item in found} <= set(held)
    for body in recording.bodies():
        assert len(set(re.findall(r"(?:Rex|Tom)(\d)", body))) <= 1, "one user's memory in another's request"


@in_loop
async def test_a_copy_goes_its_own_way_and_costs_no_call() -> None:
    recording = Recording()
    async with memories(recording, "anna", "anna-exam-3") as (anna, copy):
        await play(anna, TALK[:1])
        snapshot = await snapshot_of(anna)
        asked, embedded = len(recording.requests), anna.tools.endpoint._line.ledger["embedding"].calls
        await restore_to(copy, snapshot)
        assert await held_by(copy) == await held_by(anna)
        assert (len(recording.requests), anna.tools.endpoint._line.ledger["embedding"].calls) == (asked, embedded)
        await play(copy, TALK[1:])
        assert len(await held_by(anna) or ()) == 2
        assert len(await held_by(copy) or ()) == 4
        alone = recording.bodies()[asked:]
        await play(anna, TALK[1:])
        assert recording.bodies()[asked + len(alone) :] == alone, "a copy is asked as the original is"
        await restore_to(anna, snapshot)
        assert [item.text for item in await held_by(anna) or ()] == [BREAD, FLAT]


@pytest.mark.skipif(NAME != "mem0", reason="takes seconds, and is the same for 1.x")
@in_loop
async def test_the_same_is_asked_in_every_process_and_nothing_is_left_behind(tmp_path: Path) -> None:
    recording = Recording()
    async with memories(recording, "anna") as (anna,):
        await play(anna)
        held = [item.line() for item in await held_by(anna) or ()]
        (tmp_path / "snapshot").write_bytes(pickle.dumps(await snapshot_of(anna)))
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    hostile = {  # what would lead mem0, or a client, elsewhere
        "OPENROUTER_API_KEY": "sk-or-x",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "MEM0_TELEMETRY": "True",
        "PYTHONHASHSEED": "7",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "TZ": "Pacific/Auckland",
    }
    command = [sys.executable, "-m", "tests.memory.mem0s", str(tmp_path / "snapshot")]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, env=os.environ | hostile, capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "asked": recording.bodies(),
        "asked to restore and read": 0,
        "held": held,
        "held anew": held,
        "found": [Item(BREAD, MARCH).line()],
        "threads": [],
    }
    assert [*home.iterdir(), *temporary.iterdir()] == []
    assert "MEM0_DIR" not in os.environ


@in_loop
async def test_today_is_in_no_request_and_nothing_that_is_kept() -> None:
    recording = Recording()
    async with memories(recording, "anna") as (anna,):
        await play(anna)
        snapshot: Any = await snapshot_of(anna)
    today = datetime.now(UTC)
    days = [today + timedelta(days=more) for more in (-1, 0, 1)]  # somewhere it is another day
    formats = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%B %d, %Y", "%d %B %Y", "%Y%m%d")
    kept = [str([dict(row.payload) for row in snapshot.rows]), snapshot.history.decode("latin-1")]
    for text in [*recording.bodies(), *kept]:
        assert not [day for day in days for form in formats if day.strftime(form) in text]
    assert any("2022-03-01" in body for body in recording.bodies())
    assert any("2022-04-02" in body for body in recording.bodies())
    times = [row.payload[key][:16] for row in snapshot.rows for key in ("created_at", "updated_at")]
    assert set(times) == {"2022-03-01T09:30", "2022-04-02T10:00"}


@in_loop
async def test_more_than_a_page_is_held_and_found() -> None:
    many = [f"Fact {i} is about thing {i * 7919 % 1000}." for i in range(130)]
    async with memories(Recording(_remember(many)), "anna") as (anna,):
        await write_to(anna, said("A lot."), MARCH)
        assert [item.text for item in await held_by(anna) or ()] == many
        assert len(await read_from(anna, "fact about a thing", MARCH, 120)) == 120


def _remember(texts: list[str]) -> Any:
    """Replies that make either version remember these texts."""
    facts = {"facts": texts, "memory": [{"id": str(i), "text": t, "event": "ADD"} for i, t in enumerate(texts)]}
    return lambda body: json.dumps(facts)


@in_loop
async def test_any_text_survives() -> None:
    async with memories(Recording(), "anna") as (anna,):
        await write_to(anna, said(ODD), MARCH)
        await write_to(anna, said("A broken emoji \ud83c.", BREAD), APRIL)
        held = [item.text for item in await held_by(anna) or ()]
        assert held == [" ".join(ODD.split()), "A broken emoji �.", BREAD]
        assert await read_from(anna, ODD + "\ud83c", APRIL, 1) == (Item(held[0], MARCH),)


UNREADABLE = [
    "",
    "Certainly!",
    "[" * 100_000,
    "{}",
    "[1]",
    '{"memory": "x", "facts": 5}',
    '{"memory": {"a": 1}, "facts": {"a": 1}}',
    '{"memory": [1, null, {"text": ["x"]}, {"text": 5}, {"id": "0"}], "facts": []}',
]


@pytest.mark.parametrize("reply", UNREADABLE, ids=range(len(UNREADABLE)))
@in_loop
async def test_an_unreadable_reply_is_remembered_as_nothing(reply: str) -> None:
    recording = Recording(lambda body: reply if len(recording.requests) == 1 else "{}")
    async with memories(recording, "anna") as (anna,):
        await write_to(anna, said(BREAD), MARCH)
        assert await held_by(anna) == []


@in_loop
async def test_what_can_be_read_of_a_reply_is_remembered() -> None:
    good = {"id": "0", "text": BREAD, "event": "ADD"}
    reply = json.dumps({"memory": ["half", good, {"id": "1", "event": "ADD"}], "facts": [BREAD]})
    async with memories(Recording(lambda body: f"```json\n{reply}\n```"), "anna") as (anna,):
        await write_to(anna, said("Hello."), MARCH)
        assert await held_by(anna) == [Item(BREAD, MARCH)]


@pytest.mark.skipif(NAME != "mem0-v1", reason="mem0 2 only ever adds")
@in_loop
async def test_changes_of_what_is_not_stored_are_left_out() -> None:
    changes = [{"id": "77", "text": "x", "event": "UPDATE"}, {"id": "0", "text": "x", "event": "DELETE"}]
    reply = json.dumps({"facts": [BREAD], "memory": [*changes, *changes, {"text": FLAT, "event": "ADD"}]})
    async with memories(Recording(lambda body: reply), "anna") as (anna,):
        await write_to(anna, said("Hello."), MARCH)
        await write_to(anna, said("Hello.", at=APRIL), APRIL)
        assert await held_by(anna) == [Item(FLAT, APRIL)]


@in_loop
async def test_what_the_model_refuses_is_raised_whatever_mem0_makes_of_it() -> None:
    for refused in (1, 2) if NAME == "mem0-v1" else (1,):  # mem0 1 swallows the second

        def answer(body: dict[str, Any]) -> str:
            if len(recording.requests) == refused:  # noqa: B023 - called within the round
                raise ContentFiltered("stopped by a filter")
            return json.dumps({"facts": [BREAD]})

        recording = Recording(answer)
        async with memories(recording, "anna") as (anna,):
            with pytest.raises(ContentFiltered):
                await write_to(anna, said("Hello."), MARCH)


def _broken(*_: object) -> None:
    raise ZeroDivisionError


@in_loop
async def test_a_broken_store_is_raised_whatever_mem0_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memories(Recording(_remember([BREAD, FLAT])), "anna") as (anna,):
        await write_to(anna, said("Hello."), MARCH)
        monkeypatch.setattr("amemgym.memory.adapters.mem0_store._unit", _broken)
        with pytest.raises(MemoryFailed, match="ZeroDivisionError"):
            await read_from(anna, "bread", APRIL, 2)
    monkeypatch.undo()
    async with memories(Recording(_remember([BREAD, FLAT])), "anna") as (anna,):
        monkeypatch.setattr("amemgym.memory.adapters.mem0_store.Rows.put", _broken)
        with pytest.raises(MemoryFailed, match=r"ZeroDivisionError|Failed to insert any"):
            await write_to(anna, said("Hello again."), APRIL)


@pytest.mark.skipif(NAME != "mem0", reason="mem0 1 keeps no messages")
@in_loop
async def test_the_last_messages_are_told_in_order_though_time_stands_still() -> None:
    recording = Recording(lambda body: "{}")
    async with memories(recording, "anna") as (anna,):
        for number in range(8):
            await write_to(anna, said(f"Message {number}."), MARCH)
    told = recording.bodies()[-1].rpartition("## Last k Messages")[2].partition("## Recently")[0]
    assert re.findall(r"Message \d", told) == [f"Message {number}" for number in range(2, 7)]


@in_loop
async def test_an_item_of_another_user_is_never_given() -> None:
    from amemgym.memory.adapters.mem0_store import Row

    async with memories(Recording(), "anna", "ben") as (anna, ben):
        for memory in (anna, ben):
            await write_to(memory, said(BREAD), MARCH)
        (row,) = ben._mem0.vector_store.rows()
        anna._mem0.vector_store.put([Row("x", row.vector, row.payload)])
        assert len(await read_from(anna, "bread", APRIL, 5)) == 1
        with pytest.raises(MemoryFailed, match="an item of 'ben' to 'anna'"):
            await held_by(anna)


@in_loop
async def test_an_assistant_s_words_are_no_facts_of_the_user_s() -> None:
    recording = Recording()
    async with memories(recording, "anna") as (anna,):
        talk = [Message("user", BREAD, MARCH), Message("assistant", "You should visit Rome.", MARCH)]
        await write_to(anna, talk, MARCH)
        assert [item.text for item in await held_by(anna) or ()] == [BREAD]
    assert "You should visit Rome." in recording.bodies()[0], "it is told of them, all the same"


def test_a_run_replayed_from_its_journal_asks_nothing_and_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r"
    settings: dict[str, Any] = {"users": 1, "periods": 1, "upper_bound": False, "probe": False}
    opened: list[Recording] = []

    def open_model(settings: ModelSettings, say: Any) -> Recording:
        opened.append(Recording())
        return opened[-1]

    monkeypatch.setattr("amemgym.llm.doors.open_model", open_model)
    first = amemgym.run("starter", NAME, out=out, **settings)
    assert sum(len(recording.bodies()) for recording in opened) >= 2
    (episode,) = (out / "episodes").rglob("*.json")
    (journal,) = (out / "journal").rglob("*.jsonl.gz")
    before = episode.read_bytes(), journal.read_bytes()
    assert NAME not in json.loads(episode.read_bytes())["texts"], "no name of ours in what is shown"
    episode.unlink()
    opened.clear()
    again = amemgym.run("starter", NAME, out=out, **settings)
    assert [request for recording in opened for request in recording.requests] == []
    assert (episode.read_bytes(), journal.read_bytes()) == before
    assert again.scores == first.scores


def test_the_package_that_is_missing_or_too_old_is_named() -> None:
    other = "mem0-v1" if NAME == "mem0" else "mem0"
    with pytest.raises(UsageError, match=rf"mem0ai .* is not supported.*pip install 'amemgym\[{other}\]'"):
        find_memory(other).check()
    find_memory(NAME).check()


#: rules of the kit that tests above try on mem0 in their own way; in a new process it takes seconds to be imported
TRIED = {
    "written-comes-back",
    "any-text",
    "parallel-apart",
    "snapshot-new-process",
    "simulated-time",
    "errors-are-errors",
    "unreadable-replies",
    "deterministic-new-process",
}


@pytest.mark.skipif(NAME != "mem0", reason="takes seconds, and what mem0 1 does otherwise is tested above")
def test_it_keeps_the_kit_s_other_rules() -> None:
    report = amemgym.check_memory(NAME, [rule for rule in RULES if rule not in TRIED])
    assert report.passed, str(report)


@pytest.mark.skipif(NAME != "mem0", reason="that of 1.x is the process that is started here")
@pytest.mark.skipif(not V1.is_dir(), reason=f"mem0 1.x is not in {V1} (make test puts it there)")
def test_mem0_1_passes_the_same_tests() -> None:
    """It cannot live beside 2.x, so it has a folder of its own, and these tests a process of their own."""
    path = os.pathsep.join(filter(None, [str(V1), os.environ.get("PYTHONPATH")]))
    bare = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # plug-ins take longer than the tests
    tests = ["tests/memory/test_mem0.py", "tests/memory/test_mem0_prompts.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=os.environ | bare,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:]
