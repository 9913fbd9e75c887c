"""Intervals against numbers worked out by hand, scipy's t interval and each other."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from amemgym.scores.intervals import clipped, difference_interval, ratio_interval, share_interval

#: one user: right answers of a and of b, and how many questions they were asked
USERS = st.lists(
    st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))),
    min_size=2,
    max_size=12,
)


def test_a_difference_by_hand() -> None:
    # a: .4 and .8, b: .2 and .4, ten questions a user: differences .2 and .4, mean .3, standard error .1, t(1) 12.706
    interval = difference_interval([4, 8], [10, 10], [2, 4], [10, 10])
    assert interval == pytest.approx((0.3 - 1.2706, 0.3 + 1.2706), abs=1e-4)


def test_a_difference_of_ratios_with_other_denominators_by_hand() -> None:
    # a: 6 of 8 = .75, errors (2 − 3)/8 and (4 − 3)/8; b: 3 of 6 = .5, errors (2 − 1)/6 and (1 − 2)/6
    # paired: −1/8 − 1/6 and 1/8 + 1/6, so variance 2/1 · 2 · (7/24)² and standard error 2 · 7/24
    interval = difference_interval([2, 4], [4, 4], [2, 1], [2, 4])
    half = 12.7062 * 2 * 7 / 24
    assert interval == pytest.approx((0.25 - half, 0.25 + half), rel=1e-5)


def test_denominators_below_zero_turn_the_errors_as_well() -> None:
    assert difference_interval([2, 4], [4, 4], [-2, -1], [-2, -4]) == difference_interval(
        [2, 4], [4, 4], [2, 1], [2, 4]
    )


@settings(deadline=None)
@given(USERS)
def test_with_equal_questions_it_is_the_t_interval_of_the_users_differences(rows: list[tuple[int, int, int]]) -> None:
    each = [(a - b) / 40 for a, b, _ in rows]
    assume(len(set(each)) > 1)
    a, b, n = [float(row[0]) for row in rows], [float(row[1]) for row in rows], [40.0] * len(rows)
    expected = stats.ttest_1samp(each, 0).confidence_interval(0.9)
    assert difference_interval(a, n, b, n, level=0.9) == pytest.approx((expected.low, expected.high))


@settings(deadline=None)
@given(USERS)
def test_the_other_way_round_it_is_the_same_with_the_other_sign(rows: list[tuple[int, int, int]]) -> None:
    a, b, n = zip(*rows, strict=True)
    other = [count + 3 for count in n]
    low, high = difference_interval(a, n, b, other) or (math.nan, math.nan)
    assert difference_interval(b, other, a, n) == pytest.approx((-high, -low))


@settings(deadline=None)
@given(USERS)
def test_a_difference_from_nothing_is_the_ratio_alone(rows: list[tuple[int, int, int]]) -> None:
    a, _, n = zip(*rows, strict=True)
    assert difference_interval(a, n, [0] * len(n), n) == pytest.approx(ratio_interval(a, n))


def test_pairing_by_user_takes_out_what_makes_users_differ() -> None:
    a, b, n = [2, 5, 9], [1, 4, 8], [10] * 3
    assert difference_interval(a, n, b, n) == pytest.approx((0.1, 0.1))
    shuffled = difference_interval(a, n, [8, 1, 4], n) or (0, 0)
    assert shuffled[1] - shuffled[0] > 0.5


def test_no_interval_with_one_user_or_without_a_denominator() -> None:
    assert difference_interval([4], [10], [2], [10]) is None
    assert difference_interval([], [], [], []) is None
    assert difference_interval([1, 2], [3, 3], [0, 0], [0, 0]) is None
    assert difference_interval([1, 2], [0, 0], [1, 2], [3, 3]) is None
    assert share_interval([4], [10]) is None
    assert share_interval([0, 0], [0, 0]) is None


def test_other_users_on_the_two_sides_are_refused() -> None:
    with pytest.raises(ValueError, match="2 in a, 3 in b"):
        difference_interval([1, 2], [3, 3], [1, 2, 2], [3, 3, 3])


def test_a_share_by_hand() -> None:
    # 2 and 6 of 10: share .4, standard error .2; in log odds −.405 ± 12.706 · .2 / .24
    low, high = share_interval([2, 6], [10, 10]) or (0, 0)
    half = 12.7062 * 0.2 / 0.24
    assert (low, high) == pytest.approx([1 / (1 + math.exp(0.405465 - sign * half)) for sign in (-1, 1)], rel=1e-3)


def test_a_rare_share_reaches_further_inward_and_never_below_nothing() -> None:
    low, high = share_interval([0, 1, 0, 2, 0, 1], [10] * 6) or (0, 0)
    plain = ratio_interval([0, 1, 0, 2, 0, 1], [10] * 6) or (0, 0)
    assert plain[0] < 0 < low < 4 / 60 < plain[1] < high < 1


def test_a_common_share_of_many_users_hardly_changes() -> None:
    rights, n = [4, 5, 6, 5] * 25, [10] * 100
    assert share_interval(rights, n) == pytest.approx(ratio_interval(rights, n), abs=1e-3)


def test_a_share_of_none_or_all_has_a_bound() -> None:
    assert share_interval([0, 0, 0], [10, 10, 10]) == pytest.approx((0, 0.7076), abs=1e-4)  # 1 − .025^(1/3)
    assert share_interval([10, 10], [10, 10]) == pytest.approx((0.1581, 1), abs=1e-4)
    many = [0] * 20
    assert share_interval(many, [100] * 20) == pytest.approx((0, 0.1684), abs=1e-4)


def test_an_interval_is_cut_to_what_its_number_can_be() -> None:
    assert clipped((-0.2, 0.4)) == (0, 0.4)
    assert clipped((0.3, 1.7)) == (0.3, 1)
    assert clipped((0.3, 0.4)) == (0.3, 0.4)
    assert clipped((-3, 3), -1, 1) == (-1, 1)
    assert clipped((1.0, 1.0)) == (1, 1)
    assert clipped(None) is None
