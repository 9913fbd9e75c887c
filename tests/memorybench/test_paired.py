"""Differences paired by item, and ranks: against scipy, where they cannot be told, and how often intervals hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from amemgym.memorybench.comparing.clustered import clustered, clustered_score
from amemgym.memorybench.comparing.paired import ALIKE, FEW, NO_ITEMS, ONE_ITEM, paired
from amemgym.memorybench.comparing.ranks import best, ranks, standings
from amemgym.scores.signflips import RESAMPLES


def test_one_data_set_is_the_paired_t_test() -> None:
    values = np.random.default_rng(1).normal(0.1, 1, 40)
    found, told = paired({"a": list(values)}), stats.ttest_1samp(values, 0)
    assert found.value == pytest.approx(values.mean()) and found.n == 40
    assert found.interval == pytest.approx(tuple(told.confidence_interval(0.95)))
    assert found.p == pytest.approx(told.pvalue)


@pytest.mark.parametrize("equal", [False, True])
def test_few_items_have_the_p_of_sign_flips(equal: bool) -> None:
    strata = {"a": [0.3, 0.1, -0.2, 0.4], "b": [1.0, 0.5, 2.0, 0.25, -0.5, 1.5, 0.75, 0.1, 0.2]}
    assert sum(map(len, strata.values())) == FEW == int(math.log2(RESAMPLES))
    weights = [1 / (2 * len(values)) if equal else 1 / FEW for values in strata.values()]
    shares = [w * v for w, values in zip(weights, strata.values(), strict=True) for v in values]
    told = stats.permutation_test((shares,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert paired(strata, equal=equal).p == pytest.approx(told.pvalue)


@pytest.mark.parametrize(
    ("strata", "value", "n", "why"),
    [
        ({}, None, 0, NO_ITEMS),
        ({"a": []}, None, 0, NO_ITEMS),
        ({"a": [0.5]}, 0.5, 1, ONE_ITEM),
        ({"a": [0.5, 0.5, 0.5]}, 0.5, 3, ALIKE),
        ({"a": [0.0, 0.0]}, 0.0, 2, ALIKE),
        ({"a": [0.1, 0.1 + 1e-16, 0.1]}, 0.1, 3, ALIKE),
        ({"a": [0.5, 0.0], "b": [0.5]}, 1 / 3, 3, "one common item in b: how its items differ cannot be told"),
    ],
)
def test_what_cannot_be_told_is_none(strata: dict[str, list[float]], value: float | None, n: int, why: str) -> None:
    found = paired(strata)
    assert (found.interval, found.p, found.n, found.why) == (None, None, n, why)
    assert found.value == (None if value is None else pytest.approx(value))


def test_intervals_hold() -> None:
    """Data sets of unlike size and spread, values of 0 and 1 in some: the truth is inside 95 times of 100."""
    chance = np.random.default_rng(7)
    inside, tries = 0, 1500
    for _ in range(tries):
        accuracies = (chance.random(40) < 0.6).astype(float) - (chance.random(40) < 0.5)
        strata = {"a": list(accuracies), "b": list(chance.normal(0.1, 0.4, 12)), "c": list(chance.normal(0.1, 2, 8))}
        interval = paired(strata, equal=True).interval
        assert interval is not None
        inside += interval[0] <= 0.1 <= interval[1]
    assert 0.93 <= inside / tries <= 0.97


@given(st.lists(st.none() | st.integers(-3, 3).map(float), max_size=9))
def test_ranks_are_the_usual_ones(values: list[float | None]) -> None:
    known = [value for value in values if value is not None]
    told = iter(stats.rankdata([-value for value in known], method="average"))
    assert ranks(values) == [None if value is None else next(told) for value in values]
    assert best(values) == [value is not None and value == max(known) for value in values]


def test_rounding_breaks_no_tie() -> None:
    assert ranks([0.3, 0.1 + 0.2, 0.2]) == [1.5, 1.5, 3.0]
    assert best([0.3, 0.1 + 0.2, 0.2]) == [True, True, False]


def test_no_complete_row_has_no_mean_rank() -> None:
    (one, other) = standings(["a", "b"], [{"a": 1.0, "b": None}, {"b": 2.0}])
    assert (one.mean_rank, one.wins, one.rows, other.mean_rank) == (None, 0, 0, None)


def test_users_are_the_sample_where_items_say_theirs() -> None:
    """One value a user is the t interval over users, cut to what a difference of shares can be."""
    each = [1.0, 1.0, 0.0, 1.0]
    ours, theirs = {(at, 0): value for at, value in enumerate(each)}, {(at, 0): 0.0 for at in range(4)}
    told = stats.ttest_1samp(each, 0)
    found = clustered({"a": ours}, {"a": theirs})
    assert (found.value, found.n, found.users, found.why) == (0.75, 4, 4, None)
    assert found.interval == pytest.approx(tuple(told.confidence_interval(0.95)))
    flipped = stats.permutation_test((each,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert found.p == pytest.approx(flipped.pvalue)
    assert found.interval[1] > 1 and clustered({"a": ours}, {"a": theirs}, bounds=(-1, 1)).interval == (
        pytest.approx(found.interval[0]),
        1,
    )
    # more items of one user change her weight alone; data sets that count the same are means of means
    more = {"a": ours, "b": {(0, 1): 0.5, (0, 2): 0.5}}
    none = {"a": theirs, "b": {(0, 1): 0.0, (0, 2): 0.0}}
    assert clustered(more, none).value == pytest.approx(4 / 6)
    assert clustered(more, none, equal=True).value == pytest.approx((0.75 + 0.5) / 2)
    assert clustered({"a": ours}, {"a": {(9, 9): 1.0}}).why == NO_ITEMS


def test_memory_scores_of_other_upper_bounds_have_no_p() -> None:
    gained, none = {(0, 0): 0.5, (1, 1): 0.25}, {(0, 0): 0.0, (1, 1): 0.0}
    room, less = {(0, 0): 1.0, (1, 1): 1.0}, {(0, 0): 0.5, (1, 1): 1.0}
    same = clustered_score((gained, room), (none, room), "it")
    assert same.value == pytest.approx(0.375) and same.p == 0.5 and same.interval is not None
    other = clustered_score((gained, room), (none, less), "it")
    assert other.p is None and other.interval is not None
    narrow = clustered_score((gained, room), (none, dict.fromkeys(room, 0.01)), "it")
    assert (narrow.value, narrow.interval) == (None, None) and narrow.why is not None and "random" in narrow.why
