"""Numbers by name: unknown ones, and those out of range, are named with where they stand."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from amemgym.errors import UsageError
from amemgym.generate import CONFIGURATIONS, Shape, make_shape
from amemgym.generate.shape import parse_query


def test_the_published_configurations() -> None:
    """SPEC section 2."""
    base, extra = (make_shape(CONFIGURATIONS[name]) for name in ("base", "extra"))
    assert (base.users, base.questions, base.periods, base.states, base.values) == (20, 10, 11, 2, 3)
    assert (base.changes, base.months, base.start) == (4, 3, "2020-10-01")
    assert (extra.periods, extra.states) == (21, 3)


def test_every_difficulty_is_off_by_default() -> None:
    plain = Shape()
    assert plain.explicitness == "explicit"
    numbers = (plain.distractors, plain.others, plain.temporary, plain.corrections, plain.contradictions, plain.gaps)
    assert not any(numbers)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"user": 3}, "here: unknown key 'user'; the nearest known one is 'users'"),
        ({"users": 0}, "here: 'users' input should be greater than or equal to 1 (given: 0)"),
        ({"users": "many"}, "'users' input should be a valid integer"),
        ({"temporary": 1.5}, "'temporary' input should be less than or equal to 1"),
        ({"temporary": "nan"}, "'temporary' input should be a finite number"),
        ({"explicitness": "loud"}, "'explicitness' input should be 'explicit', 'implicit', 'subtle' or 'mixed'"),
        ({"start": "0900-01-01"}, "from 0900-01-01 on do not lie between the years 1000 and 9999"),
        ({"start": "9990-01-01", "months": 120}, "here: 11 periods of 120 months from 9990-01-01 on do not lie"),
        ({"start": "soon"}, "'start' invalid isoformat string: 'soon' (given: 'soon')"),
    ],
)
def test_what_is_wrong_is_named(settings: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as error:
        make_shape(settings, "here")
    assert said in str(error.value)


def test_a_date_as_yaml_and_toml_read_it_is_the_date() -> None:
    assert make_shape({"start": date(2021, 1, 1)}).start == make_shape({"start": "2021-01-01"}).start == "2021-01-01"
    assert make_shape({"start": datetime(2021, 1, 1, 9, 30)}).start == "2021-01-01"


def test_the_last_year_of_the_calendar_can_be_lived_in() -> None:
    assert make_shape({"start": "9999-11-30", "periods": 2, "months": 1}).periods == 2
    with pytest.raises(UsageError):
        make_shape({"start": "9999-11-30", "periods": 3, "months": 1})


def test_a_query() -> None:
    assert parse_query("", "bank:base") == {}
    assert parse_query("users=1000&max-changes=2", "x") == {"users": "1000", "max_changes": "2"}


@pytest.mark.parametrize(
    ("query", "said"), [("users", "should be names and values"), ("users=1&users=2", "'users' is given twice")]
)
def test_a_query_that_is_none(query: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_query(query, "bank:base")
