"""Gwet's AC1: known numbers, what it must not depend on, and where there is none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.scores.agreement import NO_PAIR, NO_SPREAD, ONE_CATEGORY, ONE_GROUP, agreement


def table(both_yes: int, first_only: int, second_only: int, both_no: int) -> list[tuple[str, str]]:
    """The subjects of a 2 × 2 table of two raters."""
    cells = [("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]
    return [cell for cell, n in zip(cells, (both_yes, first_only, second_only, both_no), strict=True) for _ in range(n)]


def test_the_table_that_shows_the_paradox_of_kappa() -> None:
    """118, 5, 2, 0 of 125: raters agree in 94.4%, and kappa is below 0. By hand: π = (123 + 120)/250 = .972,
    pe = 2 · .972 · .028 = .054432, AC1 = (.944 − .054432)/(1 − .054432)."""
    found = agreement(table(118, 5, 2, 0))
    assert found.percent == pytest.approx(0.944)
    assert found.ac1 == pytest.approx((0.944 - 0.054432) / (1 - 0.054432))
    assert found.n == 125


def test_a_table_by_hand() -> None:
    """40, 10, 5, 45: pa = .85, π = (50 + 45)/200 = .475, pe = 2 · .475 · .525 = .49875."""
    found = agreement(table(40, 10, 5, 45))
    assert found.ac1 == pytest.approx((0.85 - 0.49875) / (1 - 0.49875))


def test_several_raters_with_ratings_missing() -> None:
    """Krippendorff's example of four raters and twelve units: AC1 = .77544 in Gwet's own program (irrCAC)."""
    none = None
    units: list[list[int | None]] = [
        [1, 1, none, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [none, 5, 5, 5],
        [none, none, 1, 1],
        [none, none, 3, none],
    ]
    found = agreement(units)
    assert found.ac1 == pytest.approx(0.77544, abs=5e-6)
    assert (found.n, found.percent) == (11, pytest.approx(0.81818, abs=5e-6))


RATINGS = st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=3), min_size=1, max_size=12)


@given(RATINGS, st.permutations([0, 1, 2]), st.permutations(["x", "y", "z"]), st.randoms())
def test_names_of_categories_and_order_of_raters_and_subjects_do_not_matter(
    subjects: list[list[str | None]], order: list[int], names: list[str], random: Any
) -> None:
    renamed = dict(zip("abc", names, strict=True))
    other = [[None if s[i] is None else renamed[str(s[i])] for i in order] for s in subjects]
    random.shuffle(other)
    one, two = agreement(subjects, categories="abc"), agreement(other, categories=names)
    assert (one.n, one.why_undefined) == (two.n, two.why_undefined)
    assert one.ac1 == (None if two.ac1 is None else pytest.approx(two.ac1))
    assert one.percent == (None if two.percent is None else pytest.approx(two.percent))


@given(RATINGS)
def test_it_is_never_above_one_and_one_only_where_all_agree(subjects: list[list[str | None]]) -> None:
    found = agreement(subjects, categories="abc")
    if found.ac1 is not None:
        assert found.ac1 <= 1 + 1e-12
        assert math.isclose(found.ac1, 1) == (found.percent == 1)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9), st.integers(2, 4))
def test_perfect_agreement_is_one(said: list[str], raters: int) -> None:
    found = agreement([[one] * raters for one in said], categories="abc")
    assert found.ac1 == pytest.approx(1) and found.percent == 1
    assert found.interval is None and found.why_no_interval in (NO_SPREAD, ONE_GROUP)


def test_where_there_is_none_the_reason_is_given() -> None:
    assert agreement([]).why_undefined == NO_PAIR
    alone = agreement([["a", None], [None, "b"]])
    assert (alone.ac1, alone.percent, alone.n, alone.why_undefined) == (None, None, 0, NO_PAIR)
    same = agreement([["a", "a"]] * 5)
    assert (same.ac1, same.percent, same.why_undefined) == (None, 1.0, ONE_CATEGORY)
    assert agreement([["a", "a"]] * 5, categories="ab").ac1 == 1


def test_the_interval_leaves_out_one_user_at_a_time() -> None:
    """Subjects of one user that stand or fall together make a longer interval than as many users'."""
    subjects = table(20, 0, 0, 20) + table(0, 5, 5, 0)
    apart = agreement(subjects)
    together = agreement(subjects, [n // 10 for n in range(50)])
    assert apart.ac1 == together.ac1 is not None
    assert apart.interval and together.interval
    assert apart.interval[0] < apart.ac1 < apart.interval[1]
    assert together.interval[1] - together.interval[0] > 1.5 * (apart.interval[1] - apart.interval[0])
    assert together.interval[0] >= -1 and together.interval[1] <= 1


def test_of_one_user_subjects_are_left_out_instead() -> None:
    subjects = table(8, 2, 1, 9)
    assert agreement(subjects, ["ada"] * 20).interval == agreement(subjects).interval is not None


def test_users_must_be_as_many_as_subjects() -> None:
    with pytest.raises(ValueError, match="2 subjects, but 1 users"):
        agreement([["a"], ["b"]], ["ada"])
