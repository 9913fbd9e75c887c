"""Two agents on the cells that both have: what makes a user or a question hard is hard for both, and cancels out.

A cell is known by a place, whose first number is its user. Everything here is of plain numbers by place, so that it
holds for a run's answers as for anybody's items that say whose they are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from amemgym.scores.intervals import difference_interval

#: the user, and what tells the user's cells apart
Place = tuple[int, ...]

#: how far the upper bound must lie above random for their ratio to mean something
CLEARLY_ABOVE = 0.05


def means_by_place(values: Iterable[tuple[Place, float]]) -> dict[Place, float]:
    """The mean of the values at each place: a cell's answers in several trials are no new cells."""
    trials: dict[Place, list[float]] = defaultdict(list)
    for place, value in values:
        trials[place].append(value)
    return {place: math.fsum(of) / len(of) for place, of in trials.items()}


def by_user(places: Iterable[Place]) -> list[list[Place]]:
    """The places of each user, users in order."""
    users: dict[int, list[Place]] = defaultdict(list)
    for place in places:
        users[place[0]].append(place)
    return [users[user] for user in sorted(users)]


def differences(a: Mapping[Place, float], b: Mapping[Place, float]) -> list[list[float]]:
    """For each user that both have cells of, a − b in each common cell."""
    return [[a[place] - b[place] for place in places] for places in by_user(place for place in a if place in b)]


def score_difference(
    gained_a: Mapping[Place, float],
    possible_a: Mapping[Place, float],
    gained_b: Mapping[Place, float],
    possible_b: Mapping[Place, float],
) -> tuple[float | None, tuple[float, float] | None]:
    """The memory score (ratio of means) of a less that of b over the cells that both have, and its interval.

    `gained` is accuracy − random and `possible` upper bound − random, each agent by its own upper bound. None where an
    upper bound is not clearly above random, or there is no common cell.
    """
    users = by_user(place for place in gained_a if place in gained_b)
    a, b = ([_sums(values, users) for values in of] for of in ((gained_a, possible_a), (gained_b, possible_b)))
    return difference_of_sums(*a, *b, n=sum(map(len, users)))


def difference_of_sums(
    sums_a: Sequence[float], rooms_a: Sequence[float], sums_b: Sequence[float], rooms_b: Sequence[float], *, n: int
) -> tuple[float | None, tuple[float, float] | None]:
    """The same from each user's sums of what was gained and what was possible, over n common cells in all."""
    if n == 0 or min(math.fsum(rooms_a), math.fsum(rooms_b)) / n < CLEARLY_ABOVE:
        return None, None
    ratio_a, ratio_b = math.fsum(sums_a) / math.fsum(rooms_a), math.fsum(sums_b) / math.fsum(rooms_b)
    return ratio_a - ratio_b, difference_interval(sums_a, rooms_a, sums_b, rooms_b)


def _sums(values: Mapping[Place, float], users: Sequence[Sequence[Place]]) -> list[float]:
    return [math.fsum(values[place] for place in places) for places in users]
