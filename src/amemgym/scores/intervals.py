"""Intervals clustered by user: the cells of one user are not independent, so users are what is sampled.

Every score here is a ratio of two sums over users (an accuracy is right answers over answers; the memory score is
Σ(accuracy − random) over Σ(upper bound − random)), or the difference of two such ratios over the same users. Its
standard error is that of the linearised ratio over clusters (Cochran, Sampling Techniques, 3rd ed., section 6.3; of
two ratios compared in one sample, further on in chapter 6), with Student's t on users − 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

ONE_USER = "one user: how users differ cannot be told, so there is no interval"


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], level: float = 0.95, least: float = 0
) -> tuple[float, float] | None:
    """The interval of Σ numerators / Σ denominators, one entry a user; None with fewer than two users or a zero sum.

    `least` is a variance of Σ numerators that is known, for where a few users happen to be alike: the interval is no
    shorter than by it, with the normal distribution's quantile, as nothing is estimated.
    """
    ratio = _linearised(numerators, denominators)
    return None if ratio is None else _around(*ratio, level, least / math.fsum(denominators) ** 2)


def difference_interval(
    numerators_a: Sequence[float],
    denominators_a: Sequence[float],
    numerators_b: Sequence[float],
    denominators_b: Sequence[float],
    level: float = 0.95,
) -> tuple[float, float] | None:
    """The interval of Σ numerators_a / Σ denominators_a − Σ numerators_b / Σ denominators_b.

    One entry a user, the same users in the same order in all four (ValueError where their numbers differ). Paired by
    user: what makes a user easy for both cancels out. None with fewer than two users or where a denominator's sum is
    zero. With e = (numerator − ratio · denominator) / Σ denominators, each user's share in the error of a ratio, the
    variance is users / (users − 1) · Σ(e_a − e_b)² (Cochran, 3rd ed., chapter 6, comparison of two ratios).
    """
    if len(numerators_a) != len(numerators_b):
        raise ValueError(f"not the same users: {len(numerators_a)} in a, {len(numerators_b)} in b")
    a, b = _linearised(numerators_a, denominators_a), _linearised(numerators_b, denominators_b)
    if a is None or b is None:
        return None
    return _around(a[0] - b[0], [x - y for x, y in zip(a[1], b[1], strict=True)], level)


def share_interval(
    numerators: Sequence[float], denominators: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """As `ratio_interval`, for a share (0 to 1) that may be rare: it stays within 0 and 1, and is longer inward.

    A rare share is skewed over users, and an interval of equal arms then covers too little (with 8 users and a share of
    0.1, about 90% where 95% is said). So it is made on the scale of log(share / (1 − share)), where the standard error
    is that of the share / (share · (1 − share)), and taken back (Korn and Graubard 1998, Survey Methodology 24, 193;
    `svyciprop(method = "logit")` of R's survey).

    Where no user shows a single case, how users differ is not seen. Then the share can be no larger than that of the
    users who would ever show one, which with none among u is at most 1 − ((1 − level) / 2)^(1/u) (Clopper and Pearson
    1934, Biometrika 26, 404); a share of 1 is the same from the other side.
    """
    ratio = _linearised(numerators, denominators)
    if ratio is None:
        return None
    share, errors = ratio
    if not 0 < share < 1:
        most = 1 - ((1 - level) / 2) ** (1 / len(errors))
        return (0.0, most) if share <= 0 else (1 - most, 1.0)
    low, high = _around(math.log(share / (1 - share)), [e / (share * (1 - share)) for e in errors], level)
    return min(_share(low), share), max(_share(high), share)  # in the last digit, there and back is not the same


def clipped(interval: tuple[float, float] | None, low: float = 0, high: float = 1) -> tuple[float, float] | None:
    """The interval cut to what the number can be (a share: 0 to 1), as Student's t knows no bounds. None stays None."""
    if interval is None:
        return None
    return min(max(interval[0], low), high), min(max(interval[1], low), high)


def _linearised(numerators: Sequence[float], denominators: Sequence[float]) -> tuple[float, list[float]] | None:
    """The ratio, and what each user adds to its error; None where there is no interval."""
    total = math.fsum(denominators)
    if len(numerators) < 2 or total == 0:
        return None
    ratio = math.fsum(numerators) / total
    return ratio, [(n - ratio * d) / total for n, d in zip(numerators, denominators, strict=True)]


def _around(value: float, errors: Sequence[float], level: float, least: float = 0) -> tuple[float, float]:
    from scipy.special import ndtri, stdtrit  # takes its time, so only where an interval is wanted

    users = len(errors)
    variance = users / (users - 1) * math.fsum(e * e for e in errors)
    half = float(stdtrit(users - 1, 0.5 + level / 2)) * math.sqrt(variance)
    half = max(half, float(ndtri(0.5 + level / 2)) * math.sqrt(least))
    return value - half, value + half


def _share(log_odds: float) -> float:
    return (1 + math.tanh(log_odds / 2)) / 2
