"""Seeded worlds in which the truth is known: how often the 95% intervals hold it, and how often p calls chance a find.

A world is made as runs are: users differ in how hard they are for all agents and for each, so do periods within a
user, and some users have more periods than others. 95% intervals must hold the truth in 92 to 97 of 100 worlds, and
p < .05 must stay within 6 of 100 where there is no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from amemgym.scores.intervals import difference_interval, ratio_interval, share_interval
from amemgym.scores.signflips import sign_flip_p

WORLDS, PERIODS, QUESTIONS, RANDOM = 2000, 11, 10, 0.25

Array = np.ndarray[Any, np.dtype[Any]]
Sums = list[list[float]]
Method = Callable[..., tuple[float, float] | None]


class Worlds:
    """All worlds of one size at once; counts are of right answers, worlds × users × periods."""

    def __init__(self, users: int) -> None:
        self.draw = np.random.default_rng(7)
        self.shape = (WORLDS, users, PERIODS)
        # 5 to 11 periods
        played = np.arange(PERIODS) < self.draw.integers(5, PERIODS + 1, (WORLDS, users, 1))
        self.asked = np.where(played, QUESTIONS, 0)
        self.n = sums(self.asked)
        self.ease_of_user, self.ease_of_period = self.apart(users=True), self.apart()

    def apart(self, users: bool = False) -> Array:
        """For each period (or only each user) from −½ to ½, with mean 0."""
        return self.draw.beta(3, 3, (*self.shape[:2], 1) if users else self.shape) - 0.5

    def right(self, mean: float, own: float = 0.2) -> Array:
        """`mean` is the chance to be right; `own` is how far apart users are for this agent alone."""
        chances = mean + 0.3 * self.ease_of_user + own * self.apart(users=True)
        chances = chances + 0.15 * self.ease_of_period + 0.15 * self.apart()
        assert chances.min() >= 0 and chances.max() <= 1, "to cut them would move the mean"
        return self.draw.binomial(self.asked, chances)

    def scored(self, mean: float, bound: float) -> tuple[Sums, Sums]:
        """What an agent gained, and what was possible."""
        chance = RANDOM * self.asked
        return sums(self.right(mean) - chance), sums(self.right(bound, own=0.05) - chance)

    def some_of(self, counts: Array, share: float) -> Array:
        """That share of them, which differs by user."""
        return self.draw.binomial(counts, self.draw.beta(10 * share, 10 * (1 - share), (*self.shape[:2], 1)))


def sums(counts: Array) -> Sums:
    """Over each user's periods, for each world."""
    return counts.sum(axis=2).tolist()  # type: ignore[no-any-return]


@pytest.fixture(params=[20, 8], ids=["20 users", "8 users"])
def worlds(request: pytest.FixtureRequest) -> Worlds:
    return Worlds(request.param)


def covered(method: Method, truth: float, *sums: Sums) -> float:
    intervals = [method(*world) for world in zip(*sums, strict=True)]
    assert len(intervals) == WORLDS
    return sum(i is not None and i[0] <= truth <= i[1] for i in intervals) / WORLDS


def found(differences: Sums) -> float:
    ps = sign_flip_p(differences)
    return sum(p is not None and p < 0.05 for p in ps) / len(ps)


def test_an_accuracy(worlds: Worlds) -> None:
    assert 0.92 <= covered(ratio_interval, 0.6, sums(worlds.right(0.6)), worlds.n) <= 0.97


@pytest.mark.parametrize(
    ("method", "share"),
    [
        (ratio_interval, 0.3),
        (share_interval, 0.3),
        (share_interval, 0.1),
        (share_interval, 0.05),
        (share_interval, 0.9),
    ],
)
def test_a_share(worlds: Worlds, method: Method, share: float) -> None:
    """Of the wrong answers, those of one kind; how many are wrong and how many of these are of it differs by user."""
    wrong = worlds.asked - worlds.right(0.6)
    assert 0.92 <= covered(method, share, sums(worlds.some_of(wrong, share)), sums(wrong)) <= 0.97


def test_plain_intervals_of_rare_shares_cover_too_little() -> None:
    """Why there is `share_interval`."""
    worlds = Worlds(8)
    wrong = worlds.asked - worlds.right(0.6)
    assert covered(ratio_interval, 0.05, sums(worlds.some_of(wrong, 0.05)), sums(wrong)) < 0.9


def test_a_paired_difference(worlds: Worlds) -> None:
    a, b = sums(worlds.right(0.65)), sums(worlds.right(0.55))
    assert 0.92 <= covered(difference_interval, 0.65 - 0.55, a, worlds.n, b, worlds.n) <= 0.97


def test_a_memory_score(worlds: Worlds) -> None:
    truth = (0.5 - RANDOM) / (0.65 - RANDOM)
    assert 0.92 <= covered(ratio_interval, truth, *worlds.scored(0.5, 0.65)) <= 0.97


def test_a_difference_of_memory_scores_with_different_upper_bounds(worlds: Worlds) -> None:
    truth = (0.5 - RANDOM) / (0.65 - RANDOM) - (0.45 - RANDOM) / (0.55 - RANDOM)
    a, b = worlds.scored(0.5, 0.65), worlds.scored(0.45, 0.55)
    assert 0.92 <= covered(difference_interval, truth, *a, *b) <= 0.97


def test_few_small_p_without_a_difference_and_many_with_one(worlds: Worlds) -> None:
    """One agent varies over users more than the other, so the signs are not quite as free as the test supposes."""
    a, same, better = worlds.right(0.5), worlds.right(0.5, own=0), worlds.right(0.6)
    # the many choices of signs of 20 users take their time
    some = WORLDS if worlds.shape[1] == 8 else 400
    assert 0.02 <= found(sums(a - same)[:some]) <= 0.06
    assert found(sums(better - a)[:200]) > 0.5
