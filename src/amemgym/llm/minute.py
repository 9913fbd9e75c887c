"""How much may begin in a minute: never more than the limit in any 60 seconds, and no minute's worth at once.

What began is remembered with its time, so the limit holds exactly in every window of 60 seconds and not on average.
Beside it a pace is kept (a second's share of the limit may come at once), since servers measure in shorter windows too.
"""

from __future__ import annotations

from collections import deque

#: a little more than 60, as calls do not arrive as evenly as they leave
SECONDS = 60.5
#: seconds whose share of the limit may come at once
BURST = 1.0


class Taken:
    """What one call took, which is corrected once it is known."""

    __slots__ = ("amount", "time")

    def __init__(self, time: float, amount: int) -> None:
        self.time = time
        self.amount = amount


class Minute:
    """A limit of requests (each takes 1) or of tokens.

    Args:
        limit: the most in any 60 seconds; what alone is more goes through where nothing else does.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken: deque[Taken] = deque()
        self._sum = 0
        #: when what was taken so far would be over at an even pace
        self._even = float("-inf")

    def wait(self, now: float, amount: int) -> float:
        """Seconds until so much may begin; 0 for now."""
        self._forget(now)
        amount = min(amount, self.limit)
        paced = self._even - now - BURST
        over = self._sum + amount - self.limit
        free = 0.0
        for taken in self._taken:
            if over <= 0:
                break
            over -= taken.amount
            free = taken.time + SECONDS - now
        return max(0.0, paced, free)

    def take(self, now: float, amount: int) -> Taken:
        """So much begins now."""
        taken = Taken(now, amount)
        self._taken.append(taken)
        self._sum += amount
        self._even = max(self._even, now) + amount * SECONDS / self.limit
        return taken

    def correct(self, taken: Taken, amount: int) -> None:
        """It was another amount."""
        if self._taken and taken.time >= self._taken[0].time:  # what is forgotten counts no more
            self._sum += amount - taken.amount
        self._even += (amount - taken.amount) * SECONDS / self.limit
        taken.amount = amount

    def _forget(self, now: float) -> None:
        while self._taken and self._taken[0].time + SECONDS <= now:
            self._sum -= self._taken.popleft().amount
