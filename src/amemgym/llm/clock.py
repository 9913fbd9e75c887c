"""The time that limits and waits go by: nothing that comes out of a run depends on it, and a test brings its own."""

from __future__ import annotations

import asyncio
import random
from time import monotonic

#: seconds that a wait between tries grows to at most
LONGEST_BACKOFF = 30.0


class Clock:
    """Seconds that only go forward, and waiting by them."""

    def now(self) -> float:
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Backoff:
    """Waits that double from `first` seconds on, with jitter, so that not everybody comes back at the same moment."""

    def __init__(self, first: float) -> None:
        self._first = first
        # how long to wait decides no result, so it has no seed
        self._jitter = random.Random()

    def after(self, tries: int) -> float:
        """Seconds to wait after so many tries, from 1."""
        doubled = self._first * 2.0 ** min(tries - 1, 30)
        return min(LONGEST_BACKOFF, doubled * self._jitter.uniform(1, 1.5))
