"""Spreads of numbers, for tests."""

from __future__ import annotations

from collections.abc import Iterable

from amemgym.quality.tally import Spread, Tally


def spread_of(values: Iterable[float]) -> Spread:
    """The spread of some numbers."""
    tally = Tally()
    for value in values:
        tally.add(value)
    return tally.spread()
