"""A curve in a few characters."""

from __future__ import annotations

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], low: float = 0.0, high: float = 1.0, width: int = 24) -> str:
    """One bar a value, from `low` to `high`; a missing value is a space. Longer rows are thinned evenly to `width`."""
    if len(values) > width:
        values = [values[round(place * (len(values) - 1) / (width - 1))] for place in range(width)]
    return "".join(" " if value is None else _bar(value, low, high) for value in values)


def _bar(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 0.0
    return BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]
