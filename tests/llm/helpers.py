"""What these tests share: a watcher that remembers, a request of each kind, and one call through a door to the mock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from amemgym.errors import ModelError
from amemgym.llm import Completion, Door, Request, Usage, Watcher
from amemgym.llm.openai import OpenAIModel
from amemgym.messages import Message
from amemgym.tasks import ChooseKnowing, ChooseOption, Context, ExtractFacts, Reply, Task, prompts_for
from tests.support import mock_openai
from tests.support.mock_openai import MockOpenAI, Responder, Response

NOW = datetime(2022, 3, 1, 9, 30)
PROMPTS = prompts_for("en")


class Heard(Watcher):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Usage, bool]] = []
        self.retries: list[tuple[str, float]] = []
        self.remarks: list[str] = []

    def called(self, usage: Usage, replayed: bool) -> None:
        self.calls.append((usage, replayed))

    def retried(self, why: str, wait: float) -> None:
        self.retries.append((why, wait))

    def said(self, sentence: str) -> None:
        self.remarks.append(sentence)

    @property
    def waits(self) -> list[float]:
        return [wait for _, wait in self.retries]


def reply_to(text: str = "What next?") -> Reply:
    return Reply(Context((), (Message("user", text, NOW),)))


def question(text: str = "Which one?", memories: tuple[str, ...] = ()) -> ChooseOption:
    return ChooseOption(text, ("Walk.", "Ride."), Context(memories), NOW)


def knowing(text: str = "Which one?") -> ChooseKnowing:
    return ChooseKnowing(text, ("Walk.", "Ride."), (("travel", "bicycle"),))


def facts_of(text: str) -> ExtractFacts:
    return ExtractFacts((Message("user", text, NOW),), NOW)


def request_for(task: Task[Any] | None = None) -> Request:
    task = task or reply_to()
    return Request(task, task.messages(PROMPTS))


@dataclass
class Outcome:
    """What came of the calls: each a completion or a ModelError."""

    results: list[Completion | ModelError]
    server: MockOpenAI
    heard: Heard = field(default_factory=Heard)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.server.requests]

    @property
    def text(self) -> str:
        assert isinstance(self.results[-1], Completion), self.results[-1]
        return self.results[-1].text

    @property
    def usage(self) -> Usage:
        assert isinstance(self.results[-1], Completion), self.results[-1]
        return self.results[-1].usage

    @property
    def error(self) -> ModelError:
        assert isinstance(self.results[-1], ModelError), self.results[-1]
        return self.results[-1]


def ask(
    answer: Responder | Response | None = None,
    *requests: Request,
    at_once: bool = False,
    attempts: int = 1,
    slots: int = 8,
    delay: float = 0.0,
    **settings: Any,
) -> Outcome:
    """Put requests (one unless given) to a mock that gives `answer`, through a door; one after the other or at once."""
    responder: Callable[[mock_openai.Request], Response | None] | None
    responder = (lambda request: answer) if isinstance(answer, Response) else answer
    heard = Heard()

    async def one(door: Door, request: Request) -> Completion | ModelError:
        try:
            return await door.complete(request)
        except ModelError as error:
            return error

    async def all_of(base_url: str, wanted: Sequence[Request]) -> list[Completion | ModelError]:
        model = OpenAIModel("gpt-x", base_url=base_url, say=heard.said, **{"timeout": 5.0} | settings)
        door = Door(model, slots, attempts=attempts, first_wait=0.001, watcher=heard)
        try:
            if at_once:
                return list(await asyncio.gather(*(one(door, request) for request in wanted)))
            return [await one(door, request) for request in wanted]
        finally:
            await model.aclose()

    with MockOpenAI(responder, delay=delay) as server:
        results = asyncio.run(all_of(server.base_url, requests or [request_for()]))
    return Outcome(results, server, heard)
