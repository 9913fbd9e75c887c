"""Intervals clustered by user: the cells of one user are not independent, so users are what is sampled.

Every score here is a ratio of two sums over users (an accuracy is right answers over answers; the memory score is
Σ(accuracy − random) over Σ(upper bound − random)). Its standard error is that of the linearised ratio over clusters
(Cochran, Sampling Techniques, 3rd ed., section 6.3), with Student's t on users − 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

ONE_USER = "one user: how users differ cannot be told, so there is no interval"


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """The interval of Σ numerators / Σ denominators, one entry a user; None with fewer than two users or a zero sum."""
    users = len(numerators)
    total = math.fsum(denominators)
    if users < 2 or total == 0:
        return None
    from scipy.stats import t  # 0.5 s, so only where an interval is wanted

    ratio = math.fsum(numerators) / total
    residuals = [n - ratio * d for n, d in zip(numerators, denominators, strict=True)]
    variance = users / (users - 1) * math.fsum(r * r for r in residuals)
    half = float(t.ppf(0.5 + level / 2, users - 1)) * math.sqrt(variance) / abs(total)
    return ratio - half, ratio + half
