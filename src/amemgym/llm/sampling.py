"""A sample of a model's own replies, taken in a rehearsal: how long they are, and how many tokens there really are.

The first few calls of each kind of task are put to the model itself, one after the other; every other one to its
stand-in. What is found is a `Habit` for each kind, by which a second rehearsal asks nobody.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from amemgym.llm.provider import Completion, Provider, Request
from amemgym.llm.rehearsal import Habit, StandIn, openings, text_of, tokens
from amemgym.tasks import ExtractFacts, FollowUp, Reply, UpdateRecord


@dataclass(frozen=True)
class Sampled:
    """One call of the model: what it said and used, and what its stand-in would have said and we would have counted."""

    request: Request
    completion: Completion
    stand_in: str
    counted: int
    seconds: float


@dataclass
class Sample:
    """What was asked of one model, by kind of task."""

    calls: dict[str, list[Sampled]] = field(default_factory=lambda: defaultdict(list))

    def habits(self) -> dict[str, Habit]:
        """How the model does each kind of task that it was asked."""
        return {kind: _habit(calls) for kind, calls in self.calls.items()}

    @property
    def input(self) -> int:
        return sum(one.completion.usage.input for calls in self.calls.values() for one in calls)

    @property
    def output(self) -> int:
        return sum(one.completion.usage.output for calls in self.calls.values() for one in calls)

    @property
    def count(self) -> int:
        return sum(map(len, self.calls.values()))


class Sampling:
    """A model whose first `most` calls of each kind are its own, and whose others its stand-in's. `sample` takes what
    is found. Where `model` is the stand-in as well, it shows what would be asked."""

    def __init__(self, model: Provider, stand_in: StandIn, most: int, sample: Sample) -> None:
        self._model = model
        self._stand_in = stand_in
        self._most = most
        self._sample = sample
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def complete(self, request: Request) -> Completion:
        calls = self._sample.calls[request.task.name]
        async with self._turns[request.task.name]:  # so that none too many is asked
            if len(calls) < self._most:
                expected = text_of(await self._stand_in.reply(request))
                begun = perf_counter()
                completion = await self._model.complete(request)
                seconds = completion.seconds or perf_counter() - begun
                counted = tokens(message.content for message in request.messages)
                calls.append(Sampled(request, completion, expected, counted, seconds))
                return completion
        return await self._stand_in.complete(request)

    async def aclose(self) -> None:
        await self._model.aclose()


def _habit(calls: list[Sampled]) -> Habit:
    """What a kind's calls have in common."""
    task = calls[0].request.task
    usages = [one.completion.usage for one in calls]
    own_words = isinstance(task, Reply | FollowUp | UpdateRecord | ExtractFacts)
    # where the stand-in's replies are as long as these, their tokens are to be counted; else those in their place
    texts = [_said(one) if own_words else one.stand_in for one in calls]
    thought = [min(usage.reasoning or 0, usage.output) for usage in usages]
    replied = sum(usage.output for usage in usages) - sum(thought)
    found: dict[str, Any] = {
        "input": _ratio(sum(usage.input for usage in usages), sum(one.counted for one in calls)),
        "output": _ratio(replied, sum(tokens([text]) for text in texts)),
        "reasoning": sum(thought) / len(calls),
    }
    if isinstance(task, UpdateRecord):
        found |= _of_records(calls)
    elif isinstance(task, ExtractFacts):
        facts = [one.request.task.parse(one.completion.text).value or [] for one in calls]
        lengths = [len(fact) for some in facts for fact in some]
        found |= {"facts": len(lengths) / len(calls), "fact": sum(lengths) / len(lengths) if lengths else None}
    elif own_words:
        found["length"] = sum(len(_said(one)) for one in calls) / len(calls)
    return Habit(**found)


def _of_records(calls: list[Sampled]) -> dict[str, float]:
    """How long a first record is, and what a session adds to a later one."""
    first, later, growth = [], 0, 0
    for one in calls:
        task = one.request.task
        assert isinstance(task, UpdateRecord)
        if task.record:
            growth, later = growth + len(_said(one)) - len(task.record), later + openings(task)
        else:
            first.append(len(_said(one)))
    found = {"growth": max(0.0, growth / later)} if later else {}
    return found | ({"length": sum(first) / len(first)} if first else {})


def _said(one: Sampled) -> str:
    return one.completion.text


def _ratio(real: int, counted: int) -> float:
    return real / counted if real and counted else 1.0
