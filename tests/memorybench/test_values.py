"""A number is read from whatever results hold; what is none is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.errors import DataError
from amemgym.memorybench.summary import Sums, read_summary
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
    assert [count(value) for value in (2**53, 2**54, 1e300)] == [2**53, None, None]


# --- summaries ---

_SUMS = {"average": {"A": 0.5}, "minmax_normalized_average": {"A": [1, 2, 0.5]}}
_DETAILS = {"details": {"A": [0.5, 0.5]}}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"summary": {"average": 0.5}, **_SUMS, **_DETAILS}, "legacy"),
        ({"summary": {"average": 0.5}, **_SUMS}, "judge"),
        ({"summary": {"average": 0.5, "metric": "llm_judge_score"}, **_SUMS, **_DETAILS}, "judge"),
        ({"summary": {"average": 0.5}, "metric": "llm_judge_score", **_SUMS, **_DETAILS}, "judge"),
        ({"summary": {"average": None}, "case_statistics": {"A": 1}, **_SUMS, **_DETAILS}, "cases"),
        ({"summary": {"average": None, "case_statistics": {"A": 1}}, **_SUMS, **_DETAILS}, "cases"),
        ({"summary": {"f1": 0.5}}, "scores"),
    ],
)
def test_forms_are_told_apart_by_their_keys(value: dict[str, object], form: str) -> None:
    found = read_summary(value, "x")
    assert found.form == form
    assert found.cases == ({"A": 1} if form == "cases" else None)
    assert not found.faults


@pytest.mark.parametrize("text", ["nan", "np.float64(nan)", "n/a", "", None, math.nan])
def test_a_score_that_is_no_number_is_a_known_metric_without_one(text: object) -> None:
    given = {"f1": text, "acc": "np.float64(0.5)", "metric": "x", "minmax": {"A": 1}, "list": [1]}
    assert read_summary({"summary": given}, "x").scores == {"f1": None, "acc": 0.5}


@pytest.mark.parametrize("given", [{}, {"metric": "f1"}, {"average": {"A": 1}}, {"average": [1]}])
def test_a_summary_without_any_metric_is_of_no_known_form(given: dict[str, object]) -> None:
    with pytest.raises(DataError, match="has no metric"):
        read_summary({"summary": given, **_SUMS}, "x")


@pytest.mark.parametrize(
    ("given", "expected", "told"),
    [
        ({"sum": 1, "count": 2, "mean": 0.5}, Sums(1.0, 2, 0.5), 0),
        ({"sum": 1, "n": 2}, Sums(1.0, 2, None), 0),
        (["np.float64(1.0)", "2", 0.5], Sums(1.0, 2, 0.5), 0),
        ([None, None, None], Sums(None, None, None), 0),
        (0.5, Sums(None, None, 0.5), 0),
        (None, None, 0),
        ([1, 2.5, 0.4], Sums(1.0, None, 0.4), 1),
        ([1, 2], None, 1),
        ([1, 2, 0.5, 9], None, 1),
        ({"total score": 1}, None, 1),
        ("x", None, 1),
    ],
)
def test_sums_by_place_and_by_name(given: object, expected: Sums | None, told: int) -> None:
    found = read_summary({"summary": {"average": 1}, "minmax_normalized_average": {"A": given}}, "x")
    assert found.datasets["A"].minmax == expected
    assert len(found.faults) == told and all("A" in fault for fault in found.faults)
