"""The formulas of SPEC section 3, against numbers worked out by hand and against each other."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.evaluate import ExamResult
from amemgym.scores import (
    Cell,
    accuracy,
    by_period,
    by_position,
    memory_score,
    random_accuracy,
    ratio_interval,
    upper_bound_accuracy,
)


def cell(
    correct: bool, *, user: int = 0, period: int = 0, options: int = 4, bound: int | None = 1, gold: int = 1
) -> Cell:
    option = gold if correct else gold % options + 1
    exam = ExamResult(period, 0, tuple(range(options)), gold, ("v",), option, "ok", correct)
    return Cell(user, period, exam, bound)


def cells(rights: Sequence[int], n: int = 10, **fields: int) -> list[Cell]:
    """For each user, how many of n answers are right."""
    return [cell(i < right, user=user, **fields) for user, right in enumerate(rights) for i in range(n)]


def test_memory_score_by_hand() -> None:
    # overall .5, random .25, upper bound 1: (.5 − .25) / (1 − .25)
    score = memory_score(cells([5]))
    assert score.ratio_of_means == pytest.approx(1 / 3)
    assert score.mean_of_ratios == pytest.approx(1 / 3)
    assert score.why_undefined is None
    assert score.n == 10


def test_the_two_definitions_differ_where_room_differs() -> None:
    # user 0: overall .9, UB 1; user 1: overall .3, UB .5; random .25
    first = [cell(i < 9, user=0) for i in range(10)]
    second = [cell(i < 3, user=1, bound=int(i < 5)) for i in range(10)]
    score = memory_score([*first, *second])
    assert score.ratio_of_means == pytest.approx((0.6 - 0.25) / (0.75 - 0.25))
    assert score.mean_of_ratios == pytest.approx(((0.9 - 0.25) / 0.75 + (0.3 - 0.25) / 0.25) / 2)


def test_undefined_where_the_upper_bound_is_not_above_random() -> None:
    score = memory_score([cell(True, bound=int(i < 1), options=10) for i in range(10)])
    assert score.ratio_of_means is None
    assert score.mean_of_ratios is None
    assert "upper bound (0.100) is not clearly above random (0.100)" in str(score.why_undefined)


def test_mean_of_ratios_is_undefined_where_one_user_period_is() -> None:
    good = [cell(i < 5, user=0) for i in range(10)]
    narrow = [cell(i < 5, user=3, period=2, bound=int(i < 2)) for i in range(10)]
    score = memory_score([*good, *narrow])
    assert score.ratio_of_means is not None
    assert score.mean_of_ratios is None
    assert "user 3, period 2" in str(score.why_undefined)
    assert "1 of 2" in str(score.why_undefined)


def test_undefined_without_an_upper_bound_and_over_nothing() -> None:
    for given_cells in ([], cells([3], bound=None)):  # type: ignore[arg-type]
        score = memory_score(given_cells)
        assert (score.ratio_of_means, score.mean_of_ratios, score.n) == (None, None, 0)
        assert score.why_undefined
    assert accuracy([]).value is None
    assert random_accuracy([]) is None


def test_cells_without_a_bound_are_left_out_of_the_memory_score_alone() -> None:
    some = [*cells([5]), *[cell(True, bound=None) for _ in range(10)]]
    assert memory_score(some).n == 10
    assert memory_score(some).ratio_of_means == pytest.approx(1 / 3)
    assert accuracy(some).value == 0.75
    assert upper_bound_accuracy(some).n == 10


def test_random_is_the_mean_of_one_over_the_options() -> None:
    assert random_accuracy([cell(True, options=2), cell(True, options=4)]) == pytest.approx(0.375)


def test_ragged_users_leave_later_periods_to_the_others() -> None:
    some = [cell(True, user=0, period=0), cell(False, user=1, period=0), cell(True, user=1, period=2)]
    assert [(m.value, m.n) for m in by_period(some)] == [(0.5, 2), (None, 0), (1.0, 1)]


def test_positions_count_gold_and_choice() -> None:
    some = [cell(True, gold=1), cell(False, gold=1, options=3), cell(True, gold=3, options=3)]
    assert [(m.value, m.n, chosen) for m, chosen in by_position(some)][:3] == [(0.5, 2, 1), (None, 0, 1), (1.0, 1, 1)]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(2, 7)), min_size=1, max_size=60))
def test_an_oracle_scores_one_and_chance_scores_zero(rows: list[tuple[int, bool, int]]) -> None:
    oracle = [cell(True, user=user, options=options) for user, _, options in rows]
    assert memory_score(oracle).ratio_of_means == pytest.approx(1)
    assert memory_score(oracle).mean_of_ratios == pytest.approx(1)
    some = [cell(right, user=user, options=options) for user, right, options in rows]
    mean = accuracy(some)
    assert mean.value is not None
    score = memory_score(some).ratio_of_means
    chance = random_accuracy(some)
    assert score is not None and chance is not None
    assert chance + score * (1 - chance) == pytest.approx(mean.value)


def test_one_user_has_no_interval() -> None:
    assert accuracy(cells([5])).interval is None
    assert accuracy(cells([5, 6])).interval is not None


def test_an_interval_by_hand() -> None:
    # two users with accuracies .4 and .6: mean .5, standard error .1, t(1) = 12.706
    low, high = ratio_interval([4, 6], [10, 10]) or (0, 0)
    assert (low, high) == pytest.approx((0.5 - 1.2706, 0.5 + 1.2706), abs=1e-3)
    # a share ends at 0 and 1, and so does its interval
    assert accuracy(cells([4, 6])).interval == (0, 1)


def test_intervals_cover_the_truth() -> None:
    """Users differ, and a user's answers hang together: 95% intervals hold the truth in 92 to 97% of worlds."""
    world = random.Random(20)
    truth, users, exams, worlds = 0.45, 20, 30, 1500
    covered = score_covered = 0
    for _ in range(worlds):
        rights, bounds = [], []
        for _ in range(users):
            skill = min(1.0, max(0.0, world.gauss(truth, 0.12)))
            rights.append(sum(world.random() < skill for _ in range(exams)))
            bounds.append(sum(world.random() < 0.9 for _ in range(exams)))
        low, high = ratio_interval(rights, [exams] * users) or (1, 0)
        covered += low <= truth <= high
        gained = [right - exams / 4 for right in rights]
        room = [bound - exams / 4 for bound in bounds]
        low, high = ratio_interval(gained, room) or (1, 0)
        score_covered += low <= (truth - 0.25) / (0.9 - 0.25) <= high
    assert 0.92 <= covered / worlds <= 0.97
    assert 0.92 <= score_covered / worlds <= 0.97


def test_ignoring_users_would_give_too_narrow_an_interval() -> None:
    some = cells([2, 2, 9, 9], n=10)
    low, high = accuracy(some).interval or (0, 0)
    alone = [cell(c.exam.correct, user=i) for i, c in enumerate(some)]
    narrow_low, narrow_high = accuracy(alone).interval or (0, 0)
    assert high - low > 2 * (narrow_high - narrow_low)
