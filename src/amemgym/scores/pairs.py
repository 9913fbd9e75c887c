"""Which of two agents is better: both are asked the same questions of the same users, so they are compared on these.

What makes a user or a question hard makes it hard for both, and cancels out in the difference. A cell is one question
after one period of one user; an agent's answers to it in several trials are averaged first, for they are no new cells.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np

from amemgym.scores.answers import Answers
from amemgym.scores.common import difference_of_sums
from amemgym.scores.groups import Column, Groups
from amemgym.scores.intervals import clipped, ratio_interval
from amemgym.scores.metrics import Some
from amemgym.scores.power import users_needed
from amemgym.scores.signflips import sign_flip_p, smallest_p

#: the differences in accuracy that users_needed is told for
DIFFERENCES = (0.02, 0.05, 0.10)

#: with fewer users the test cannot find any difference: their smallest p is 0.05 or more
LEAST_USERS = next(users for users in range(2, 100) if (smallest_p(users) or 1) < 0.05)

#: a standard deviation of accuracies below this is what rounding leaves of none
NO_SPREAD = 1e-9


@dataclass(frozen=True)
class Pair:
    """Agent a beside agent b on their common cells. Accuracies and their differences are shares, 0.05 is five points.

    What cannot be told is None: everything without a common cell; interval, p, effect size and users needed with one
    user; effect size and users needed where the difference is the same for every user.
    """

    a: str
    b: str
    #: common cells, and the users they are of
    n: int
    users: int
    #: accuracy of a − accuracy of b, and its 95% interval by `difference_interval`
    difference: float | None
    interval: tuple[float, float] | None
    #: two-sided, by `sign_flip_p`, and the smallest that so many users can give
    p: float | None
    smallest_p: float | None
    #: p after Benjamini and Hochberg (1995), over all pairs that were compared together and have a p
    p_adjusted: float | None
    #: Cohen's d_z: mean of the users' differences in accuracy / their standard deviation
    effect_size: float | None
    #: cells that a alone, or b alone, gets right (with trials: more often than the other)
    only_a: int
    only_b: int
    #: ratio of means of a − that of b, over the common cells with an upper bound in both
    memory_score_difference: float | None
    memory_score_interval: tuple[float, float] | None
    #: difference in accuracy → users with whom it would be found in four of five runs, were they as different as these;
    #: no fewer than the test needs to find any
    users_needed: dict[float, int | None]

    def as_dict(self) -> dict[str, Any]:
        """JSON's own types: an interval is [low, high], the keys of users_needed are "0.02", "0.05" and "0.10"."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def compare_agents(cells: Mapping[str, Some]) -> list[Pair]:
    """Every two agents in the order given, each pair on the cells that both have; [] for fewer than two agents."""
    agents = {name: _Agent.of(Answers.of(some)) for name, some in cells.items()}
    couples = list(combinations(agents, 2))
    found = [_Differences.of(agents[a], agents[b]) for a, b in couples]
    ps = sign_flip_p([some.sums for some in found])
    return [
        _pair(a, b, agents, some, p, adjusted)
        for (a, b), some, p, adjusted in zip(couples, found, ps, adjusted_ps(ps), strict=True)
    ]


@dataclass(frozen=True)
class _Means:
    """One row a cell, in order of its place: its user, and means over its trials."""

    place: Column
    user: Column
    values: tuple[Column, ...]

    @classmethod
    def of(cls, answers: Answers, *values: Column) -> _Means:
        cells = Groups(answers.places)
        return cls(
            answers.places[cells.first], answers.user[cells.first], tuple(cells.means(value) for value in values)
        )

    def common(self, other: _Means) -> tuple[_Means, _Means]:
        """The rows of the cells that both have."""
        if np.array_equal(self.place, other.place):
            return self, other
        return self._only(np.isin(self.place, other.place)), other._only(np.isin(other.place, self.place))

    def _only(self, which: Column) -> _Means:
        return _Means(self.place[which], self.user[which], tuple(value[which] for value in self.values))


@dataclass(frozen=True)
class _Agent:
    """What was right in each cell; what was gained and was possible in each where an upper bound is known."""

    right: _Means
    scored: _Means

    @classmethod
    def of(cls, answers: Answers) -> _Agent:
        bounded = answers.bounded
        return cls(_Means.of(answers, answers.correct), _Means.of(bounded, bounded.gained, bounded.possible))


@dataclass(frozen=True)
class _Differences:
    """a − b in each common cell, and its sum over each user's cells, of which there are so many."""

    cells: Column
    sums: list[float]
    counts: list[float]

    @classmethod
    def of(cls, a: _Agent, b: _Agent) -> _Differences:
        both_a, both_b = a.right.common(b.right)
        cells, users = both_a.values[0] - both_b.values[0], Groups(both_a.user)
        return cls(cells, users.sums(cells), users.sizes.astype(float).tolist())


def _pair(
    a: str, b: str, agents: Mapping[str, _Agent], found: _Differences, p: float | None, adjusted: float | None
) -> Pair:
    n, users = len(found.cells), len(found.sums)
    each = [total / count for total, count in zip(found.sums, found.counts, strict=True)]
    spread = statistics.stdev(each) if len(each) > 1 else 0.0
    varies = spread > NO_SPREAD
    score, score_interval = _memory_scores(agents[a].scored, agents[b].scored)
    return Pair(
        a=a,
        b=b,
        n=n,
        users=users,
        difference=math.fsum(found.sums) / n if n else None,
        # both have the same cells, so the difference of the two ratios is one ratio
        interval=clipped(ratio_interval(found.sums, found.counts), low=-1),
        p=p,
        smallest_p=smallest_p(users),
        p_adjusted=adjusted,
        effect_size=math.fsum(each) / len(each) / spread if varies else None,
        only_a=int(np.count_nonzero(found.cells > 0)),
        only_b=int(np.count_nonzero(found.cells < 0)),
        memory_score_difference=score,
        memory_score_interval=score_interval,
        users_needed={d: max(users_needed(spread, d), LEAST_USERS) if varies else None for d in DIFFERENCES},
    )


def _memory_scores(a: _Means, b: _Means) -> tuple[float | None, tuple[float, float] | None]:
    both_a, both_b = a.common(b)
    users = Groups(both_a.user)
    (sums_a, rooms_a), (sums_b, rooms_b) = ([users.sums(value) for value in both.values] for both in (both_a, both_b))
    return difference_of_sums(sums_a, rooms_a, sums_b, rooms_b, n=len(both_a.place))


def adjusted_ps(ps: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's p over those that are known, each for all that were looked at together."""
    known = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    smallest = 1.0
    for rank, (p, place) in reversed(list(enumerate(known, start=1))):
        adjusted[place] = smallest = min(smallest, p * (len(known) / rank))
    return adjusted


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return {f"{key:.2f}": item for key, item in value.items()}
    return value
