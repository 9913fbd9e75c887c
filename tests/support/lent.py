"""A memory system from elsewhere at work for a test: behind the gateway is the offline model, or what a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from amemgym.llm import Completion, Door, Gateway, Journal, Line, Request, Usage, embedder
from amemgym.llm.offline.model import OfflineModel
from amemgym.memory import Memory, Tools, close_memory, new_memory
from amemgym.tasks import Chat, ToolCall, prompts_for


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


Work = Callable[..., Awaitable[None]]


def with_memories(
    cls: type[Memory], work: Work, model: Heard | None = None, count: int = 1, journal: Path | None = None
) -> Heard:
    """Do `work(*memories)` with so many empty memories of one episode, inside an event loop, and close them. Gives
    what the model heard."""
    heard = model or Heard()

    async def inside() -> None:
        async with Gateway() as gateway:
            line = Line(Journal(journal), prompts_for("en"))
            door = Door(heard, asyncio.Semaphore(4), first_wait=0.001)
            lender = gateway.for_episode(line, door, embedder())
            tools = Tools(line.model(door, "memory"), embedder(), lender=lender)
            memories = [new_memory(cls, tools) for _ in range(count)]
            try:
                await work(*memories)
            finally:
                for memory in memories:
                    await close_memory(memory)
                line.journal.close()

    asyncio.run(inside())
    return heard


def calls_of(*calls: tuple[str, dict[str, Any]]) -> Completion:
    """A reply that calls tools."""

    named = (ToolCall(f"call_{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(calls))
    return Completion("", Usage(1, 1), "tool_calls", calls=tuple(named))
