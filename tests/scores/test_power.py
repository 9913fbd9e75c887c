"""How many users are needed, against published tables, the noncentral t itself and simulated comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from amemgym.scores.power import MOST_USERS, users_needed


@pytest.mark.parametrize(
    ("effect", "power", "users"),
    # G*Power 3, "difference between two dependent means", two-sided, alpha .05
    [(0.2, 0.8, 199), (0.5, 0.8, 34), (0.8, 0.8, 15), (0.5, 0.9, 44), (0.5, 0.95, 54)],
)
def test_published_numbers(effect: float, power: float, users: int) -> None:
    assert users_needed(1, effect, power=power) == users
    # only the ratio counts, so the unit does not
    assert users_needed(0.08, 0.08 * effect, power=power) == users


@settings(deadline=None)
@given(st.floats(0.02, 3), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from([0.9, 0.95, 0.99]))
def test_it_is_the_first_number_of_users_with_that_power(effect: float, power: float, level: float) -> None:
    def reached(users: int) -> float:
        limit = stats.t.ppf((1 + level) / 2, users - 1)
        shift = effect * users**0.5
        # the far tail is next to nothing, for which scipy may give no number
        return float(stats.nct.sf(limit, users - 1, shift) + np.nan_to_num(stats.nct.cdf(-limit, users - 1, shift)))

    users = users_needed(1, effect, power, level)
    assert reached(users) >= power - 1e-6
    if users > 2:
        assert reached(users - 1) < power + 1e-6


@settings(deadline=None)
@given(st.floats(0.001, 1), st.floats(0.001, 1), st.floats(1, 5))
def test_more_spread_smaller_differences_and_more_certainty_need_more_users(
    spread: float, difference: float, factor: float
) -> None:
    users = users_needed(spread, difference)
    assert users_needed(spread * factor, difference) >= users
    assert users_needed(spread, difference * factor) <= users
    assert users_needed(spread, difference, power=0.9) >= users
    assert users_needed(spread, difference, level=0.99) >= users


@pytest.mark.parametrize("spread", [0, 1e-300, 1e-12, 0.0005, 0.001, 0.002])
def test_next_to_no_spread_needs_the_fewest_users_there_can_be(spread: float) -> None:
    assert users_needed(spread, 0.1) == 2


def test_beyond_reach_is_capped() -> None:
    assert users_needed(1, 1e-6) == MOST_USERS
    assert users_needed(1e300, 1e-300) == MOST_USERS
    assert users_needed(1, 0.0095) < MOST_USERS


@pytest.mark.parametrize(
    "given", [(-0.1, 0.1), (0.1, 0), (0.1, -0.1), (0.1, 0.1, 1), (0.1, 0.1, 0.8, 0), (float("nan"), 0.1)]
)
def test_what_makes_no_sense_is_refused(given: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="spread must be at least 0"):
        users_needed(*given)


def test_with_so_many_users_four_of_five_runs_find_the_difference() -> None:
    spread, difference = 0.12, 0.05
    users = users_needed(spread, difference)
    runs = np.random.default_rng(3).normal(difference, spread, (4000, users))
    found = stats.ttest_1samp(runs, 0, axis=1).pvalue < 0.05
    assert 0.78 <= found.mean() <= 0.83
