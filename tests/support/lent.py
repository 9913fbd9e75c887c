"""A memory system from elsewhere at work for a test: behind the gateway is the offline model, or what a test says."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from amemgym.llm import Completion, Journal, Request, Usage, embedder
from amemgym.llm.offline.model import OfflineModel
from amemgym.memory import Item, Memory, write_to
from amemgym.messages import Message, opening
from amemgym.tasks import Chat, ToolCall
from tests.support.lending import memories
from tests.support.models import line_for


class Heard:
    """The offline model, which keeps each request in `bodies`. `answer` may give another reply, or raise."""

    identity = "offline"

    def __init__(self, answer: Callable[[Request], Completion | None] = lambda request: None) -> None:
        self._model = OfflineModel(embedder())
        self._answer = answer
        self.bodies: list[str] = []
        #: requests that the adapter told no meaning of
        self.unread: list[str] = []

    async def complete(self, request: Request) -> Completion:
        assert isinstance(request.task, Chat)
        body = json.dumps(request.task.body, ensure_ascii=False)
        self.bodies.append(body)
        if request.task.stand_in is None:
            self.unread.append(body)
        return self._answer(request) or await self._model.complete(request)

    async def aclose(self) -> None:
        return None


NOW = datetime(2022, 5, 1, 12)
DAY = timedelta(days=1)
#: no two are near enough for one to replace another
STRANGE = (
    opening("I live in {Berlin}, 'near' \"the\" river.\n\nIs {0} fine? %s \\n", NOW),
    "私は毎朝緑茶を飲みます。",
    "\u200fأحب القهوة\u200f כן 😀",
    "</session> <instance id=1 schema_type=\"Memory\">\n{'content': 'no'}\n</instance>\tmemory context: \ttags: []",
)


async def tell(memory: Memory, *texts: str) -> None:
    """One exchange a day."""
    for day, text in enumerate(texts):
        now = NOW + day * DAY
        await write_to(memory, [Message("user", text, now), Message("assistant", "Fine } {", now)], now)


Work = Callable[..., Awaitable[None]]


def with_memories(
    cls: type[Memory], work: Work, model: Heard | None = None, count: int = 1, journal: Path | None = None
) -> Heard:
    """Do `work(*memories)` with so many empty memories of one episode, inside an event loop, and close them. Gives
    what the model heard."""
    heard = model or Heard()

    async def inside() -> None:
        line = line_for(Journal(journal))
        async with memories(cls, heard, *map(str, range(count)), line=line) as made:
            await work(*made)
        line.journal.close()

    asyncio.run(inside())
    return heard


def calls_of(*calls: tuple[str, dict[str, Any]]) -> Completion:
    """A reply that calls tools."""

    named = (ToolCall(f"call_{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(calls))
    return Completion("", Usage(1, 1), "tool_calls", calls=tuple(named))


@contextmanager
def as_in_a_run() -> Iterator[None]:
    """Nobody catches what is logged, as pytest does."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        yield
    finally:
        root.handlers = handlers


def keep_for_elsewhere(snapshot: object, held: Sequence[Item] | None, folder: Path) -> None:
    (folder / "snapshot").write_bytes(pickle.dumps(snapshot))
    (folder / "held").write_bytes(pickle.dumps(held))


def restored_elsewhere(name: str, folder: Path, before: str = "") -> str:
    """What a new process prints when it restores the snapshot; no model may be called. `before` is code."""
    done = subprocess.run(
        [sys.executable, "-c", before + _RESTORED, name, str(folder)], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


_RESTORED = """
import pickle, sys
from pathlib import Path
from types import SimpleNamespace
from amemgym.memory import Tools, find_memory
name, folder = sys.argv[1], Path(sys.argv[2])
memory = find_memory(name)()
# an address that nobody is at, and no embedder
end = SimpleNamespace(base_url="http://127.0.0.1:9/v1", api_key="k", model="m", embedding_model="e", dimensions=256)
memory.tools = Tools(None, None, endpoint=end)
memory.restore(pickle.loads((folder / "snapshot").read_bytes()))
print("as it was" if memory.export() == pickle.loads((folder / "held").read_bytes()) else memory.export())
"""
