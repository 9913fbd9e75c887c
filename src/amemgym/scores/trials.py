"""How much a score changes when the same users are played again: the trials of one run beside each other."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def trial_spread(values: Sequence[float | None]) -> float | None:
    """The sample standard deviation √(Σ(v − mean)² / (n − 1)) of one value a trial, in the unit of the values.

    Trials without a value are left out; None with fewer than two. It says how far a single trial may be off for the
    same users, nothing about other users: that is what the interval is for.
    """
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None
