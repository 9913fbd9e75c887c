"""The one limiter of an endpoint, shared by all doors to it: who may ask, and when.

Calls wait in one queue and go in the order they came, those aside after the others (`slots.py`): where there is a place
(`concurrency`), where the minute has room (`rpm`, `tpm`), where the endpoint has not asked everybody to wait, and where
its circuit is closed or they are the one that tries. A 429 halves the places, once for all the calls that were under
way together; answers add one at a time again. A place is held only while a call is really under way, so what waits or
backs off holds none.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from itertools import count

from amemgym.errors import EndpointDown
from amemgym.llm.circuit import Circuit
from amemgym.llm.clock import Backoff, Clock
from amemgym.llm.limits import Limits
from amemgym.llm.minute import Minute, Taken
from amemgym.llm.slots import Waiting
from amemgym.llm.stopwatch import Stopwatch

#: seconds by which a timer may be early
SOON = 1e-3
#: seconds in which whoever is told that nothing more can be asked calls off what waits
ENDING = 0.1

_calls = count()


class Call:
    """A call that failed, the same in all its tries: `silence` is that of the endpoint when it first got no answer."""

    __slots__ = ("number", "silence")

    def __init__(self) -> None:
        self.number = next(_calls)
        self.silence: int | None = None


class Pass:
    """What lets one try through; handed back when it ends."""

    __slots__ = ("cuts", "is_over", "tokens", "trying")

    def __init__(self, cuts: int, trying: bool, tokens: Taken | None) -> None:
        self.cuts = cuts
        self.trying = trying
        self.tokens = tokens
        self.is_over = False


class Limiter:
    """One endpoint's limiter. Belongs to one event loop at a time.

    Args:
        limits: see `Limits`.
        name: what the endpoint is called in remarks.
        say: is told, once, why calls wait.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        first_wait: float = 0.5,
        name: str = "the model",
        say: Callable[[str], None] = lambda sentence: None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.clock = clock or Clock()
        self.backoff = Backoff(first_wait)
        self.circuit = Circuit(limits.attempts, self.backoff)
        self.attempts = limits.attempts
        self.counts_tokens = limits.tpm is not None
        self._concurrency = limits.concurrency
        self._requests = Minute(limits.rpm) if limits.rpm else None
        self._tokens = Minute(limits.tpm) if limits.tpm else None
        self._allowed = float(limits.concurrency)
        self._under_way = 0
        self._cuts = 0
        self._strained = 0
        self._held_until = 0.0
        self._queue: Waiting[tuple[asyncio.Future[Pass], int]] = Waiting()
        self._timer: asyncio.Task[None] | None = None
        self._due = 0.0
        self._say = say
        self._said: set[str] = set()

    @property
    def under_way(self) -> int:
        """Calls that have a place now."""
        return self._under_way

    @property
    def allowed(self) -> int:
        """Calls that may be under way at once, for now."""
        return int(self._allowed)

    async def enter(self, tokens: int = 0, stopwatch: Stopwatch | None = None) -> Pass:
        """Wait for a turn. `tokens` is what the call is expected to take; an episode's `stopwatch` stands meanwhile."""
        if not self._queue and self._wait(tokens) <= 0:
            return self._let_in(tokens)
        turn: asyncio.Future[Pass] = asyncio.get_running_loop().create_future()
        self._queue.append((turn, tokens))
        self._pump()
        if stopwatch is not None:
            stopwatch.waits()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._pump()  # who comes next need not wait for it
            else:
                self.leave(turn.result())
            raise
        finally:
            if stopwatch is not None:
                stopwatch.goes_on()

    def answered(self, held: Pass, tokens: int | None = None, *, passed: bool = True, ends_all: bool = False) -> None:
        """The try ended with an answer, which took so many tokens, if that is known; `passed` where the call need not
        be made again, `ends_all` as in `leave`."""
        self.circuit.answered(passed)
        if self._allowed < self._concurrency and held.cuts == self._cuts:
            self._allowed = min(self._concurrency, self._allowed + 1 / self._allowed)
        if held.cuts == self._cuts:
            self._strained = 0
        if tokens is not None and self._tokens is not None and held.tokens is not None:
            self._tokens.correct(held.tokens, tokens)
        self.leave(held, ends_all)

    def busy(self, held: Pass, retry_after: float | None) -> float:
        """The endpoint answered that it is asked too much; seconds that all its calls wait now."""
        self.circuit.answered(passed=False)
        if held.cuts == self._cuts:  # the others that were under way with it tell nothing new
            self._cuts += 1
            self._strained += 1
            self._allowed = max(1.0, self._allowed / 2)
        wait = retry_after or self.backoff.after(self._strained)
        self._held_until = max(self._held_until, self.clock.now() + wait)
        if self._queue or self._under_way > 1:
            self._say_once(f"{self.name} asks to be asked less, so all calls to it wait and fewer are made at once")
        self.leave(held)
        return wait

    @property
    def is_held(self) -> bool:
        """Whether all calls wait, as the endpoint asked."""
        return self._held_until > self.clock.now()

    def unanswered(self, held: Pass, call: Call, why: str) -> tuple[bool, bool]:
        """No answer came at all. Whether that counts as one of the call's own tries, and whether the endpoint is down
        by it."""
        was_trying = held.trying and self.circuit.is_open
        if call.silence is None:
            call.silence = self.circuit.silence
        counts = self.circuit.unanswered(call.number, call.silence, held.trying, self.clock.now())
        if self.circuit.is_open:
            self._say_once(f"{self.name} gives no answer, so calls wait while one at a time tries again ({why})")
        self.leave(held)
        return counts, was_trying and self.circuit.is_down

    def gave_up(self, call: Call) -> tuple[tuple[str, int], bool]:
        """A call used up its tries. The silence in which it did, and whether the endpoint is down by it."""
        self.circuit.gave_up(call.number, self.circuit.silence if call.silence is None else call.silence)
        return (self.name, self.circuit.silence), self.circuit.is_down

    def is_down(self, why: Exception) -> EndpointDown:
        """The error of an endpoint that is down."""
        if self.circuit.missed:
            tried = f"{self.circuit.missed} tries in {self.circuit.silent_for(self.clock.now()):.0f} s"
            told = f"Nothing that {self.name} is asked gets an answer ({tried})"
        else:
            told = f"Call after call to {self.name} ends so"
        error = EndpointDown(f"{str(why).rstrip('.')}. {told}")
        error.silence = (self.name, self.circuit.silence)
        return error

    def leave(self, held: Pass, ends_all: bool = False) -> None:
        """The try ended; does nothing where that is known already. Where it `ends_all`, the others are most likely
        called off, and are let in a little later only."""
        if held.is_over:
            return
        held.is_over = True
        self._under_way -= 1
        self.circuit.ends(held.trying)
        if ends_all:
            self._held_until = max(self._held_until, self.clock.now() + ENDING)
        if self._queue:
            self._pump()

    def _let_in(self, tokens: int) -> Pass:
        self._under_way += 1
        taken = None
        if self._requests is not None or self._tokens is not None:
            now = self.clock.now()
            if self._requests is not None:
                self._requests.take(now, 1)
            if self._tokens is not None:
                taken = self._tokens.take(now, tokens)
        return Pass(self._cuts, self.circuit.begins(), taken)

    def _wait(self, tokens: int) -> float:
        """Seconds until the next call may begin; infinite where only another's end can tell."""
        if self._under_way >= int(self._allowed):
            return math.inf
        if self._requests is None and self._tokens is None and not self._held_until and not self.circuit.is_open:
            return 0.0
        now = self.clock.now()
        held = self._held_until - now
        if held <= 0:
            self._held_until = 0.0
        wait = max(held, self.circuit.wait(now))
        for minute, flag, what in ((self._requests, "--rpm", "requests"), (self._tokens, "--tpm", "tokens")):
            if minute is not None and (full := minute.wait(now, 1 if minute is self._requests else tokens)) > 0:
                self._say_once(f"calls to {self.name} wait, as {flag} allows {minute.limit:,} {what} a minute")
                if minute is self._tokens and tokens > minute.limit:
                    self._say_once(
                        f"calls to {self.name} take more tokens than --tpm {minute.limit:,} allows in a minute, so each"
                        " waits for minutes"
                    )
                wait = max(wait, full)
        return wait

    def _pump(self) -> None:
        """Let in who may go, in order; come back when the next one may."""
        while self._queue:
            turn, tokens = self._queue.first
            if turn.done():  # cancelled
                self._queue.popleft()
                continue
            wait = self._wait(tokens)
            if wait > 0:
                self._come_back(wait)
                return
            self._queue.popleft()
            turn.set_result(self._let_in(tokens))
        self._come_back(math.inf)

    def _come_back(self, wait: float) -> None:
        """Look again after so many seconds, or sooner: to look too soon costs nothing."""
        due = self.clock.now() + wait
        if self._timer is not None:
            if self._queue and self._due <= due + SOON:
                return
            self._timer.cancel()
            self._timer = None
        if due < math.inf:
            self._due = due
            self._timer = asyncio.get_running_loop().create_task(self._later(wait))

    async def _later(self, wait: float) -> None:
        await self.clock.sleep(wait)
        self._timer = None
        self._pump()

    def _say_once(self, sentence: str) -> None:
        key = sentence.partition("(")[0]
        if key not in self._said:
            self._said.add(key)
            self._say(sentence)
