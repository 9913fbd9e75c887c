"""How sure a gain is: two memory systems on the same test items, compared item by item.

What makes an item hard is the same for both and cancels out in the difference of the two values. A set is made of data
sets that were chosen, not drawn, so the items within each data set are the sample, and data sets are strata (Cochran,
Sampling Techniques, 3rd ed., chapter 5): the variance of Σ w_d · mean_d is Σ w_d² · s_d² / n_d, and Student's t has the
degrees of freedom of Satterthwaite (1946, Biometrics Bulletin 2, 110).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: up to so many items, `sign_flip_p` looks at every choice of signs
FEW = 13
#: a standard error below this is what rounding leaves of none
NO_SPREAD = 1e-12

NO_ITEMS = "no item has a value in both"
ONE_ITEM = "one item: how items differ cannot be told"
ALIKE = "the difference is the same for every item, so how items differ cannot be told"


@dataclass(frozen=True)
class Paired:
    """A mean difference over `n` items. Interval (95%) and p are None where `why` says why they cannot be told."""

    value: float | None
    interval: tuple[float, float] | None
    p: float | None
    n: int
    why: str | None = None


def paired(differences: Mapping[str, Sequence[float]], *, equal: bool = False, level: float = 0.95) -> Paired:
    """The mean difference with its interval and two-sided p. `differences` are those of each data set's common items.

    Every item counts the same; with `equal`, every data set does (the mean of the data sets' means). p is that of the
    sign-flip test over items where there are few (`FEW`), else that of the t statistic which the interval is of.
    """
    strata = [(name, values) for name, values in differences.items() if len(values)]
    n = sum(len(values) for _, values in strata)
    if not n:
        return Paired(None, None, None, 0, NO_ITEMS)
    weights = [1 / len(strata) if equal else len(values) / n for _, values in strata]
    means = [math.fsum(values) / len(values) for _, values in strata]
    value = math.fsum(weight * mean for weight, mean in zip(weights, means, strict=True))
    if n == 1:
        return Paired(value, None, None, n, ONE_ITEM)
    if single := next((name for name, values in strata if len(values) == 1), None):
        return Paired(value, None, None, n, f"one common item in {single}: how its items differ cannot be told")
    parts = [
        (weight**2 * math.fsum((one - mean) ** 2 for one in values) / (len(values) - 1) / len(values), len(values) - 1)
        for weight, mean, (_, values) in zip(weights, means, strata, strict=True)
    ]
    variance = math.fsum(part for part, _ in parts)
    error = math.sqrt(variance)
    if error <= NO_SPREAD * max(1.0, abs(value)):
        return Paired(value, None, None, n, ALIKE)
    freedom = variance**2 / math.fsum(part**2 / free for part, free in parts)

    # these take their time, so only where an interval is wanted
    from scipy.special import stdtr, stdtrit

    from amemgym.scores.signflips import sign_flip_p

    half = float(stdtrit(freedom, 0.5 + level / 2)) * error
    if n > FEW:
        p = 2 * float(stdtr(freedom, -abs(value) / error))
    else:
        shares = [
            one * weight / len(values)
            for weight, (_, values) in zip(weights, strata, strict=True)
            for one in sorted(values)
        ]
        p = sign_flip_p([shares])[0] or 0.0  # there are two items or more
    return Paired(value, (value - half, value + half), p, n)
