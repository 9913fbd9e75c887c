"""Times are simulated, different, in order, and inside their period."""

from __future__ import annotations

from datetime import date, datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from amemgym.generate.calendar import months_later, period_days, session_times


def test_months() -> None:
    assert months_later(date(2020, 10, 31), 1) == date(2020, 11, 30)
    assert months_later(date(2019, 11, 30), 3) == date(2020, 2, 29)
    assert months_later(date(2020, 12, 1), 0) == date(2020, 12, 1)
    assert months_later(date(2020, 3, 15), -3) == date(2019, 12, 15)


days = st.dates(date(1990, 1, 1), date(2100, 1, 1))


@given(days, st.integers(0, 40), st.integers(1, 24), st.integers(1, 200), st.integers(0, 99))
def test_times_lie_in_their_period(start: date, period: int, months: int, sessions: int, seed: int) -> None:
    first, end = period_days(start, period, months, sessions)
    assert end == months_later(start, period * months)
    if period:
        assert first > months_later(start, (period - 1) * months)
    times = [datetime.fromisoformat(time) for time in session_times(Random(seed), first, end, sessions)]
    assert len(set(times)) == sessions
    assert times == sorted(times)
    assert all(first <= time.date() < end or time.date() == first for time in times)
    busiest = max(sum(other.date() == time.date() for other in times) for time in times)
    assert busiest <= -(-sessions // (end - first).days)
