"""Sums of many floats that are exact until they are read, so that they do not depend on the order, in flat memory."""

from __future__ import annotations

import math

from amemgym.memorybench.values import number


class ExactSum:
    """A running sum, kept as floats that do not overlap (Shewchuk, Discrete & Computational Geometry 18, 1997), as
    `math.fsum` keeps it; with their number, smallest and largest."""

    def __init__(self) -> None:
        self.n = 0
        self.lowest, self.highest = math.inf, -math.inf
        self._parts: list[float] = []

    def add(self, value: float) -> None:
        """Count one more."""
        self.n += 1
        self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
        kept = 0
        for part in self._parts:
            larger, smaller = (value, part) if abs(value) >= abs(part) else (part, value)
            value = larger + smaller
            rest = smaller - (value - larger)
            if rest:
                self._parts[kept] = rest
                kept += 1
        self._parts[kept:] = [value]

    @property
    def total(self) -> float | None:
        """The sum, rounded once; None of nothing, or where it is no finite number."""
        if not self.n or not all(map(math.isfinite, self._parts)):
            return None
        try:
            return number(math.fsum(self._parts))
        except OverflowError:
            return None

    @property
    def mean(self) -> float | None:
        """The sum over the number; None where there is no sum."""
        return None if self.total is None else self.total / self.n
