"""What the tests of mem0 share: memories over the offline model or a scripted one, with every request remembered.

Run as a program it restores a pickled snapshot, plays the same talk anew, and prints what came of both.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amemgym.llm import Completion, Provider, Request, Usage, embedder
from amemgym.llm.offline import OfflineModel
from amemgym.memory import (
    Memory,
    find_memory,
    held_by,
    read_from,
    restore_to,
    write_to,
)
from amemgym.messages import Message
from amemgym.tasks import Chat
from tests.support import lending

#: the adapter of the version that is installed; that of 1.x is tested by a process that finds 1.x
NAME = "mem0" if version("mem0ai").startswith("2.") else "mem0-v1"
MARCH = datetime(2022, 3, 1, 9, 30)
APRIL = datetime(2022, 4, 2, 10)
BREAD, FLAT, PIANO = (
    "My sister bakes rye bread every Sunday.",
    "I moved to a small flat near the harbour.",
    "I practise the piano before breakfast.",
)
#: two rounds of writing
TALK: list[tuple[datetime, list[str]]] = [(MARCH, [BREAD, FLAT]), (APRIL, [PIANO, "I gave up my car."])]


class Recording:
    """The offline model, or replies of your own to a memory's chats; keeps every request."""

    identity = "recording"

    def __init__(self, answer: Callable[[dict[str, Any]], str] | None = None) -> None:
        self._answer = answer
        self._offline = OfflineModel(embedder())
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        if self._answer is None:
            return await self._offline.complete(request)
        assert isinstance(request.task, Chat)
        return Completion(self._answer(dict(request.task.body)), Usage())

    async def aclose(self) -> None:
        return None

    def bodies(self) -> list[str]:
        """What was asked, as it was sent."""
        return [json.dumps(r.task.body, ensure_ascii=False) for r in self.requests if isinstance(r.task, Chat)]


def memories(provider: Provider, *names: str) -> Any:
    """Empty memories of these names, side by side behind one gateway; closed at the end."""
    return lending.memories(find_memory(NAME), provider, *names)


def said(*texts: str, at: datetime = MARCH) -> list[Message]:
    """What a user said, each answered shortly."""
    talk = [[Message("user", text, at), Message("assistant", "I see.", at)] for text in texts]
    return [message for pair in talk for message in pair]


async def play(memory: Memory, talk: Sequence[tuple[datetime, list[str]]] = TALK) -> None:
    for now, texts in talk:
        await write_to(memory, said(*texts, at=now), now)


async def _played_and_restored(snapshot: object) -> dict[str, Any]:
    recording = Recording()
    async with memories(recording, "anna", "copy") as (anna, copy):
        await play(anna)
        await restore_to(copy, snapshot)
        asked = recording.bodies()
        found = await read_from(copy, "bread", APRIL + timedelta(days=1), 1)
        logging.getLogger("mem0.memory.main").error("what mem0 has to say to its developers")
        return {
            "asked": asked,
            "asked to restore and read": len(recording.bodies()) - len(asked),
            "held": [item.line() for item in await held_by(copy) or ()],
            "held anew": [item.line() for item in await held_by(anna) or ()],
            "found": [item.line() for item in found],
            "threads": [t.name for t in threading.enumerate() if "posthog" in type(t).__module__],
        }


def _refuse(*_: object) -> None:
    raise AssertionError("the environment is written to, which crashes where a thread's C code is looking into it")


if __name__ == "__main__":
    os.putenv = os.unsetenv = _refuse
    print(json.dumps(asyncio.run(_played_and_restored(pickle.loads(Path(sys.argv[1]).read_bytes())))))
