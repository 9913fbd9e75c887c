"""The sign-flip test against all choices of signs, one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from amemgym.scores.signflips import RESAMPLES, SEED, sign_flip_p, smallest_p

TENTHS = st.lists(st.integers(-9, 9).map(lambda n: Fraction(n, 10)), min_size=2, max_size=8)


@settings(deadline=None)
@given(st.lists(TENTHS, min_size=1, max_size=4))
def test_it_is_twice_the_share_of_signs_at_least_as_far_out(rows: list[list[Fraction]]) -> None:
    expected = []
    for row in rows:
        sums = [sum(s * d for s, d in zip(signs, row, strict=True)) for signs in product((1, -1), repeat=len(row))]
        above, below = sum(s >= sum(row) for s in sums), sum(s <= sum(row) for s in sums)
        expected.append(min(1.0, 2 * min(above, below) / len(sums)))
    # as floats, tenths are not exact: equal sums must still count as equal
    assert sign_flip_p([[float(d) for d in row] for row in rows]) == pytest.approx(expected)


def test_by_hand() -> None:
    # three users: of eight choices only +++ is as far out; with a 0 among them, the 0 turns nothing
    assert sign_flip_p([[1, 1, 1], [1, 1, 0], [1, 2, -3], [0, 0, 0]]) == [0.25, 0.5, 1, 1]


def test_sums_that_are_equal_but_for_rounding_are_equal() -> None:
    # the sum is 0, and so no choice of signs is less extreme; as floats some zeros lie above others
    assert sign_flip_p([[-0.3, -0.6, 0, 0.4, 0.3, 0.2]]) == [1]
    assert sign_flip_p([[1 / 3, 1 / 3, 1 / 3, -1]]) == [1]


@pytest.mark.parametrize("users", [2, 3, 8, 13, 14, 20])
def test_the_smallest_p_is_reached_where_all_users_agree(users: int) -> None:
    assert sign_flip_p([[0.1] * users]) == [smallest_p(users)]


def test_the_smallest_p_by_hand() -> None:
    assert [smallest_p(users) for users in (0, 1, 2, 3, 6)] == [None, None, 0.5, 0.25, 0.03125]
    assert smallest_p(13) == 2 / 8192
    assert smallest_p(14) == smallest_p(40) == 2 / (RESAMPLES + 1)


def test_no_p_with_fewer_than_two_users() -> None:
    assert sign_flip_p([[], [0.5], [1, 1, 1]]) == [None, None, 0.25]
    assert sign_flip_p([]) == []


def test_a_row_does_not_depend_on_the_others_and_the_signs_are_seeded() -> None:
    long = [[0.3, -0.1, 0.2, 0.4] * 5, [0.1, -0.2] * 10, [0.5, -0.1] * 10]
    together = sign_flip_p([*long, [1, 1, 1]])
    assert together == [*sign_flip_p(long[:1]), *sign_flip_p(long[1:2]), *sign_flip_p(long[2:]), 0.25]
    assert len(set(together)) == 4


def test_many_users_at_random_come_near_the_exact_p() -> None:
    # 16 users: 12 for, 4 against; exact: 2 · P(at least 12 of 16 heads) = 2 · 2517 / 65536
    (p,) = sign_flip_p([[1] * 12 + [-1] * 4])
    assert p == pytest.approx(2 * 2517 / 65536, abs=0.01)
    assert p != 2 * 2517 / 65536


@pytest.mark.parametrize("users", [2, 9, 13, 14, 40])
def test_it_is_what_scipy_finds_with_the_same_seed(users: int) -> None:
    rows = np.random.default_rng(users).choice([-0.4, -0.1, 0.0, 0.1, 0.2, 1 / 3], size=(4, users))
    expected = stats.permutation_test(
        (rows,),
        lambda values, axis: np.round(np.sum(values, axis=axis), 9),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=500,
        axis=-1,
        random_state=np.random.default_rng(SEED),
    )
    assert sign_flip_p(rows.tolist()) == expected.pvalue.tolist()
