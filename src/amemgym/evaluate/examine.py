"""Exams and probes: each question is put to a fresh copy of the agent as it was when the period ended.

So nothing that is asked changes what is asked, nor another question; and all of it goes on beside the conversation,
but where a copy only holds until the next turn. A question is begun when there is room for another copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from amemgym.agents import Agent, Examinee, ExamReply, ProbeReply
from amemgym.clean import clean
from amemgym.env import Episode, ExamItem, ProbeItem
from amemgym.errors import AgentFailed, AMemGymError, ContentFiltered, ContextOverflow, MemoryFailed, raised
from amemgym.evaluate.coach import Coach, Examined
from amemgym.evaluate.results import ExamResult, ProbeResult
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import at, here, probe_name, question_name
from amemgym.memory import Item
from amemgym.secrets import redact
from amemgym.tasks import Status
from amemgym.together import Room, first_failure, side_by_side

T = TypeVar("T")
#: how a copy of the agent is made
Copy = Callable[[], Awaitable[Examinee]]
Recalled = tuple[Item, ...]


@dataclass(frozen=True)
class Seat:
    """Which episode is played: the names that its result carries."""

    agent: str
    user: int
    trial: int


@dataclass
class Texts:
    """Each text once; an episode's results point into it."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, item: Item) -> int:
        return self.places.setdefault(item.line(), len(self.places))

    def all(self) -> tuple[str, ...]:
        return tuple(self.places)


class Examiner:
    """Takes what an agent is after each period, and has it examined as tasks of `group`."""

    def __init__(
        self,
        seat: Seat,
        agent: Agent,
        episode: Episode,
        group: asyncio.TaskGroup,
        watcher: RunWatcher,
        probing: bool,
        coach: Coach | None = None,
        room: Room | None = None,
    ) -> None:
        self._seat = seat
        self._agent = agent
        self._episode = episode
        self._group = group
        self._watcher = watcher
        self._probing = probing
        self._coach = coach
        self._room = room
        #: what the conversation or a coach waits for is no less urgent than they are
        self._aside = coach is None and not agent.waits_for_exams
        self._held: list[list[Item] | None] = []
        self._exams: list[asyncio.Task[list[tuple[ExamResult, Recalled]]]] = []
        self._probes: list[asyncio.Task[list[tuple[ProbeResult, Recalled]]]] = []

    async def examine(self, period: int) -> None:
        """Freeze the agent and start its exam and probes; wait for them where it cannot go on beside them.

        Raises AgentFailed.
        """
        with blaming(self._seat, period):
            copy = await self._agent.freeze()
            if not self._aside:  # a copy that is no copy may not stand being read while it is listed
                self._held.append(await self._agent.holdings())
        self._exams.append(self._begin(self._ask(item, copy) for item in self._episode.exam_items(period)))
        if self._coach is not None:
            self._group.create_task(self._tell(self._coach, period, self._exams[-1]))
        if self._probing:
            self._probes.append(self._begin(self._probe(item, copy) for item in self._episode.probe_items(period)))
        if self._aside:  # what is held is told while the questions are answered
            with blaming(self._seat, period):
                self._held.append(await self._agent.holdings())
        if self._agent.waits_for_exams:  # a failure ends the group, and so this
            await asyncio.wait([*self._exams[-1:], *self._probes[-1:]])

    def _begin(self, questions: Iterable[Coroutine[Any, Any, T]]) -> asyncio.Task[list[T]]:
        with at("", aside=self._aside):  # where they wait for room
            return self._group.create_task(side_by_side(questions, self._room))

    def results(self, texts: Texts) -> tuple[tuple[ExamResult, ...], tuple[ProbeResult, ...], list[list[int] | None]]:
        """Exams, probes and what was held after each period, once the group has ended; `texts` takes their texts."""

        def placed(recalled: Recalled) -> tuple[int, ...]:
            return tuple(texts.place(item) for item in recalled)

        exams = [replace(e, items=placed(items)) for task in self._exams for e, items in task.result()]
        probes = [replace(p, items=placed(items)) for task in self._probes for p, items in task.result()]
        return tuple(exams), tuple(probes), [None if h is None else list(placed(tuple(h))) for h in self._held]

    async def _tell(self, coach: Coach, period: int, exams: asyncio.Task[list[tuple[ExamResult, Recalled]]]) -> None:
        """Tell the coach of a period's exam, once it is taken."""
        await asyncio.wait([exams])  # its failure is raised by itself
        if not exams.cancelled() and exams.exception() is None:
            # as it would be read from the finished episode
            told = [Examined(result, tuple(clean(i.line()) for i in items)) for result, items in exams.result()]
            await coach.examined(period, told)

    async def _ask(self, item: ExamItem, copy: Copy) -> tuple[ExamResult, Recalled]:
        answer, error = ExamReply(None, Status.EMPTY, ""), None
        with at(question_name(item.period, item.index), "exam", item.labels, aside=self._aside):
            try:
                answer = await self._put(item.period, copy, lambda examinee: examinee.answer(item.question))
            except (ContentFiltered, ContextOverflow) as failure:
                error = str(failure)
        self._watcher.examined()
        graded = self._episode.grade(item, answer.option if error is None else None, answer.status)
        result = ExamResult(
            period=item.period,
            question=item.index,
            order=item.order,
            gold=item.gold,
            variant=item.gold_variant,
            option=graded.option if error is None else None,
            status=str(graded.status) if error is None else "error",
            correct=graded.correct and error is None,
            guessed=graded.guessed and error is None,
            error=error,
            reply=answer.text,
            dropped=answer.dropped,
        )
        return result, answer.items

    async def _probe(self, item: ProbeItem, copy: Copy) -> tuple[ProbeResult, Recalled]:
        answer, error = ProbeReply(dict.fromkeys(item.question.variables), Status.EMPTY, ""), None
        with at(probe_name(item.period, item.index), "probe", aside=self._aside):
            try:
                answer = await self._put(item.period, copy, lambda examinee: examinee.probe(item.question))
            except (ContentFiltered, ContextOverflow) as failure:
                error = str(failure)
        self._watcher.examined()
        status = str(answer.status) if error is None else "error"
        values = {name: answer.values.get(name) for name in item.question.variables}
        result = ProbeResult(item.period, item.index, values, status, error, answer.text, (), answer.dropped)
        return result, answer.items

    async def _put(self, period: int, copy: Copy, ask: Callable[[Examinee], Awaitable[T]]) -> T:
        """Ask a fresh copy."""
        with blaming(self._seat, period, here().name):
            return await put_to_copy(copy, ask)


async def put_to_copy(copy: Copy, ask: Callable[[Examinee], Awaitable[T]]) -> T:
    """What a fresh copy answers, which is asked nothing more."""
    examinee = await copy()
    try:
        answer = await ask(examinee)
    except BaseException:
        with suppress(AMemGymError):  # why it failed is told, not what came of it
            await examinee.aclose()
        raise
    await examinee.aclose()
    return answer


@contextmanager
def blaming(seat: Seat, period: int, place: str = "") -> Iterator[None]:
    """An exception in here that is not ours becomes AgentFailed, which names the agent, the user and the place."""
    where = f"agent '{seat.agent}', user {seat.user}, period {period}" + (f" ({place})" if place else "")
    way = ". Without probes: --no-probe" if place.endswith("/probe") else ""
    try:
        yield
    except MemoryFailed as error:
        raise AgentFailed(f"{where}: {error}{way}", "memory") from error
    except AMemGymError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, BaseExceptionGroup) and isinstance(first := first_failure(error), AMemGymError):
            raise first from error  # a memory that asks side by side
        raise AgentFailed(f"{where}: its code raised {redact(raised(error))}{way}") from error
