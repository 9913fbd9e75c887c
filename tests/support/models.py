"""Models for tests: a provider whose replies are a function of the request, and that remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from amemgym.llm import Completion, Door, Journal, Line, Model, Request, Usage, embedder
from amemgym.memory import Tools
from amemgym.tasks import ChooseKnowing, ChooseOption, ExtractFacts, ProbeStates, ReconcileFacts, prompts_for


def sensible(request: Request) -> str:
    """A readable reply to any task."""
    if isinstance(request.task, ChooseOption | ChooseKnowing):
        return '{"answer": 1}'
    if isinstance(request.task, ProbeStates):
        return json.dumps({name: values[0] for name, values in request.task.variables.items()})
    if isinstance(request.task, ExtractFacts):
        return '{"facts": ["The user said: ' + request.task.conversation[0].content[:40].replace('"', "'") + '"]}'
    if isinstance(request.task, ReconcileFacts):
        return '{"operations": [{"event": "add", "text": "' + request.task.facts[0].replace('"', "'") + '"}]}'
    return "Very well."


class Scripted:
    """Answers with `answer(request)`, which may raise; keeps every request in `requests`."""

    identity = "scripted"

    def __init__(self, answer: Callable[[Request], str] = sensible) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        await asyncio.sleep(0)
        return Completion(self._answer(request), Usage(10, 2))

    async def aclose(self) -> None:
        return None


def line_for(journal: Journal | None = None) -> Line:
    """A line whose journal is in memory only."""
    return Line(journal or Journal(None), prompts_for("en"))


def model_of(provider: Scripted, role: str = "assistant", line: Line | None = None) -> Model:
    """A model as one role of an episode sees it. Call inside a running event loop."""
    return (line or line_for()).model(Door(provider, 4, first_wait=0.001), role)


def tools_of(provider: Scripted, line: Line | None = None, variables: tuple[str, ...] = ()) -> Tools:
    """Tools of a memory over a provider."""
    return Tools(model_of(provider, "memory", line), embedder(), variables)
