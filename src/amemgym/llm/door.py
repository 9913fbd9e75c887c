"""The one door to models: every call of a run goes through here.

A call is rendered, looked up in the episode's journal, and only if it is not there asked: within the limit of calls
under way, again if that can help, and kept in the journal before anything uses it. What was used is counted in the
episode's ledger, so that a resumed run counts the same as an unbroken one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Generic, TypeVar

from amemgym.errors import (
    REQUEST_ERRORS,
    BadRequest,
    ContentFiltered,
    EndpointUnavailable,
    FatalModelError,
    ModelError,
    NoContent,
    NotAnEndpoint,
    RequestRefused,
)
from amemgym.llm.budget import Budget, Expected
from amemgym.llm.journal import Address, Entry, Journal
from amemgym.llm.ledger import RoleCount, role_at
from amemgym.llm.limiter import Call, Limiter, Pass
from amemgym.llm.limits import Limits
from amemgym.llm.place import Place, here
from amemgym.llm.prices import Rate
from amemgym.llm.provider import Completion, Provider, Request, Usage, estimate_tokens
from amemgym.llm.stopwatch import Stopwatch
from amemgym.messages import Message, whole
from amemgym.tasks import ChooseKnowing, ChooseOption, Parsed, Prompts, Status, Task, ToolCall, digest

T = TypeVar("T")

#: a longer Retry-After than this many seconds is reported, not waited for
LONGEST_WAIT = 120.0
#: an answer that is no completion is asked for so many times again before there was a good one, and an empty one ever
GARBLED, EMPTY = 3, 2
#: so many first replies without text, and none with, mean that there will be none
SILENT_AT_FIRST = 5


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


class Door:
    """One model with its limits. Shared by all episodes of a run.

    Args:
        provider: the model.
        limiter: its endpoint's, or the calls that may be under way at once, where it has one of its own.
        attempts: how often a call is tried in all where trying again can help; a limiter that is given has its own.
        watcher: is told of calls, retries and remarks.
        budget, rate: what may be spent, and what a token costs.
        max_tokens: the longest reply.
        again_if_empty: whether a reply without text may come out another way when it is asked for again.
    """

    def __init__(
        self,
        provider: Provider,
        limiter: Limiter | int,
        *,
        attempts: int = 6,
        first_wait: float = 0.5,
        watcher: Watcher | None = None,
        budget: Budget | None = None,
        rate: Rate | None = None,
        max_tokens: int | None = None,
        again_if_empty: bool = True,
    ) -> None:
        self.provider = provider
        self.watcher = watcher or Watcher()
        #: whether it ever gave text, in this run or in what was resumed: what it refuses or garbles since is that one
        #: request's fault
        self.answered = False
        if isinstance(limiter, int):
            limiter = Limiter(Limits(limiter, attempts), first_wait=first_wait, say=self.say_once)
        self._limiter = limiter
        self._budget = budget
        self._rate = rate
        self._expected = Expected(max_tokens) if budget is not None or limiter.counts_tokens else None
        self._again_if_empty = again_if_empty
        self._silent = 0
        self._said: set[str] = set()

    def say_once(self, sentence: str) -> None:
        """Tell the watcher something that would otherwise be said at every call."""
        if sentence not in self._said:
            self._said.add(sentence)
            self.watcher.said(sentence)

    async def complete(self, request: Request, role: str = "", stopwatch: Stopwatch | None = None) -> Completion:
        """Ask, and again where that can help. Raises a ModelError.

        Args:
            role: whose call it is; what its calls usually take is what one is expected to.
            stopwatch: the episode's, which stands while the call waits for its turn.
        """
        if stopwatch is None:
            return await self._complete(request, role, None)
        stopwatch.asks()
        try:
            return await self._complete(request, role, stopwatch)
        finally:
            stopwatch.has_asked()

    def learn(self, messages: Sequence[Message], role: str, usage: Usage) -> None:
        """What a call used that was made before, for what is expected of the next."""
        if self._expected is not None:
            self._expected.learn(role, _estimated(messages), usage)

    async def _complete(self, request: Request, role: str, stopwatch: Stopwatch | None) -> Completion:
        if self._expected is None:
            return await self._tried(request, 0, stopwatch)
        input = _estimated(request.messages)
        expected = self._expected.usage(role, input)
        tokens = expected.input + expected.output
        if self._budget is None:
            completion = await self._tried(request, tokens, stopwatch)
        else:
            reserved = await self._budget.reserve(expected, self._rate)
            try:
                completion = await self._tried(request, tokens, stopwatch)
                self._budget.spend(completion.usage, self._rate)
            except NoContent as error:
                self._pay(error)
                raise
            finally:
                # whoever waits for it goes on in a later step of the loop, when the reply is in its journal
                self._budget.release(reserved)
        self._expected.learn(role, input, completion.usage)
        return completion

    def _pay(self, error: NoContent) -> None:
        """A reply without text costs as much as any other."""
        if self._budget is not None and isinstance(error.usage, Usage):
            self._budget.spend(error.usage, self._rate)

    async def _tried(self, request: Request, tokens: int, stopwatch: Stopwatch | None) -> Completion:
        """Try until there is a reply, or no try can help."""
        limiter = self._limiter
        tried = empty = garbled = 0
        call: Call | None = None
        while True:
            held = await limiter.enter(tokens, stopwatch)
            started = perf_counter()
            tried += 1
            try:
                completion = await self.provider.complete(request)
                self.answered = True
                limiter.answered(held, _tokens(completion.usage))
                return replace(completion, seconds=perf_counter() - started) if not completion.seconds else completion
            except EndpointUnavailable as error:
                if isinstance(error, FatalModelError):
                    raise
                call = call or Call()
                counts, wait = self._failed(held, call, tried, error)
                tried -= not counts
                why = str(error)
            except NotAnEndpoint as error:
                call = call or Call()
                if self.answered:
                    passing = EndpointUnavailable(str(error))
                    counts, wait = self._failed(held, call, tried, passing, error)
                    tried -= not counts
                else:  # before it ever answered, it is rather the wrong address; but once may be chance
                    garbled += 1
                    if garbled > GARBLED or tried >= limiter.attempts:
                        raise
                    wait = limiter.backoff.after(garbled) / 5
                why = str(error)
            except NoContent as error:
                limiter.answered(held, _tokens(error.usage))
                if not self._again_if_empty or error.finish != "stop" or empty >= EMPTY or tried >= limiter.attempts:
                    self._note_silence(error)
                    raise
                self._pay(error)
                empty += 1
                why, wait = str(error), limiter.backoff.after(empty) / 5
            except RequestRefused as error:
                limiter.answered(held, ends_all=not self.answered)
                if not self.answered:
                    raise BadRequest(str(error)) from error
                raise
            except ModelError as error:
                limiter.answered(held, ends_all=isinstance(error, FatalModelError))
                raise
            finally:
                limiter.leave(held, ends_all=isinstance(sys.exception(), FatalModelError))
            self.watcher.retried(why, wait)
            if not (limiter.circuit.is_open or limiter.is_held):  # then that is what is waited for
                await limiter.clock.sleep(wait)

    def _failed(
        self, held: Pass, call: Call, tried: int, error: EndpointUnavailable, cause: Exception | None = None
    ) -> tuple[bool, float]:
        """What a try that may pass later means: whether it counts as one of the call's own, and seconds to wait. Raises
        where no try is left."""
        limiter, counts, down = self._limiter, True, False
        too_long = error.retry_after is not None and error.retry_after > LONGEST_WAIT
        if error.is_busy and not too_long:
            wait = limiter.busy(held, error.retry_after)
        elif error.is_answer and not too_long:
            limiter.answered(held, passed=False)
            wait = limiter.backoff.after(tried)
        else:
            counts, down = limiter.unanswered(held, call, str(error))
            wait = limiter.backoff.after(tried)
        if counts and (too_long or tried >= limiter.attempts):
            times = f" (tried {tried} times)" if tried > 1 else ""
            if too_long:
                times += f" (it asks to wait {error.retry_after:.0f} s, too long to wait for; resume later)"
            failure = EndpointUnavailable(f"{error}{times}", error.retry_after, error.status)
            failure.silence, down = limiter.gave_up(call)
            if not down:
                raise failure from cause or error
        if down:
            raise limiter.is_down(error) from cause or error
        return counts, wait

    def _note_silence(self, error: NoContent) -> None:
        """A model that never says anything is of no use; one reply without text is only unreadable."""
        self._silent += 1
        if not self.answered and self._silent >= SILENT_AT_FIRST:
            raise NotAnEndpoint(str(error)) from error


def _tokens(usage: object) -> int | None:
    return usage.input + usage.output if isinstance(usage, Usage) else None


def _estimated(messages: Sequence[Message]) -> int:
    """Tokens of a request, by its length."""
    return estimate_tokens(message.content for message in messages)


class Line:
    """An episode's line through the door: its journal, its prompts, and its ledger by role."""

    def __init__(self, journal: Journal, prompts: Prompts, stopwatch: Stopwatch | None = None) -> None:
        self.journal = journal
        self.prompts = prompts
        #: stands while all that the episode asks waits for its turn, where its time is limited
        self.stopwatch = stopwatch
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
        role = role_at(self._role, place)
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
        if replayed:
            self._door.learn(messages, role, completion.usage)
        self._door.answered = self._door.answered or bool(completion.text or completion.calls)
        self._door.watcher.called(completion.usage, replayed)
        parsed = task.parse(completion.text)
        count.add(completion, parsed.status)
        return completion, parsed

    async def _ask(self, request: Request, address: Address, place: Place) -> Entry:
        try:
            completion = await self._door.complete(request, address.role, self._line.stopwatch)
            entry = Entry(_whole(completion))
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
