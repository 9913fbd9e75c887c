"""Which of two agents is better: both are asked the same questions of the same users, so they are compared on these.

What makes a user or a question hard makes it hard for both, and cancels out in the difference. A cell is one question
after one period of one user; an agent's answers to it in several trials are averaged first, for they are no new cells.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

from amemgym.scores.common import Place, differences, means_by_place, score_difference
from amemgym.scores.intervals import clipped, ratio_interval
from amemgym.scores.metrics import Cell
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


def compare_agents(cells: Mapping[str, Sequence[Cell]]) -> list[Pair]:
    """Every two agents in the order given, each pair on the cells that both have; [] for fewer than two agents."""
    agents = {name: _Agent.of(some) for name, some in cells.items()}
    couples = list(combinations(agents, 2))
    found = [differences(agents[a].right, agents[b].right) for a, b in couples]
    ps = sign_flip_p([[math.fsum(user) for user in users] for users in found])
    return [
        _pair(a, b, agents, users, p, adjusted)
        for (a, b), users, p, adjusted in zip(couples, found, ps, adjusted_ps(ps), strict=True)
    ]


@dataclass(frozen=True)
class _Agent:
    """Means over trials: of right for each cell; of what was gained and was possible where an upper bound is known."""

    #: by user, period and question
    right: dict[Place, float]
    gained: dict[Place, float]
    possible: dict[Place, float]

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> _Agent:
        bounded = [cell for cell in cells if cell.upper_bound is not None]
        return cls(
            _means(cells, lambda cell: float(cell.exam.correct)),
            _means(bounded, lambda cell: cell.exam.correct - cell.random),
            _means(bounded, lambda cell: (cell.upper_bound or 0) - cell.random),
        )


def _pair(
    a: str,
    b: str,
    agents: Mapping[str, _Agent],
    by_users: Sequence[Sequence[float]],
    p: float | None,
    adjusted: float | None,
) -> Pair:
    cells = [difference for user in by_users for difference in user]
    sums, counts = [math.fsum(user) for user in by_users], [float(len(user)) for user in by_users]
    each = [total / count for total, count in zip(sums, counts, strict=True)]
    spread = statistics.stdev(each) if len(each) > 1 else 0.0
    varies = spread > NO_SPREAD
    score, score_interval = _memory_scores(agents[a], agents[b])
    return Pair(
        a=a,
        b=b,
        n=len(cells),
        users=len(by_users),
        difference=math.fsum(sums) / len(cells) if cells else None,
        # both have the same cells, so the difference of the two ratios is one ratio
        interval=clipped(ratio_interval(sums, counts), low=-1),
        p=p,
        smallest_p=smallest_p(len(by_users)),
        p_adjusted=adjusted,
        effect_size=math.fsum(each) / len(each) / spread if varies else None,
        only_a=sum(difference > 0 for difference in cells),
        only_b=sum(difference < 0 for difference in cells),
        memory_score_difference=score,
        memory_score_interval=score_interval,
        users_needed={d: max(users_needed(spread, d), LEAST_USERS) if varies else None for d in DIFFERENCES},
    )


def _memory_scores(a: _Agent, b: _Agent) -> tuple[float | None, tuple[float, float] | None]:
    return score_difference(a.gained, a.possible, b.gained, b.possible)


def adjusted_ps(ps: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's p over those that are known, each for all that were looked at together."""
    known = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    smallest = 1.0
    for rank, (p, place) in reversed(list(enumerate(known, start=1))):
        adjusted[place] = smallest = min(smallest, p * (len(known) / rank))
    return adjusted


def _means(cells: Iterable[Cell], value: Callable[[Cell], float]) -> dict[Place, float]:
    return means_by_place(((cell.user, cell.period, cell.exam.question), value(cell)) for cell in cells)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return {f"{key:.2f}": item for key, item in value.items()}
    return value
