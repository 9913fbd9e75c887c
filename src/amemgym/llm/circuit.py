"""Whether an endpoint is there at all: where several different calls in a row got no answer, one tries for all.

While the circuit is open the other calls wait and lose none of their tries; whoever is next in the queue tries, at
growing intervals. Any answer closes it, also a refusal or a 429. What stays without an answer for as many tries as a
call has is down. So is an endpoint at which calls used up all their tries one after the other and none passed between
them, where there were too few at once to tell sooner. A call that failed before, when others passed, tells nothing of
the endpoint.
"""

from __future__ import annotations

import math

from amemgym.llm.clock import Backoff

#: so many different calls in a row without an answer are not their own fault
SEVERAL = 5
#: nor are so many in a row that used up all their tries
EXHAUSTED = 3


class Circuit:
    """One endpoint's.

    Args:
        attempts: tries, one after the other, after which it is down.
        backoff: the intervals between them.
    """

    def __init__(self, attempts: int, backoff: Backoff) -> None:
        self.is_open = False
        #: counts the times it answered again; two failures of the same number had no answer between them
        self.silence = 0
        #: tries without an answer since then
        self.missed = 0
        self._attempts = attempts
        self._backoff = backoff
        self._unanswered: set[int] = set()
        self._exhausted: set[int] = set()
        self._since = 0.0
        self._next = 0.0
        self._tries = 0
        self._trying = False

    @property
    def is_down(self) -> bool:
        """Whether no call can pass, as far as tries can tell."""
        return (self.is_open and self._tries >= self._attempts) or len(self._exhausted) >= EXHAUSTED

    def wait(self, now: float) -> float:
        """Seconds until a call may begin; infinite while one tries for all."""
        if not self.is_open:
            return 0.0
        return math.inf if self._trying else max(0.0, self._next - now)

    def begins(self) -> bool:
        """A call begins. True where it tries for all."""
        self._trying = self.is_open
        return self._trying

    def ends(self, trying: bool) -> None:
        """A call ended, however it did."""
        if trying:
            self._trying = False

    def answered(self, passed: bool) -> None:
        """Something came back; `passed` where the call need not be made again."""
        if self.missed or (passed and self._exhausted):
            self.missed = 0
            self.silence += 1
            self._unanswered.clear()
            self._exhausted.clear()
            self.is_open = self._trying = False

    def unanswered(self, call: int, first: int, trying: bool, now: float) -> bool:
        """Nothing came back. True where that counts as one of the call's own tries.

        Args:
            first: the silence in which the call failed for the first time.
            trying: whether it tried for all.
        """
        if not self.missed:
            self._since = now
        self.missed += 1
        if self.is_open:
            if trying:
                self._tries += 1
                self._next = now + self._backoff.after(self._tries + 1)
            return False
        if first == self.silence:
            self._unanswered.add(call)
        if len(self._unanswered) < SEVERAL:
            return True
        self.is_open, self._tries = True, 0
        self._next = now + self._backoff.after(1)
        return False

    def gave_up(self, call: int, first: int) -> None:
        """A call used up its tries."""
        if first == self.silence:
            self._exhausted.add(call)

    def silent_for(self, now: float) -> float:
        """Seconds since the first of the calls without an answer ended."""
        return now - self._since
