"""Counting in little memory: numbers by value, texts by kind. What a card says is read off these, never off the users.

A user is counted and let go, so a card of a million users needs no more room than one of twenty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from amemgym import files

#: different texts that are told apart, and characters of one that are kept
KINDS, LONGEST = 24, 80


@dataclass(frozen=True)
class Spread:
    """How a number is spread over n things: mean, least, quartiles, most (None where n is 0), and how often each value
    occurs. Quartiles are interpolated linearly (Hyndman and Fan 1996, The American Statistician 50, 361: type 7)."""

    n: int
    total: float
    mean: float | None
    least: float | None
    lower: float | None
    median: float | None
    upper: float | None
    most: float | None
    histogram: tuple[tuple[float, int], ...]


class Tally:
    """Numbers, by value."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()

    def add(self, value: float, times: int = 1) -> None:
        if times:
            self._counts[value] += times

    @property
    def n(self) -> int:
        return self._counts.total()

    @property
    def total(self) -> float:
        """The sum of all numbers."""
        return math.fsum(value * count for value, count in self._counts.items())

    def spread(self) -> Spread:
        rows = tuple(sorted(self._counts.items()))
        n, total = self.n, self.total
        if not n:
            return Spread(0, 0, None, None, None, None, None, None, ())
        lower, median, upper = (_quantile(rows, n, share) for share in (0.25, 0.5, 0.75))
        return Spread(n, total, total / n, rows[0][0], lower, median, upper, rows[-1][0], rows)


def _quantile(rows: tuple[tuple[float, int], ...], n: int, share: float) -> float:
    place = (n - 1) * share
    below = math.floor(place)
    low, high = _at(rows, below), _at(rows, min(below + 1, n - 1))
    return low + (high - low) * (place - below)


def _at(rows: tuple[tuple[float, int], ...], place: int) -> float:
    """The number at that place (from 0) of all numbers in order."""
    for value, count in rows:
        if place < count:
            return value
        place -= count
    raise IndexError(place)


class Kinds:
    """Texts from data, by kind: as many different ones as a card can show; the rest is counted as one, `others`."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self.others = 0

    def add(self, kind: str, times: int = 1) -> None:
        if not times:
            return
        kind = files.printable(kind) if len(kind) <= LONGEST else files.printable(kind[: LONGEST - 1]) + "…"
        if kind in self._counts or len(self._counts) < KINDS:
            self._counts[kind] += times
        else:
            self.others += times

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def most_common(self) -> dict[str, int]:
        """Kind → count, the commonest first, then by name."""
        rows = sorted(self._counts.items(), key=lambda row: (-row[1], row[0]))
        return dict(rows) | ({"(others)": self.others} if self.others else {})
