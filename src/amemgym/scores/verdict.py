"""What a difference shows, in one place for everything that says so."""

from __future__ import annotations

from collections.abc import Sequence

BETTER, NOT_SHOWN, WORSE = "better", "not shown to be better", "worse"
#: a p from which a difference may be chance
LEVEL = 0.05


def verdict(interval: Sequence[float] | None, p: float | None) -> str:
    """What a difference with this 95% interval and this p shows. Better (or worse) is only what leaves 0 out of the
    interval and has a p below 0.05: with few users either may be there without the other."""
    if interval is None or p is None or p >= LEVEL or interval[0] <= 0 <= interval[1]:
        return NOT_SHOWN
    return BETTER if interval[0] > 0 else WORSE
