"""Every formula of a score, in one place (SPEC section 3), as pure functions of exam results.

A score is None where it has nothing to stand on; nothing missing counts as 0. Results with an error are left out of
every score; unreadable replies are in it, as not right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from amemgym.scores.answers import FAILURES, MISTAKES, Answers, Cell
from amemgym.scores.common import CLEARLY_ABOVE
from amemgym.scores.groups import Column, Groups
from amemgym.scores.intervals import clipped, ratio_interval, share_interval

#: counted answers: columns, or cells where there are few
Some = Answers | Sequence[Cell]


@dataclass(frozen=True)
class Mean:
    """A mean over n cells with its interval (None where there is none)."""

    value: float | None
    n: int
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class MemoryScore:
    """S = (overall − random) / (UB − random), by both definitions; `why_undefined` where one is None."""

    ratio_of_means: float | None
    mean_of_ratios: float | None
    why_undefined: str | None
    n: int = 0
    #: of the ratio of means, and of the mean of ratios
    interval: tuple[float, float] | None = None
    mean_interval: tuple[float, float] | None = None


def accuracy(cells: Some) -> Mean:
    """Mean accuracy over cells, with the interval clustered by user."""
    some = Answers.of(cells)
    return _mean(some.user, some.correct)


def random_accuracy(cells: Some) -> float | None:
    """Mean of 1 / |options|."""
    some = Answers.of(cells)
    return ratio(some.user, some.random).value


def upper_bound_accuracy(cells: Some) -> Mean:
    """Mean upper bound over the cells that have one."""
    some = Answers.of(cells).bounded
    return _mean(some.user, some.bound)


def by_period(cells: Some) -> list[Mean]:
    """Accuracy after each period, in order; users with fewer periods are not in the later ones."""
    some = Answers.of(cells)
    return [accuracy(some.only(some.period == period)) for period in range(int(some.period.max(initial=-1)) + 1)]


def by_position(cells: Some) -> list[tuple[Mean, int]]:
    """For each place an option can be shown at: accuracy where gold is there, and how often it was chosen."""
    some = Answers.of(cells)
    return [
        (accuracy(some.only(some.gold == place)), int(np.count_nonzero(some.option == place)))
        for place in range(1, int(some.options.max(initial=0)) + 1)
    ]


def memory_score(cells: Some) -> MemoryScore:
    """Both definitions over the cells that have an upper bound; see `memory_score_of`."""
    some = Answers.of(cells).bounded
    if not len(some):
        return MemoryScore(None, None, "no upper bound was measured")
    bound, chance = upper_bound_accuracy(some).value, random_accuracy(some)
    return memory_score_of(some.user, some.period, some.gained, some.possible, bound, chance)


def memory_score_of(
    user: Column,
    period: Column,
    gained: Column,
    possible: Column,
    bound: float | None = None,
    chance: float | None = None,
) -> MemoryScore:
    """Both definitions of some cells, of which each gained so much over random, and so much was possible.

    Ratio of means pools all cells; mean of ratios takes the ratio of each user and period, then averages. `bound` and
    `chance` are the mean upper bound and random, for the words of what is undefined.
    """
    if not len(user):
        return MemoryScore(None, None, "no item has accuracy, random and upper bound")
    users = Groups(user)
    sums, rooms = users.sums(gained), users.sums(possible)
    pooled, interval, why = None, None, []
    if math.fsum(rooms) / len(user) < CLEARLY_ABOVE:
        told = ("", "") if bound is None or chance is None else (f" ({bound:.3f})", f" ({chance:.3f})")
        why.append(f"ratio of means: the upper bound{told[0]} is not clearly above random{told[1]}")
    else:
        pooled = math.fsum(sums) / math.fsum(rooms)
        interval = ratio_interval(sums, rooms)
    averaged, why_not = _mean_of_ratios(user, period, gained, possible)
    why_undefined = "; ".join([*why, *why_not]) or None
    return MemoryScore(pooled, averaged.value, why_undefined, len(user), interval, averaged.interval)


def _mean_of_ratios(user: Column, period: Column, gained: Column, possible: Column) -> tuple[Mean, list[str]]:
    groups = Groups(user, period)
    rooms = np.asarray(groups.sums(possible))
    narrow = np.flatnonzero(rooms / groups.sizes < CLEARLY_ABOVE)
    if len(narrow):
        first = groups.first[narrow[0]]
        said = f"mean of ratios: in {len(narrow)} of {len(groups)} user-periods the upper bound is not clearly above"
        return Mean(None, 0), [f"{said} random (first: user {user[first]}, period {period[first]})"]
    return ratio(user[groups.first], np.asarray(groups.sums(gained)) / rooms), []


def failure_shares(cells: Some) -> dict[str, Mean]:
    """The share of all cells with each failure. With the accuracy and what no probe tells, they add up to 1."""
    some = Answers.of(cells)
    return {str(kind): share(some.user, some.failure == place) for place, kind in enumerate(FAILURES)}


def mistake_shares(cells: Some) -> dict[str, Mean]:
    """The share of all cells whose wrong option is stale, future or never true. With the accuracy and the unparsed
    replies, they add up to 1."""
    some = Answers.of(cells)
    return {str(kind): share(some.user, some.mistake == place) for place, kind in enumerate(MISTAKES)}


def ratio(user: Column, numerator: Column, denominator: Column | None = None) -> Mean:
    """Σ numerator / Σ denominator (else the mean) over n cells, with the interval clustered by user."""
    if not len(user):
        return Mean(None, 0)
    users = Groups(user)
    sums = users.sums(numerator)
    counts = users.sizes.astype(float).tolist() if denominator is None else users.sums(denominator)
    return Mean(math.fsum(sums) / math.fsum(counts), len(user), ratio_interval(sums, counts))


def share(user: Column, is_one: Column) -> Mean:
    """The share of n cells that are one of these, with an interval that holds for rare ones, clustered by user."""
    users = Groups(user)
    return replace(ratio(user, is_one), interval=share_interval(users.sums(is_one), users.sizes.astype(float).tolist()))


def _mean(user: Column, value: Column) -> Mean:
    """The mean of what lies in [0, 1], and so does its interval."""
    mean = ratio(user, value)
    return replace(mean, interval=clipped(mean.interval))
