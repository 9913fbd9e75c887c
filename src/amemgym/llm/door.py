"""The one door to models: every call of a run goes through here.

A call is rendered, looked up in the episode's journal, and only if it is not there asked: within the limit of calls
under way, again if that can help, and kept in the journal before anything uses it. What was used is counted in the
episode's ledger, so that a resumed run counts the same as an unbroken one.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Generic, TypeVar

import tenacity

from amemgym.errors import (
    REQUEST_ERRORS,
    BadRequest,
    ContentFiltered,
    EndpointUnavailable,
    ModelError,
    NoContent,
    NotAnEndpoint,
    RequestRefused,
)
from amemgym.llm.journal import Address, Entry, Journal
from amemgym.llm.place import Place, here
from amemgym.llm.provider import Completion, Provider, Request, Usage
from amemgym.llm.slots import Slots
from amemgym.messages import whole
from amemgym.tasks import ChooseKnowing, ChooseOption, Parsed, Prompts, Status, Task, ToolCall, digest

T = TypeVar("T")

#: a longer Retry-After than this many seconds is reported, not waited for
LONGEST_WAIT = 120.0
LONGEST_BACKOFF = 30.0
#: so many first replies without text, and none with, mean that there will be none
SILENT_AT_FIRST = 5


#: seconds are counted in as many whole parts, as in the journal, so that their sum depends on no order
TICKS = 10_000


class Watcher:
    """Is told what happens at the door, to show it. Does nothing by itself."""

    def called(self, usage: Usage, replayed: bool) -> None:
        """A reply was used."""

    def retried(self, why: str, wait: float) -> None:
        """A call failed and will be tried again."""

    def said(self, sentence: str) -> None:
        """Something a person should know."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A parsed reply: the value (None unless the status is ok or repaired) and the reply's own text."""

    value: T | None
    status: Status
    text: str


@dataclass
class RoleCount:
    """What one role used in an episode."""

    calls: int = 0
    input: int = 0
    output: int = 0
    estimated: int = 0
    ticks: int = 0
    statuses: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        unusable = {s: n for s, n in sorted(self.statuses.items()) if s not in (Status.OK, Status.REPAIRED)}
        counts = {"calls": self.calls, "input": self.input, "output": self.output, "estimated": self.estimated}
        return counts | {"seconds": self.ticks / TICKS, "unreadable": unusable}


class Door:
    """One model with its limits. Shared by all episodes of a run.

    Args:
        provider: the model.
        slots: the calls that may be under way at once.
        attempts: how often a call is tried in all where trying again can help.
        watcher: is told of calls, retries and remarks.
    """

    def __init__(
        self,
        provider: Provider,
        slots: Slots | asyncio.Semaphore,
        *,
        attempts: int = 6,
        first_wait: float = 0.5,
        watcher: Watcher | None = None,
    ) -> None:
        self.provider = provider
        self.watcher = watcher or Watcher()
        #: replies with text that the model gave (not those taken from a journal)
        self.replies = 0
        #: whether it ever gave one, in this run or in what was resumed: what it refuses or garbles since is that
        #: one request's fault
        self.answered = False
        #: whether the last call that ended got no reply, however often it was tried
        self.failing = False
        self._silent = 0
        self._said: set[str] = set()
        self._slots = slots
        self._attempts = attempts
        self._first_wait = first_wait
        # how long to wait decides no result, so it has no seed
        self._jitter = random.Random()

    def say_once(self, sentence: str) -> None:
        """Tell the watcher something that would otherwise be said at every call."""
        if sentence not in self._said:
            self._said.add(sentence)
            self.watcher.said(sentence)

    async def complete(self, request: Request) -> Completion:
        """Ask, and again where that can help. Raises a ModelError."""

        def retried(state: tenacity.RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            self.watcher.retried(str(error), state.upcoming_sleep)

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(_may_pass),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=self._wait,
            before_sleep=retried,
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    async with self._slots:
                        return await self._complete_once(request)
        except EndpointUnavailable as error:
            self.failing = True
            tried = retrying.statistics.get("attempt_number", 1)
            times = f" (tried {tried} times)" if tried > 1 else ""
            if error.retry_after is not None and error.retry_after > LONGEST_WAIT:
                times += f" (it asks to wait {error.retry_after:.0f} s, too long to wait for; resume later)"
            raise EndpointUnavailable(f"{error}{times}", error.retry_after) from error
        raise ModelError("no attempt was made")  # never reached: there is at least one attempt

    async def _complete_once(self, request: Request) -> Completion:
        started = perf_counter()
        try:
            completion = await self.provider.complete(request)
        except NoContent as error:
            # a model that never says anything is of no use; one reply without text is only unreadable
            self._silent, self.failing = self._silent + 1, False
            if not self.answered and self._silent >= SILENT_AT_FIRST:
                raise NotAnEndpoint(str(error)) from error
            raise
        except RequestRefused as error:
            if not self.answered:
                raise BadRequest(str(error)) from error
            raise
        except NotAnEndpoint as error:
            if self.answered:
                raise EndpointUnavailable(str(error)) from error
            raise
        self.replies += 1
        self.answered, self.failing = True, False
        return replace(completion, seconds=completion.seconds or perf_counter() - started)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Seconds to wait: what the endpoint asked for, else exponential with jitter."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, EndpointUnavailable) else None
        if asked:  # 0 would be no wait at all
            return asked
        doubled = self._first_wait * 2.0 ** (state.attempt_number - 1)
        return min(LONGEST_BACKOFF, doubled * self._jitter.uniform(1, 1.5))


def _may_pass(error: BaseException) -> bool:
    """Whether the same call may pass later."""
    return isinstance(error, EndpointUnavailable) and (error.retry_after or 0.0) <= LONGEST_WAIT


class Line:
    """An episode's line through the door: its journal, its prompts, and its ledger by role."""

    def __init__(self, journal: Journal, prompts: Prompts) -> None:
        self.journal = journal
        self.prompts = prompts
        self.ledger: dict[str, RoleCount] = {}

    def model(self, door: Door, role: str) -> Model:
        """The model as one role of this episode sees it."""
        return Model(self, door, role)


class Model:
    """A model that can be asked, as agents, memories and the simulated user hold it."""

    def __init__(self, line: Line, door: Door, role: str) -> None:
        self._line = line
        self._door = door
        self._role = role

    def say_once(self, sentence: str) -> None:
        """Tell who watches the run something that would otherwise be said at every call."""
        self._door.say_once(sentence)

    async def ask(self, task: Task[T]) -> Answer[T]:
        """Ask the model to do the task. Raises a ModelError where no reply can be had."""
        completion, parsed = await self._reply(task)
        return Answer(parsed.value, parsed.status, completion.text)

    async def complete(self, task: Task[T]) -> Completion:
        """The same for who wants the reply as the model gave it, with the tools it wants called. Raises as `ask`."""
        return (await self._reply(task))[0]

    async def _reply(self, task: Task[T]) -> tuple[Completion, Parsed[T]]:
        place = here()
        # an exam's and a probe's calls are counted apart from the conversation's
        role = self._role
        if place.examines == "probe" or (place.examines and role == "assistant"):
            role = place.examines  # a probe is no cost of the agent's, whoever asks in it
        messages = task.messages(self._line.prompts)
        address = Address(place.name, role, digest(task, messages))
        entry = self._line.journal.take(address)
        replayed = entry is not None
        if entry is None:
            labels = place.labels if isinstance(task, ChooseOption | ChooseKnowing) else None
            entry = await self._ask(Request(task, messages, labels, self._line.prompts), address, place)
        count = self._line.ledger.setdefault(role, RoleCount())
        count.calls += 1
        completion = entry.result()
        self._door.answered = self._door.answered or bool(completion.text or completion.calls)
        self._door.watcher.called(completion.usage, replayed)
        count.input += completion.usage.input
        count.output += completion.usage.output
        count.estimated += completion.usage.estimated
        count.ticks += round(completion.seconds * TICKS)
        parsed = task.parse(completion.text)
        count.statuses[parsed.status] += 1
        return completion, parsed

    async def _ask(self, request: Request, address: Address, place: Place) -> Entry:
        try:
            entry = Entry(_whole(await self._door.complete(request)))
        except NoContent as error:
            self._door.say_once(str(error))
            usage = error.usage if isinstance(error.usage, Usage) else Usage(estimated=True)
            entry = Entry(Completion("", usage, error.finish))
        except tuple(REQUEST_ERRORS.values()) as error:
            # the same request would end so again; but a conversation that a filter stopped may be tried again
            if isinstance(error, ContentFiltered) and place.examines is None:
                raise
            kind = next(kind for kind, known in REQUEST_ERRORS.items() if isinstance(error, known))
            entry = Entry(error=(kind, str(error)))
        return self._line.journal.append(address, entry)


def _whole(completion: Completion) -> Completion:
    """A reply cut in the middle of an emoji ends in half a character, which no file or request can hold."""
    if completion.text.isascii() and not completion.calls:
        return completion
    calls = tuple(ToolCall(*map(whole, (call.id, call.name, call.arguments))) for call in completion.calls)
    return replace(completion, text=whole(completion.text), calls=calls)
