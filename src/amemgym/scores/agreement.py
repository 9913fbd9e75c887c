"""Agreement of raters beyond chance: Gwet's AC1, with percent agreement beside it.

AC1 = (pa − pe) / (1 − pe), for two or more raters and any categories, where a rater may have left a subject out
(Gwet 2008, Br J Math Stat Psychol 61, 29; with missing ratings as in Gwet, Handbook of Inter-Rater Reliability, 4th
ed., chapter 5):
- pa: over the subjects that two or more raters rated, the mean share of pairs of raters who agree;
- pe = Σ π_k (1 − π_k) / (q − 1), where π_k is the mean over rated subjects of the share of raters who said k, and q the
  number of categories.
Unlike Cohen's kappa it stays meaningful where almost every subject is of one category, as faults are rare.

The interval is a jackknife's that leaves out one user at a time (one subject, where there is one user), by Student's t.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

#: one subject's ratings, a place for each rater; None where that rater left it out
Ratings = Sequence[Hashable | None]

NO_PAIR = "no subject was rated by two"
ONE_CATEGORY = "every rating is the same and no other category is known"
ONE_GROUP = "too few subjects to tell how they differ, so there is no interval"
NO_SPREAD = "leaving out any one changes nothing, so how they differ is not seen and there is no interval"


@dataclass(frozen=True)
class Agreement:
    """AC1 and the share of agreeing pairs over `n` subjects that two or more raters rated; None with the reason."""

    ac1: float | None
    percent: float | None
    n: int
    interval: tuple[float, float] | None = None
    why_undefined: str | None = None
    why_no_interval: str | None = None


def agreement(
    subjects: Sequence[Ratings],
    users: Sequence[Hashable] | None = None,
    categories: Sequence[Hashable] = (),
    level: float = 0.95,
) -> Agreement:
    """Gwet's AC1 of the raters of these subjects.

    Args:
        subjects: one entry a subject; entries may differ in length.
        users: whose subject each is, for the interval; default: each its own.
        categories: those that there are, where some may not have been used; others are added as they occur.

    Raises ValueError where there are not as many users as subjects.
    """
    users = list(range(len(subjects))) if users is None else users
    if len(users) != len(subjects):
        raise ValueError(f"{len(subjects)} subjects, but {len(users)} users")
    known = list(dict.fromkeys([*categories, *(r for ratings in subjects for r in ratings if r is not None)]))
    rated = [[r for r in ratings if r is not None] for ratings in subjects]
    n = sum(len(ratings) > 1 for ratings in rated)
    if n == 0:
        return Agreement(None, None, 0, why_undefined=NO_PAIR)
    percent = _agreeing(rated)
    if len(known) < 2:
        return Agreement(None, percent, n, why_undefined=ONE_CATEGORY)
    ac1 = _ac1(rated, known)
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, user in enumerate(users):
        groups[user].append(place)
    if len(groups) < 2:
        groups = {place: [place] for place in range(len(rated))}
    interval, why = _jackknife(rated, known, [set(group) for group in groups.values()], ac1, level)
    return Agreement(ac1, percent, n, interval, why_no_interval=why)


def _agreeing(rated: Sequence[Sequence[Hashable]]) -> float:
    """The mean share of agreeing pairs of raters, over subjects with at least two."""
    shares = []
    for ratings in rated:
        if (r := len(ratings)) > 1:
            counts = [ratings.count(category) for category in dict.fromkeys(ratings)]
            shares.append(sum(count * (count - 1) for count in counts) / (r * (r - 1)))
    return math.fsum(shares) / len(shares)


def _ac1(rated: Sequence[Sequence[Hashable]], categories: Sequence[Hashable]) -> float:
    """AC1; 1 − pe is above 0 for two or more categories, as pe is at most 1/q."""
    some = [ratings for ratings in rated if ratings]
    shares = [math.fsum(r.count(category) / len(r) for r in some) / len(some) for category in categories]
    chance = math.fsum(share * (1 - share) for share in shares) / (len(categories) - 1)
    return (_agreeing(rated) - chance) / (1 - chance)


def _jackknife(
    rated: Sequence[Sequence[Hashable]],
    categories: Sequence[Hashable],
    groups: Sequence[set[int]],
    value: float,
    level: float,
) -> tuple[tuple[float, float] | None, str | None]:
    """The interval, or why there is none: variance (g − 1)/g · Σ(θ_−i − mean θ)², cut to −1 … 1."""
    from scipy.special import stdtrit  # takes its time, so only where an interval is wanted

    without = []
    for group in groups:
        rest = [ratings for place, ratings in enumerate(rated) if place not in group]
        if any(len(ratings) > 1 for ratings in rest):
            without.append(_ac1(rest, categories))
    count = len(without)
    if count < 2 or count < len(groups):
        return None, ONE_GROUP
    mean = math.fsum(without) / count
    variance = (count - 1) / count * math.fsum((one - mean) ** 2 for one in without)
    if variance < 1e-18:
        return None, NO_SPREAD
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * math.sqrt(variance)
    return (max(-1.0, value - half), min(1.0, value + half)), None
