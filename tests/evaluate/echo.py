"""A model whose every reply is readable and a function of the request; and what runs left behind, to be compared."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import AuthenticationFailed
from amemgym.evaluate import EpisodeResult, RunDirectory
from amemgym.llm import Request
from amemgym.memory import Item, Memory
from amemgym.messages import Message
from amemgym.tasks import ChooseKnowing, ChooseOption, ExtractFacts, ProbeStates, ReconcileFacts, UpdateRecord
from tests.support.journals import journals_of
from tests.support.models import Scripted


def mark(request: Request) -> str:
    """What tells one request from another."""
    said = "\n".join(f"{message.role}: {message.content}" for message in request.messages)
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def echo(request: Request) -> str:
    """A reply that is a function of the request alone, and differs where requests do."""
    task, this = request.task, mark(request)
    number = int(this, 16)
    if isinstance(task, ChooseOption | ChooseKnowing):
        return json.dumps({"answer": 1 + number % len(task.options)})
    if isinstance(task, ProbeStates):
        chosen = {n: values[(number >> i) % len(values)] for i, (n, values) in enumerate(task.variables.items())}
        return json.dumps(chosen)
    if isinstance(task, ExtractFacts):
        return json.dumps({"facts": [f"The user is called {this}."]})
    if isinstance(task, ReconcileFacts):
        return json.dumps({"operations": [{"event": "add", "text": fact} for fact in task.facts]})
    if isinstance(task, UpdateRecord):
        return f"{task.record[-300:]}\nThe user is called {this}."
    return f"Indeed ({this})."


def every_model(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], str] = echo) -> Scripted:
    """Every model of a run replies so; all its requests."""
    provider = Scripted(answer)
    monkeypatch.setattr("amemgym.llm.doors.open_model", lambda settings, say: provider)
    return provider


def until(calls: int, answer: Callable[[Request], str] = echo) -> Callable[[Request], str]:
    """The same for so many calls; then a failure that stops the run."""
    made: list[Request] = []

    def limited(request: Request) -> str:
        made.append(request)
        if len(made) > calls:
            raise AuthenticationFailed("The key has expired.")
        return answer(request)

    return limited


class Diary(Memory):
    """Keeps all, gives back the latest."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        self.items += [Item(m.content, m.time) for m in messages]

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return self.items[-k:]


def copied(directory: Path, to: Path) -> Path:
    return Path(shutil.copytree(directory, to))


def episodes(directory: Path, agent: str) -> list[EpisodeResult]:
    """Whole episodes, in the order of users and trials."""
    found = RunDirectory(directory).episodes_of(agent)
    return sorted(found, key=lambda episode: (episode.user, episode.trial))


def answers(directory: Path, agent: str) -> list[list[Any]]:
    """What was answered in each exam, and the lines that memory gave back for it."""
    return [
        [e.user, e.trial, x.period, x.question, x.option, x.status, x.reply, [e.texts[i] for i in x.items]]
        for e in episodes(directory, agent)
        for x in e.exams
    ]


def probed(directory: Path, agent: str) -> list[list[Any]]:
    """The same of each probe."""
    return [
        [e.user, e.trial, p.period, p.question, p.values, p.status, p.reply, [e.texts[i] for i in p.items]]
        for e in episodes(directory, agent)
        for p in e.probes
    ]


def journaled(directory: Path) -> list[dict[str, Any]]:
    """Every line of every episode's journal."""
    return [json.loads(line) for kept in journals_of(directory).values() for line in kept.splitlines()]
