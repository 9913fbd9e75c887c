"""A number is read from whatever results hold; what is none is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.memorybench.values import count, number


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, 1.0),
        (False, 0.0),
        (3, 3.0),
        (np.float64(0.25), 0.25),
        (np.bool_(True), 1.0),
        ("0.5", 0.5),
        (" 1e-3 ", 0.001),
        ("np.float64(0.75)", 0.75),
        ("numpy.int32(4)", 4.0),
        ("np.True_", 1.0),
        ("true", 1.0),
    ],
)
def test_what_is_a_number(value: object, expected: float) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    "value",
    [None, "", "nan", "np.float64(nan)", "inf", math.nan, math.inf, "N/A", [1], {"a": 1}, "1_000", "9" * 400, 10**400],
)
def test_what_is_none(value: object) -> None:
    assert number(value) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_survives_every_way_it_is_written(value: float) -> None:
    assert number(value) == number(repr(value)) == number(repr(np.float64(value))) == value


def test_counts() -> None:
    assert [count(value) for value in (3, 3.0, "3", 0, -1, 2.5, None)] == [3, 3, 3, 0, None, None, None]
