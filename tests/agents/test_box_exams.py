"""An agent that cannot be copied is not talked to while it is examined; one that can goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import pytest

import amemgym
from amemgym.agents import BoxAgent, ConversationalAgent, ExamQuestion, ExamReply, Habits, ProbeQuestion, ProbeReply
from amemgym.env import Episode
from amemgym.errors import AgentFailed
from amemgym.evaluate import RunWatcher
from amemgym.evaluate.examine import Seat
from amemgym.evaluate.play import play
from amemgym.memory import Item, Memory
from amemgym.messages import Message
from amemgym.tasks import Status
from tests.support.models import Scripted, line_for, model_of, tools_of

STEPS = 20  # of the event loop, in which a conversation that did not wait would have gone on


class Spy:
    """Notes what is said to it and asked of its copies, in order; each question takes a while."""

    dropped = 0

    def __init__(self, waits: bool, fails: bool = False) -> None:
        self.waits_for_exams = waits
        self.fails = fails
        self.noted: list[str] = []

    async def reply(self, message: Message) -> Message:
        self.noted.append("reply")
        return Message("assistant", "Yes.", message.time)

    async def listen(self, messages: Sequence[Message]) -> None:
        self.noted.append("reply")

    async def conclude(self) -> None:
        raise AssertionError("an episode is one conversation")

    async def freeze(self) -> Callable[[], Awaitable[Spy]]:
        async def copy() -> Spy:
            return self

        return copy

    async def answer(self, question: ExamQuestion) -> ExamReply:
        await self._asked()
        return ExamReply(1, Status.OK, "1")

    async def probe(self, question: ProbeQuestion) -> ProbeReply:
        await self._asked()
        return ProbeReply(dict.fromkeys(question.variables), Status.INVALID, "")

    async def _asked(self) -> None:
        self.noted.append("asked")
        for _ in range(STEPS):
            await asyncio.sleep(0)
        if self.fails:
            raise RuntimeError("no answer")
        self.noted.append("answered")

    async def holdings(self) -> list[Item] | None:
        return None

    async def aclose(self) -> None:
        pass


def played(spy: Spy, recorded: bool, probing: bool = True) -> str:
    """One user's two periods, as the order of what happened."""
    scenario = amemgym.load_dataset("starter").limited(1, 2).scenarios[0]
    talk = [
        [[{"role": "user", "content": s.query, "time": None}] for s in period.sessions] for period in scenario.periods
    ]

    async def run() -> None:
        line = line_for()
        episode = Episode(model_of(Scripted(), "user", line))
        seat = Seat("spy", 0, 0)
        more = {"recorded": talk} if recorded else {}
        await play(seat, scenario, spy, episode, line, 0, RunWatcher(), probing=probing, **more)

    asyncio.run(run())
    return " ".join(spy.noted)


@pytest.mark.parametrize("recorded", [False, True], ids=["on-policy", "off-policy"])
@pytest.mark.parametrize("probing", [False, True])
def test_the_conversation_waits_for_the_whole_exam(recorded: bool, probing: bool) -> None:
    noted = played(Spy(waits=True), recorded, probing)
    first, _, rest = noted.partition(" asked")
    assert set(first.split()) == {"reply"}
    exam, _, second = rest.partition(" reply")
    assert exam.split().count("answered") == exam.split().count("asked") + 1 == (8, 16)[probing]
    assert second.split().count("answered") == (8, 16)[probing]
    assert "reply" not in second[second.index("asked") :]
    assert exam.startswith(" asked asked"), "questions are put side by side"


def test_another_goes_on_meanwhile() -> None:
    noted = played(Spy(waits=False), recorded=False).split()
    assert noted.index("reply", noted.index("asked")) < noted.index("answered")


def test_an_exam_that_fails_ends_the_conversation() -> None:
    spy = Spy(waits=True, fails=True)
    with pytest.raises(AgentFailed, match="no answer"):
        played(spy, recorded=False)
    assert "reply" not in spy.noted[spy.noted.index("asked") :]


def test_a_memory_says_whether_its_snapshot_lasts() -> None:
    class Elsewhere(Memory):
        snapshot_is_view = True

        def write(self, messages: Sequence[Message], now: datetime) -> None:
            pass

        def read(self, query: str, now: datetime, k: int) -> list[Item]:
            return []

    class Here(Elsewhere):
        snapshot_is_view = False

    async def waits(kind: type[Memory]) -> bool:
        provider = Scripted()
        return ConversationalAgent(Habits(), kind, tools_of(provider), model_of(provider)).waits_for_exams

    assert [asyncio.run(waits(kind)) for kind in (Elsewhere, Here)] == [True, False]
    assert BoxAgent.waits_for_exams and not Memory.snapshot_is_view
