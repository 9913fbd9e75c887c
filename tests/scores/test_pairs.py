"""Paired comparisons against numbers worked out by hand, each other and the scores of the single agents."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from amemgym.evaluate import ExamResult
from amemgym.scores import Cell, accuracy, memory_score
from amemgym.scores.intervals import clipped, difference_interval, ratio_interval
from amemgym.scores.pairs import Pair, adjusted_ps, compare_agents
from amemgym.scores.power import users_needed


def cell(correct: bool, user: int, question: int, *, period: int = 0, bound: int | None = 1, options: int = 4) -> Cell:
    exam = ExamResult(period, question, tuple(range(options)), 1, ("v",), 1 if correct else 2, "ok", correct)
    return Cell(user, period, exam, bound)


def agent(rights: Sequence[int], n: int = 10, bounds: int | None = None) -> list[Cell]:
    """For each user, the first so many of n questions right, and an upper bound of 1 for the first `bounds`."""
    able = n if bounds is None else bounds
    return [
        cell(question < right, user, question, bound=int(question < able))
        for user, right in enumerate(rights)
        for question in range(n)
    ]


def pair(a: Sequence[Cell], b: Sequence[Cell]) -> Pair:
    (only,) = compare_agents({"a": a, "b": b})
    return only


#: (user, period, question, right of a, right of b, bound of a, bound of b); a bound may be missing
ROWS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 2),
        st.integers(0, 3),
        st.booleans(),
        st.booleans(),
        st.sampled_from([1, 1, 1, 0, None]),
        st.sampled_from([1, 1, 1, 0, None]),
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:3],
)
Row = tuple[int, int, int, bool, bool, int | None, int | None]


def both(rows: Sequence[Row]) -> tuple[list[Cell], list[Cell]]:
    first = [cell(a, user, question, period=period, bound=bound) for user, period, question, a, _, bound, _ in rows]
    second = [cell(b, user, question, period=period, bound=bound) for user, period, question, _, b, _, bound in rows]
    return first, second


def test_by_hand() -> None:
    # differences .2, .4, .3: mean .3, standard deviation .1
    found = pair(agent([4, 8, 5]), agent([2, 4, 2]))
    assert (found.a, found.b, found.n, found.users) == ("a", "b", 30, 3)
    assert found.difference == pytest.approx(0.3)
    half = 4.30265 * 0.1 / 3**0.5
    assert found.interval == pytest.approx((0.3 - half, 0.3 + half), rel=1e-5)
    assert (found.p, found.smallest_p, found.p_adjusted) == (0.25, 0.25, 0.25)
    assert found.effect_size == pytest.approx(3)
    assert (found.only_a, found.only_b) == (9, 0)
    # random .25, upper bound 1 for both: .3 / .75
    assert found.memory_score_difference == pytest.approx(0.4)
    assert found.memory_score_interval == pytest.approx((0.4 - half / 0.75, 0.4 + half / 0.75), rel=1e-5)
    assert found.users_needed == {wanted: users_needed(0.1, wanted) for wanted in (0.02, 0.05, 0.1)}


def test_no_fewer_users_are_said_to_be_enough_than_the_test_needs() -> None:
    found = pair(agent([50, 50, 51], n=100), agent([40, 40, 40], n=100))  # hardly a spread
    assert set(found.users_needed.values()) == {6}  # 2 / 2**5 is above .05, 2 / 2**6 below


def test_what_only_one_gets_right_is_counted_by_cell() -> None:
    # a: questions 0 to 4; b: 0 to 2 of user 0, 0 to 8 of user 1
    found = pair(agent([5, 5]), agent([3, 9]))
    assert (found.only_a, found.only_b) == (2, 4)


@settings(deadline=None)
@given(ROWS)
def test_the_other_way_round_it_is_the_same_with_the_other_sign(rows: list[Row]) -> None:
    a, b = both(rows)
    one, other = pair(a, b), pair(b, a)

    def turned(interval: tuple[float, float] | None) -> tuple[float, float] | None:
        return interval and (-interval[1], -interval[0])

    assert (one.n, one.users, one.p, one.smallest_p) == (other.n, other.users, other.p, other.smallest_p)
    assert one.users_needed == other.users_needed
    assert (one.only_a, one.only_b) == (other.only_b, other.only_a)
    assert one.difference == -(other.difference or 0)
    assert one.interval == turned(other.interval)
    assert one.effect_size == (other.effect_size and -other.effect_size)
    assert one.memory_score_difference == (other.memory_score_difference and -other.memory_score_difference)
    assert one.memory_score_interval == turned(other.memory_score_interval)


@settings(deadline=None)
@given(ROWS)
def test_over_the_same_cells_it_is_the_difference_of_the_two_agents_scores(rows: list[Row]) -> None:
    a, b = both(
        [(*row[:5], row[5] if row[6] is not None else None, row[6] if row[5] is not None else None) for row in rows]
    )
    found = pair(a, b)
    assert found.difference == pytest.approx((accuracy(a).value or 0) - (accuracy(b).value or 0))
    score_a, score_b = memory_score(a).ratio_of_means, memory_score(b).ratio_of_means
    if score_a is None or score_b is None:
        assert (found.memory_score_difference, found.memory_score_interval) == (None, None)
    else:
        assert found.memory_score_difference == pytest.approx(score_a - score_b)


def test_with_equal_cells_the_interval_is_the_t_interval_of_the_users_means() -> None:
    rights_a, rights_b = [4, 8, 5, 7, 9, 3], [5, 4, 4, 7, 5, 2]
    each = [(a - b) / 10 for a, b in zip(rights_a, rights_b, strict=True)]
    expected = stats.ttest_1samp(each, 0).confidence_interval()
    assert pair(agent(rights_a), agent(rights_b)).interval == pytest.approx((expected.low, expected.high))


def test_users_with_more_cells_weigh_more() -> None:
    a = [*agent([3], n=4), *[cell(q < 6, 1, q) for q in range(12)]]
    b = [*agent([1], n=4), *[cell(q < 3, 1, q) for q in range(12)]]
    found = pair(a, b)
    assert found.difference == pytest.approx((2 + 3) / 16)
    assert found.interval == pytest.approx(clipped(ratio_interval([2, 3], [4, 12]), low=-1))
    # of the users' own differences, .5 and .25
    assert found.effect_size == pytest.approx(0.375 / (0.25 / 2**0.5))


def test_p_is_of_the_users_sums() -> None:
    # a is better in 3 of 10 cells of user 0, b in the one cell of users 1 and 2: of ±3 ±1 ±1, half is at least 1
    a = [*agent([5]), cell(False, 1, 0), cell(False, 2, 0)]
    b = [*agent([2]), cell(True, 1, 0), cell(True, 2, 0)]
    assert pair(a, b).p == 1


def test_only_what_both_have_counts() -> None:
    a = agent([4, 8, 5, 10])
    whole = pair(a[:30], agent([2, 4, 2]))
    # user 3 is missing from b; of user 4 each has another period
    b = [*agent([2, 4, 2]), cell(True, 4, 0, period=1)]
    assert pair([*a, cell(False, 4, 0, period=0)], b) == whole


def test_trials_are_averaged_before_anything_else() -> None:
    # a: question 0 right in both trials, question 1 in one; b: both in one of two
    a = [cell(right, user, q) for user in (0, 1) for q, right in ((0, True), (0, True), (1, True), (1, False))]
    b = [cell(right, user, q) for user in (0, 1) for q, right in ((0, True), (0, False), (1, False), (1, True))]
    found = pair(a, b)
    assert found.n == 4
    assert found.difference == pytest.approx(0.75 - 0.5)
    assert (found.only_a, found.only_b) == (2, 0)
    assert found.memory_score_difference == pytest.approx(0.25 / 0.75)


def test_more_trials_of_one_question_give_it_no_more_weight() -> None:
    a = [cell(True, 0, 0), cell(False, 0, 1), cell(True, 1, 0), cell(False, 1, 1)]
    b = [cell(False, 0, 0), cell(False, 0, 1), cell(False, 1, 0), cell(True, 1, 1)]
    once = pair(a, b)
    assert pair([*a, a[0], a[0]], b) == once
    assert once.difference == pytest.approx(0.25)


def test_one_user_has_a_difference_but_no_interval_and_no_p() -> None:
    found = pair(agent([6]), agent([4]))
    assert found.difference == pytest.approx(0.2)
    assert found.memory_score_difference == pytest.approx(0.2 / 0.75)
    assert (found.interval, found.memory_score_interval) == (None, None)
    assert (found.p, found.smallest_p, found.p_adjusted, found.effect_size) == (None, None, None, None)
    assert found.users_needed == {0.02: None, 0.05: None, 0.1: None}


def test_nothing_in_common_is_no_difference_known() -> None:
    found = pair(agent([6]), [cell(True, 1, 0)])
    assert (found.n, found.users, found.difference, found.interval) == (0, 0, None, None)
    assert (found.memory_score_difference, found.memory_score_interval, found.p) == (None, None, None)
    assert pair([], agent([6])).difference is None


def test_where_all_users_differ_alike_there_is_no_effect_size() -> None:
    found = pair(agent([2, 1, 3], n=3), agent([1, 0, 2], n=3))
    assert found.effect_size is None
    assert set(found.users_needed.values()) == {None}
    assert found.interval == pytest.approx((1 / 3, 1 / 3))
    # seven of ten trials beside six, one beside none
    a = [cell(trial < right, user, 0) for user, right in ((0, 7), (1, 1)) for trial in range(10)]
    b = [cell(trial < right, user, 0) for user, right in ((0, 6), (1, 0)) for trial in range(10)]
    assert pair(a, b).effect_size is None
    same = pair(agent([2, 1, 3]), agent([2, 1, 3]))
    assert (same.difference, same.p, same.effect_size, same.only_a, same.only_b) == (0, 1, None, 0, 0)


def test_memory_scores_are_compared_each_by_its_own_upper_bound() -> None:
    # random .25; a: (.5 − .25) / (1 − .25), b: (.4 − .25) / (.8 − .25)
    found = pair(agent([5, 5, 5]), agent([2, 4, 6], bounds=8))
    assert found.memory_score_difference == pytest.approx(0.25 / 0.75 - 0.15 / 0.55)
    expected = difference_interval([2.5] * 3, [7.5] * 3, [-0.5, 1.5, 3.5], [5.5] * 3)
    assert found.memory_score_interval == pytest.approx(expected)


def test_memory_scores_are_not_compared_where_one_upper_bound_is_not_clearly_above_random() -> None:
    a = agent([5, 6], n=100)
    assert pair(a, agent([4, 8], n=100, bounds=29)).memory_score_difference is None
    assert pair(agent([4, 8], n=100, bounds=29), a).memory_score_interval is None
    assert pair(a, agent([4, 8], n=100, bounds=31)).memory_score_difference is not None


def test_cells_without_an_upper_bound_in_both_are_left_out_of_the_memory_score_alone() -> None:
    a, b = agent([4, 8]), agent([2, 4])
    without = [cell(True, user, 10, bound=None) for user in (0, 1)]
    found = pair([*a, *without], [*b, *[cell(False, user, 10) for user in (0, 1)]])
    assert found.memory_score_difference == pair(a, b).memory_score_difference
    assert found.difference == pytest.approx((6 + 2) / 22)


def test_p_is_adjusted_over_all_pairs_by_hand() -> None:
    # of six users with one cell each: a has 6 right, b none, c 4, so that 6, 2 and 4 users differ
    found = compare_agents({"a": agent([1] * 6, n=1), "b": agent([0] * 6, n=1), "c": agent([1] * 4 + [0] * 2, n=1)})
    assert [(p.a, p.b) for p in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [p.p for p in found] == [2 / 2**6, 2 / 2**2, 2 / 2**4]
    # the smallest times 3, the next times 3 / 2, the largest as it is
    assert [p.p_adjusted for p in found] == pytest.approx([0.09375, 0.5, 0.1875])


@pytest.mark.parametrize("ps", [[0.2], [0.01, 0.04, 0.03, 0.5], [0.5, 0.5, 0.0002, 1.0, 1 / 3, 0.0002, 0.05]])
def test_p_is_adjusted_as_by_scipy(ps: list[float]) -> None:
    assert adjusted_ps([None, *ps]) == [None, *stats.false_discovery_control(ps, method="bh")]


def test_a_larger_p_is_never_adjusted_below_a_smaller_one_and_pairs_without_p_do_not_count() -> None:
    # p: .03125, .25, .25; times 3, 3 / 2 and 1, but no more than what follows
    three = {"a": agent([1] * 6, n=1), "b": agent([0] * 6, n=1), "c": agent([1] * 3 + [0] * 3, n=1)}
    assert [p.p_adjusted for p in compare_agents(three)] == pytest.approx([0.09375, 0.25, 0.25])
    found = compare_agents({"d": agent([1], n=1), **three})
    assert [p.p_adjusted for p in found if p.a == "d"] == [None, None, None]
    assert [p.p_adjusted for p in found if p.a != "d"] == pytest.approx([0.09375, 0.25, 0.25])


def test_fewer_than_two_agents_make_no_pair() -> None:
    assert compare_agents({}) == []
    assert compare_agents({"a": agent([5, 6])}) == []


def test_the_order_of_cells_does_not_matter() -> None:
    # so many users that the choices of signs are drawn
    a, b = agent([4, 8, 5, 7, 6, 3, 9] * 2), agent([2, 7, 9, 5, 6, 4, 6] * 2, bounds=8)
    mixed = random.Random(1)
    assert pair(mixed.sample(a, len(a)), mixed.sample(b, len(b))) == pair(a, b)


def test_as_dict_is_plain_json() -> None:
    found = pair(agent([4, 8, 5]), agent([2, 4, 2]))
    plain = found.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert found.interval is not None and found.memory_score_interval is not None
    assert plain["interval"] == list(found.interval)
    assert plain["memory_score_interval"] == list(found.memory_score_interval)
    assert plain["users_needed"] == {
        "0.02": found.users_needed[0.02],
        "0.05": found.users_needed[0.05],
        "0.10": found.users_needed[0.1],
    }
    assert (plain["a"], plain["n"], plain["difference"]) == ("a", 30, found.difference)
    assert pair(agent([6]), agent([4])).as_dict()["interval"] is None


def test_scipy_is_not_loaded_before_it_is_needed() -> None:
    modules = "pairs, amemgym.scores.power, amemgym.scores.trials"
    code = f"import sys, amemgym.scores.{modules}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
