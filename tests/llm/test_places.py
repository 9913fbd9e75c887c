"""Places: concurrent exams each have their own, and labels reach only what chooses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from amemgym.llm import Door, Journal, Line, at, question_name, round_name
from amemgym.llm.place import here
from amemgym.tasks import Task
from tests.llm.helpers import PROMPTS, facts_of, knowing, question, reply_to
from tests.support.models import Scripted

LABELS = ({"travel": "secret-bicycle"}, {"travel": "secret-bus"})


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(50):
        await asyncio.sleep(0)


# ---- place and labels


def test_a_place_is_left_again() -> None:
    assert (here().name, here().examines) == ("", None)
    with at("p0/s0/r0"):
        assert (here().name, here().examines) == ("p0/s0/r0", None)
        with pytest.raises(KeyError), at("p0/q0", "exam", LABELS):
            assert (here().name, here().labels, here().examines) == ("p0/q0", LABELS, "exam")
            raise KeyError
        assert (here().name, here().examines) == ("p0/s0/r0", None)
    assert (here().name, here().examines) == ("", None)


def test_exams_at_once_each_have_their_own_place(tmp_path: Path) -> None:
    provider = Scripted()

    async def exam(model: Any, period: int, number: int) -> None:
        with at(question_name(period, number), labels=({"v": f"{period}-{number}"}, {"v": "other"})):
            await asyncio.sleep(0)
            await model.ask(question(f"Question {period}-{number}?"))
            await asyncio.sleep(0)
            assert here().name == question_name(period, number)

    async def call() -> None:
        line = Line(Journal(tmp_path / "j"), PROMPTS)
        model = line.model(Door(provider, 4), "assistant")
        with at(round_name(1, 0, 0)):
            async with asyncio.TaskGroup() as group:
                for number in range(20):
                    group.create_task(exam(model, number // 10, number % 10))
                await model.ask(reply_to("Meanwhile"))
                assert here().name == "p1/s0/r0"
        line.journal.close()

    asyncio.run(call())
    asked = {request.messages[-1].content: request.labels for request in provider.requests}
    assert asked.pop("Meanwhile") is None
    assert len(asked) == 20
    for text, labels in asked.items():
        assert labels is not None and f"Question {labels[0]['v']}?" in text
    places = sorted(json.loads(line)["at"] for line in (tmp_path / "j").read_bytes().splitlines())
    assert places == sorted(["p1/s0/r0", *(question_name(n // 10, n % 10) for n in range(20))])


@pytest.mark.parametrize("in_exam", [False, True], ids=["conversation", "exam"])
@pytest.mark.parametrize("task", [question(), knowing(), reply_to(), facts_of("I ride.")], ids=lambda task: task.name)
def test_labels_reach_only_what_chooses(task: Task[Any], in_exam: bool, tmp_path: Path) -> None:
    provider = Scripted()

    async def call() -> None:
        line = Line(Journal(tmp_path / "j"), PROMPTS)
        with at("p0/q0", labels=LABELS if in_exam else None):
            await line.model(Door(provider, 1), "memory").ask(task)
        line.journal.close()

    asyncio.run(call())
    (request,) = provider.requests
    assert request.labels == (LABELS if in_exam and task.name.startswith("choose") else None)
    assert "secret-" not in "".join(message.content for message in request.messages)
    assert b"secret-" not in (tmp_path / "j").read_bytes()
    assert request.messages == task.messages(PROMPTS)
