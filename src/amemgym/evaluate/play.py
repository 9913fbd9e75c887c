"""Playing one episode: the conversation goes on while the exams of past periods are answered beside it.

Each exam question is put to a fresh copy of the agent as it was when the period ended, so no exam changes what is
examined, nor another exam.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from amemgym.agents import Agent, Examinee, ExamReply
from amemgym.env import Episode, ExamItem, UserTurn
from amemgym.errors import AgentFailed, AMemGymError, ContentFiltered, ContextOverflow
from amemgym.evaluate.results import EpisodeResult, ExamResult
from amemgym.evaluate.together import first_failure, side_by_side
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import Line, at, question_name, round_name
from amemgym.memory import Item
from amemgym.messages import TIME_FORMAT, Message
from amemgym.scenario import Scenario
from amemgym.tasks import Status

T = TypeVar("T")


@dataclass
class _Texts:
    """Each text once; an episode's results point into it."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


@dataclass(frozen=True)
class Seat:
    """Which episode is played: the names that its result carries."""

    agent: str
    user: int
    trial: int


async def play(
    seat: Seat, scenario: Scenario, agent: Agent, episode: Episode, line: Line, seed: int, watcher: RunWatcher
) -> EpisodeResult:
    """Play a whole episode. Raises ModelError, AgentFailed or StorageError; the journal keeps what was done."""
    exams: list[asyncio.Task[list[tuple[ExamResult, tuple[Item, ...]]]]] = []
    held: list[list[Item] | None] = []
    try:
        async with asyncio.TaskGroup() as group:
            step = await episode.reset(scenario, seed)
            while (seen := step.observation) is not None:
                if isinstance(seen, UserTurn):
                    with at(round_name(seen.period, seen.session, seen.round)):
                        reply = await _guarded(seat, seen.period, agent.reply(seen.message))
                    watcher.turned()
                    step = await episode.step(reply.content)
                else:
                    with _blaming(seat, seen.period):
                        examinee, holdings = agent.freeze(), agent.holdings()
                    held.append(holdings)
                    items, step = episode.take_exam()
                    exams.append(group.create_task(_examine(seat, items, examinee, episode, watcher)))
    except BaseExceptionGroup as group_error:
        # one failed call cancels the rest of its episode; the first failure says why
        raise first_failure(group_error) from group_error
    texts = _Texts()
    results: list[ExamResult] = []
    for task in exams:
        for result, recalled in task.result():
            places = tuple(texts.place(item.line()) for item in recalled)
            results.append(replace(result, items=places))
    return EpisodeResult(
        agent=seat.agent,
        user=seat.user,
        user_id=scenario.id,
        trial=seat.trial,
        exams=tuple(results),
        conversation=[[[_said(m) for m in session] for session in period] for period in episode.conversation],
        holdings=[None if h is None else [texts.place(item.line()) for item in h] for h in held],
        texts=tuple(texts.places),
        ledger={role: count.as_dict() for role, count in sorted(line.ledger.items())},
        dropped=agent.dropped,
    )


async def _examine(
    seat: Seat, items: list[ExamItem], examinee: Callable[[], Examinee], episode: Episode, watcher: RunWatcher
) -> list[tuple[ExamResult, tuple[Item, ...]]]:
    """One period's exam: its questions side by side, each on a copy of its own."""

    async def ask(item: ExamItem) -> tuple[ExamResult, tuple[Item, ...]]:
        with at(question_name(item.period, item.index), labels=item.labels):
            result = await _ask(seat, item, examinee, episode)
        watcher.examined()
        return result

    return await side_by_side(ask(item) for item in items)


async def _ask(
    seat: Seat, item: ExamItem, examinee: Callable[[], Examinee], episode: Episode
) -> tuple[ExamResult, tuple[Item, ...]]:
    error: str | None = None
    try:
        with _blaming(seat, item.period):
            copy = examinee()
        answer = await _guarded(seat, item.period, copy.answer(item.question))
    except (ContentFiltered, ContextOverflow) as failure:
        answer, error = ExamReply(None, Status.EMPTY, ""), str(failure)
    graded = episode.grade(item, answer.option if error is None else None, answer.status)
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


async def _guarded(seat: Seat, period: int, work: Awaitable[T]) -> T:
    """Await an agent's work; an exception that is not ours becomes AgentFailed, which names the place."""
    with _blaming(seat, period):
        return await work


@contextmanager
def _blaming(seat: Seat, period: int) -> Iterator[None]:
    try:
        yield
    except AMemGymError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, BaseExceptionGroup) and isinstance(first := first_failure(error), AMemGymError):
            raise first from error  # a memory that asks side by side
        raise AgentFailed(
            f"agent '{seat.agent}', user {seat.user}, period {period}: its code raised {raised(error)}"
        ) from error


def raised(error: BaseException) -> str:
    """An exception as a phrase: its type, what it says, and the file and line it came from."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f" (at {Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno})" if frame else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _said(message: Message) -> dict[str, str | None]:
    time = message.time.strftime(TIME_FORMAT) if message.time else None
    return {"role": message.role, "content": message.content, "time": time}
