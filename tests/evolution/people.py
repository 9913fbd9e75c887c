"""What tests of evolution are played with: users whose every secret text has a mark of its own, and a model that keeps
what it was asked, with the place in the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.evolving import EvolveReport
from amemgym.llm import Completion, Request, here
from amemgym.scenario import Dataset, load_dataset, split_users
from amemgym.tasks import RevisePolicy, UpdateRecord
from tests.scenario.build import User, build_user, question
from tests.support.models import Scripted, sensible

#: in every text of a user that only the exam and the life behind it hold
OPTION, VALUE, VARIABLE = "optionmark", "valuemark", "variablemark"


def person(name: str, periods: int = 3) -> User:
    """A user whose two variables change by turns; the utterances tell nothing of their names or values."""
    variables = [f"{VARIABLE}_{letter}_{name}" for letter in "ab"]
    schema = {variable: [f"{VALUE}_{variable[-5:]}_{number}" for number in range(3)] for variable in variables}
    counts = [0, 0]
    states = []
    for period in range(periods):
        if period:
            counts[period % 2] += 1
        states.append({v: schema[v][count % 3] for v, count in zip(variables, counts, strict=True)})
    one, two = variables
    asked = [
        question(f"What should {name} do on Sunday?", [one], *([value] for value in schema[one])),
        question(f"What should {name} eat?", [two], *([value] for value in schema[two])),
        question(f"Where should {name} go?", [one, two], *((a, b) for a in schema[one] for b in schema[two])),
    ]
    user = build_user(f"{name}-id", schema, states, asked)
    for number, each in enumerate(user["qas"]):
        for place, choice in enumerate(each["answer_choices"]):
            choice["answer"] = f"{OPTION} of {name}, question {number}, number {place}."
    for number, stretch in enumerate(user["periods"]):
        for place, session in enumerate(stretch["sessions"]):
            session["query"] = f"This is {name} in period {number}, message {place}."
    user["user_profile"] |= {"name": name, "formatted_str": f"name: {name}"}
    return user


def people(path: Path, users: Sequence[User]) -> Path:
    path.write_text(json.dumps(users, ensure_ascii=False), encoding="utf-8")
    return path


def sides(path: Path, training: float = 0.5) -> tuple[list[str], list[str]]:
    """The names of those who train, and of those held out."""
    split = split_users(load_dataset(str(path)), training)
    return tuple([name.removesuffix("-id") for name in side] for side in (split.training, split.held_out))  # type: ignore[return-value]


def following(task: RevisePolicy) -> str:
    """A policy that says how often it was revised, and from what."""
    kind = type(task.exams[0]).__name__.removesuffix("Feedback").lower()
    before = task.policy.rpartition(" ")[2]
    return f"{kind} version {int(before) + 1 if before.isdecimal() else 1}"


@dataclass
class Learner(Scripted):
    """Its record says by which policy it was written; it always chooses option 1, and revises as `revise` says."""

    revise: Callable[[RevisePolicy], str] = field(default=lambda task: json.dumps({"policy": following(task)}))
    identity = "learner"

    def __post_init__(self) -> None:
        super().__init__(self._reply)
        self.places: list[tuple[str, Request]] = []

    async def complete(self, request: Request) -> Completion:
        self.places.append((here().name, request))
        return await super().complete(request)

    def _reply(self, request: Request) -> str:
        if isinstance(request.task, RevisePolicy):
            return self.revise(request.task)
        if isinstance(request.task, UpdateRecord):
            heard = [message.content for message in request.task.conversation if message.role == "user"]
            return f"told: {request.task.policy}\nheard: {heard[-1] if heard else ''}"
        return sensible(request)

    def revisions(self) -> list[RevisePolicy]:
        return [request.task for request in self.requests if isinstance(request.task, RevisePolicy)]

    def revision_texts(self) -> list[str]:
        return [r.messages[-1].content for r in self.requests if isinstance(r.task, RevisePolicy)]


def evolved(
    model: Scripted, monkeypatch: pytest.MonkeyPatch, data: Path | Dataset, out: Path, **settings: Any
) -> EvolveReport:
    """An evolution in which every call goes to this model."""
    monkeypatch.setattr("amemgym.llm.doors.open_model", lambda settings, say: model)
    given = {"agent": "awi-2-0", "rounds_later": 1, "upper_bound": False, "probe": False, **settings}
    return amemgym.evolve(data=data, out=out, **given)


def scenarios(path: Path) -> Dataset:
    return load_dataset(str(path))
