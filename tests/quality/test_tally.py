"""Counting by value gives what the numbers themselves would, and no more texts than a card can show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.quality.tally import KINDS, LONGEST, Kinds, Spread
from tests.quality.spreads import spread_of


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60))
def test_a_spread_is_that_of_the_numbers(values: list[int]) -> None:
    found = spread_of(values)
    quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    assert [found.least, found.lower, found.median, found.upper, found.most] == pytest.approx(list(quartiles))
    assert found.mean == pytest.approx(np.mean(values)) and found.total == sum(values) and found.n == len(values)
    assert found.histogram == tuple((value, values.count(value)) for value in sorted(set(values)))


def test_nothing_has_no_mean() -> None:
    assert spread_of([]) == Spread(0, 0, None, None, None, None, None, None, ())


def test_kinds_are_counted_up_to_a_number_and_the_rest_together() -> None:
    kinds = Kinds()
    for number in range(KINDS + 5):
        kinds.add(f"kind {number:02d}", 1 + (number == 3))
    kinds.add("kind 00")
    found = kinds.most_common()
    assert list(found)[:3] == ["kind 00", "kind 03", "kind 01"]
    assert found["(others)"] == 5 and len(found) == KINDS + 1


def test_a_kind_from_data_is_cut_and_cannot_move_a_terminals_cursor() -> None:
    kinds = Kinds()
    kinds.add("a" * 10_000)
    kinds.add("\x1b[2J")
    assert [len(kind) for kind in kinds.most_common()] == [LONGEST, 4]
    assert "\x1b" not in "".join(kinds)
