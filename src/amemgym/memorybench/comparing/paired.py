"""How sure a mean or a gain is where items are independent: data sets as strata.

What makes an item hard is the same for two memory systems and cancels out in the difference of their values. A set is
made of data sets that were chosen, not drawn, so the items within each data set are the sample, and data sets are
strata (Cochran, Sampling Techniques, 3rd ed., chapter 5): the variance of Σ w_d · mean_d is Σ w_d² · s_d² / n_d, and
Student's t has the degrees of freedom of Satterthwaite (1946, Biometrics Bulletin 2, 110).
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
NO_VALUES = "no item has a value"
ONE_ITEM = "one item: how items differ cannot be told"
ALIKE = "the difference is the same for every item, so how items differ cannot be told"
ALIKE_VALUES = "the value is the same for every item, so how items differ cannot be told"


@dataclass(frozen=True)
class Paired:
    """A mean (difference) over `n` items, of `users` users where they say whose they are. Interval (95%) and p are None
    where `why` says why they cannot be told."""

    value: float | None
    interval: tuple[float, float] | None
    p: float | None
    n: int
    why: str | None = None
    users: int | None = None


def paired(differences: Mapping[str, Sequence[float]], *, equal: bool = False, level: float = 0.95) -> Paired:
    """The mean difference with its interval and two-sided p. `differences` are those of each data set's common items.

    Every item counts the same; with `equal`, every data set does (the mean of the data sets' means). p is that of the
    sign-flip test over items where there are few (`FEW`), else that of the t statistic which the interval is of.
    """
    found = _stratified(differences, equal, level)
    if found.freedom is None:
        why = {NO_VALUES: NO_ITEMS, ALIKE_VALUES: ALIKE}.get(found.why or "", found.why)
        return Paired(found.value, None, None, found.n, why and why.replace("one item in ", "one common item in "))
    from scipy.special import stdtr  # takes its time, so only where a p is wanted

    from amemgym.scores.signflips import sign_flip_p

    assert found.value is not None
    if found.n > FEW:
        p = 2 * float(stdtr(found.freedom, -abs(found.value) / found.error))
    else:
        shares = [
            one * weight / len(values)
            for weight, values in zip(found.weights, _strata(differences).values(), strict=True)
            for one in sorted(values)
        ]
        p = sign_flip_p([shares])[0] or 0.0  # there are two items or more
    return Paired(found.value, found.interval, p, found.n)


def mean_of(values: Mapping[str, Sequence[float]], *, equal: bool = False, level: float = 0.95) -> Paired:
    """The mean of one memory system's values with its interval, without a p; else as `paired`."""
    found = _stratified(values, equal, level)
    return Paired(found.value, found.interval, None, found.n, found.why)


@dataclass(frozen=True)
class _Stratified:
    value: float | None
    n: int
    weights: Sequence[float] = ()
    error: float = 0.0
    freedom: float | None = None
    interval: tuple[float, float] | None = None
    why: str | None = None


def _strata(values: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    return {name: of for name, of in values.items() if len(of)}


def _stratified(values: Mapping[str, Sequence[float]], equal: bool, level: float) -> _Stratified:
    strata = _strata(values)
    n = sum(map(len, strata.values()))
    if not n:
        return _Stratified(None, 0, why=NO_VALUES)
    weights = [1 / len(strata) if equal else len(of) / n for of in strata.values()]
    means = [math.fsum(of) / len(of) for of in strata.values()]
    value = math.fsum(weight * mean for weight, mean in zip(weights, means, strict=True))
    if n == 1:
        return _Stratified(value, n, why=ONE_ITEM)
    if single := next((name for name, of in strata.items() if len(of) == 1), None):
        return _Stratified(value, n, why=f"one item in {single}: how its items differ cannot be told")
    parts = [
        (weight**2 * math.fsum((one - mean) ** 2 for one in of) / (len(of) - 1) / len(of), len(of) - 1)
        for weight, mean, of in zip(weights, means, strata.values(), strict=True)
    ]
    variance = math.fsum(part for part, _ in parts)
    error = math.sqrt(variance)
    if error <= NO_SPREAD * max(1.0, abs(value)):
        return _Stratified(value, n, why=ALIKE_VALUES)
    freedom = variance**2 / math.fsum(part**2 / free for part, free in parts)

    from scipy.special import stdtrit

    half = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return _Stratified(value, n, weights, error, freedom, (value - half, value + half))
