"""When things happen: the periods' ends and the sessions' times, all simulated."""

from __future__ import annotations

import calendar
from datetime import MAXYEAR, date, datetime, time, timedelta
from random import Random

#: days before the start in which the sessions of the initial period lie, as far as there are not more sessions
FIRST_DAYS = 14
#: the earliest year of a start; there is room in the calendar for the sessions before it
FIRST_YEAR = 1000


def months_later(day: date, months: int) -> date:
    """The same day so many months on, or the month's last where there is no such day."""
    index = day.year * 12 + day.month - 1 + months
    year, month = index // 12, index % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def fits_calendar(start: date, periods: int, months: int) -> bool:
    """Whether that many periods (the first ends at the start) lie in years that dates can have."""
    return start.year >= FIRST_YEAR and start.year * 12 + start.month - 1 + (periods - 1) * months < 12 * (MAXYEAR + 1)


def period_days(start: date, period: int, months: int, sessions: int) -> tuple[date, date]:
    """(first day, day after the last) on which the sessions of a period can lie; it ends on the latter."""
    end = months_later(start, period * months)
    first = months_later(start, (period - 1) * months) if period else end - timedelta(max(FIRST_DAYS, sessions))
    return first + timedelta(1), end


def session_times(random: Random, first: date, end: date, count: int) -> list[str]:
    """So many different times from the first day to before the end, in order: one a day while the days last."""
    days = (end - first).days
    rounds, rest = divmod(count, days)
    chosen = [offset for offset in range(days) for _ in range(rounds)] + random.sample(range(days), rest)
    times = set[datetime]()
    for offset in sorted(chosen):
        moment = datetime.combine(first + timedelta(offset), time(7)) + timedelta(seconds=random.randrange(15 * 3600))
        while moment in times:
            moment += timedelta(seconds=1)
        times.add(moment)
    return [moment.isoformat(sep=" ") for moment in sorted(times)]
