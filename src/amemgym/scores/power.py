"""How many users a comparison needs: what to plan before a run, and what to say after one that shows nothing.

Users are what is sampled, so what counts is how much the difference between two agents varies from user to user.
"""

from __future__ import annotations

import math

#: no answer is larger; a difference that needs so many users is out of reach
MOST_USERS = 100_000


def users_needed(spread: float, difference: float, power: float = 0.8, level: float = 0.95) -> int:
    """The smallest number of users (at least 2) with which a two-sided paired t test finds `difference`.

    `difference` is the true difference of two agents' accuracies and `spread` the standard deviation of that
    difference over users, both as shares (0.05 is five points); `power` is the chance to find it, and 1 − `level` the
    chance to find one where there is none. With n users the test's t is noncentral, with n − 1 degrees of freedom
    and noncentrality √n · difference / spread; power is the chance that |t| exceeds Student's quantile at
    (1 + level) / 2 (Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd ed., chapter 2; Faul et al.
    2007, G*Power 3, "matched pairs"). Without spread 2 users are enough. `MOST_USERS` means: as many or more.

    ValueError where spread is below 0, difference is not above 0, or power or level is not between 0 and 1.
    """
    if not (spread >= 0 and difference > 0 and 0 < power < 1 and 0 < level < 1):
        raise ValueError(
            f"spread must be at least 0, difference above 0, power and level between 0 and 1; "
            f"got {spread}, {difference}, {power}, {level}"
        )
    if spread == 0:
        return 2
    too_few, enough = 1, MOST_USERS
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _power(middle, difference / spread, level) >= power:
            enough = middle
        else:
            too_few = middle
    return enough


def _power(users: int, effect: float, level: float) -> float:
    from scipy.special import ncfdtr, stdtrit  # as in intervals: not before it is needed

    limit = float(stdtrit(users - 1, (1 + level) / 2))
    # the square of a noncentral t is a noncentral F: both tails at once
    missed = float(ncfdtr(1, users - 1, users * effect * effect, limit * limit))
    # scipy gives no number where next to nothing is missed (noncentrality above 30)
    return 1.0 if math.isnan(missed) else 1 - missed
