"""The ledger counts kinds of tokens apart and keeps what was not told as not known, also through a journal; and tells
what a memory asks while it is written from what it asks while it is read."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from amemgym.llm import Completion, Journal, Line, Request, Usage, at
from amemgym.llm.journal import Address, Entry
from amemgym.memory import Item, Memory
from amemgym.memory.calls import held_by, new_memory, read_from, write_to
from amemgym.messages import Message
from amemgym.tasks import Context, Reply
from tests.support.models import Scripted, line_for, model_of, tools_of

NOW = datetime(2024, 5, 1)
TOLD = (Usage(10, 4, cached=6, reasoning=3), Usage(20, 5, cached=0), Usage(30, 6))


class Telling(Scripted):
    """Its calls tell of cached and reasoning tokens, of one alone, and of neither."""

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        return Completion("Well.", TOLD[len(self.requests) - 1])


def asked(provider: Scripted, journal: Journal) -> tuple[Line, dict[str, Any]]:
    async def call() -> Line:
        line = line_for(journal)
        model = model_of(provider, "assistant", line)
        for text in ("one", "two", "three"):
            await model.ask(Reply(Context((), (Message("user", text, NOW),))))
        journal.close()
        return line

    line = asyncio.run(call())
    return line, line.ledger["assistant"].as_dict() | {"seconds": 0}


def test_what_was_not_told_is_not_zero_and_a_resumed_run_has_the_same_bill(tmp_path: Path) -> None:
    _, first = asked(Telling(), Journal(tmp_path / "j"))
    assert (first["input"], first["output"]) == (60, 15)
    assert (first["cached"], first["cached_calls"]) == (6, 2), "0 was told by one of them"
    assert (first["reasoning"], first["reasoning_calls"]) == (3, 1)
    silent = Telling()
    _, again = asked(silent, Journal(tmp_path / "j"))
    assert again == first and not silent.requests
    _, untold = asked(Scripted(), Journal(None))
    assert untold["cached"] is None and untold["reasoning"] is None and untold["cached_calls"] == 0


def test_a_journal_keeps_only_what_was_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    for number, usage in enumerate(TOLD):
        journal.append(Address("p0", "exam", str(number)), Entry(Completion("Yes.", usage)))
    journal.close()
    lines = (tmp_path / "j").read_text().splitlines()
    assert '"cached": 0' in lines[1] and '"reasoning"' not in lines[1] and '"cached"' not in lines[2]
    back = Journal(tmp_path / "j")
    kept = [back.take(Address("p0", "exam", str(number))) for number in range(3)]
    assert [entry.result().usage for entry in kept if entry] == list(TOLD)


class Asks(Memory):
    """Asks its model whatever it does."""

    async def write(self, messages: Any, now: datetime) -> None:  # type: ignore[override]
        await self._ask("write")

    async def read(self, query: str, now: datetime, k: int) -> list[Item]:  # type: ignore[override]
        await self._ask("read")
        return []

    async def export(self) -> list[Item]:  # type: ignore[override]
        await self._ask("export")
        return []

    async def _ask(self, text: str) -> None:
        await self.tools.model.ask(Reply(Context((), (Message("user", text, NOW),))))


def test_a_memory_s_writing_and_reading_are_counted_apart_also_in_an_exam(tmp_path: Path) -> None:
    async def work() -> Line:
        line = line_for(Journal(tmp_path / "j"))
        memory = new_memory(Asks, tools_of(Scripted(), line))
        with at("p0/s0/r0"):
            await write_to(memory, [], NOW)
            await read_from(memory, "", NOW, 1)
        await held_by(memory)
        with at("p0/q0", "exam"):
            await read_from(memory, "", NOW, 1)
        with at("p0/q0/probe", "probe"):
            await read_from(memory, "", NOW, 1)
        line.journal.close()
        return line

    line = asyncio.run(work())
    assert {role: count.calls for role, count in line.ledger.items()} == {
        "memory write": 2,
        "memory read": 2,
        "probe": 1,
    }
    kept = [json.loads(record) for record in (tmp_path / "j").read_text().splitlines()]
    places = {(record["at"], record["role"]) for record in kept}
    assert ("p0/q0", "memory read") in places and ("p0/s0/r0", "memory write") in places
