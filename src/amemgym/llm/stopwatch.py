"""How long an episode has been at work: the time in which all its calls only wait for their turn does not count."""

from __future__ import annotations

from amemgym.llm.clock import Clock


class Stopwatch:
    """Stands while every call of the episode waits to be let in."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._begun = self._clock.now()
        self._asked = 0
        self._waiting = 0
        self._stood = 0.0
        self._standing_since: float | None = None

    def seconds(self) -> float:
        """Counted so far."""
        now = self._clock.now()
        standing = 0.0 if self._standing_since is None else now - self._standing_since
        return now - self._begun - self._stood - standing

    def asks(self) -> None:
        """A call comes to the door."""
        self._asked += 1
        self._look()

    def has_asked(self) -> None:
        """It left."""
        self._asked -= 1
        self._look()

    def waits(self) -> None:
        """A call has to wait for its turn."""
        self._waiting += 1
        self._look()

    def goes_on(self) -> None:
        """It need not any more."""
        self._waiting -= 1
        self._look()

    def _look(self) -> None:
        stands = 0 < self._asked == self._waiting
        if stands and self._standing_since is None:
            self._standing_since = self._clock.now()
        elif not stands and self._standing_since is not None:
            self._stood += self._clock.now() - self._standing_since
            self._standing_since = None
