"""The rule of simulated time: the memory knows the times it is told, and no clock."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from amemgym.kit.bench import Bench
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, facts_of, quoted
from amemgym.kit.verdicts import RuleBroken
from amemgym.kit.walk import reachable
from amemgym.memory import Item

#: how today may be written
_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y%m%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%d-%m-%Y",
    "%m/%d/%Y",
    "%m-%d-%Y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
    "%B %d %Y",
    "%a %b %d",
)
#: units that seconds since 1970 are counted in
_UNITS = (1, 1e3, 1e6, 1e9)


@rule("simulated-time", "times are those of the messages or of `now`; today's date is nowhere, nor in a request")
async def simulated_time(bench: Bench) -> None:
    subject, facts = bench.make(), facts_of(0)
    began = datetime.now()
    days = {fact.time.date() for fact in facts}
    for fact in facts:
        await subject.tell(fact)
        now = fact.time + timedelta(hours=1)
        for item in await subject.read(fact.asked, now):
            _check_time(item, days | {now.date()}, now, "read")
    read = [item for items in await subject.read_all(facts, LATER) for item in items]
    held = await subject.held() or []
    for what, items in (("read", read), ("export", held)):
        for item in items:
            _check_time(item, days | {LATER.date()}, LATER, what)
    clock = Clock(began)
    clock.check([item.text for item in read], "what is read")
    clock.check([item.text for item in held], "its export")
    clock.check(subject.hearing.texts(), "a request to its model or embedder")
    if not bench.is_view:
        clock.check([await subject.snapshot()], "its snapshot")


class Clock:
    """Finds the real time, as it was from `began` until now."""

    def __init__(self, began: datetime) -> None:
        ended = datetime.now()
        self._days = {moment.date() for moment in (began, ended, began.astimezone(UTC), ended.astimezone(UTC))}
        written = {day.strftime(form) for day in self._days for form in _FORMATS}
        written |= {re.sub(r"\b0(\d)", r"\1", text) for text in written}  # days and months without their zero
        self._written = re.compile(
            r"(?<!\d)(?:" + "|".join(map(re.escape, sorted(written))) + r")(?!\d)", re.IGNORECASE
        )
        self._seconds = began.timestamp() - 3600, ended.timestamp() + 3600

    def check(self, things: Iterable[object], where: str) -> None:
        """Raises RuleBroken where one of the things, or what it refers to, tells the real time."""
        for thing in reachable(*things):
            told = self._told(thing)
            if told is not None:
                raise RuleBroken(f"the real time ({told}) is in {where}; `now` is the time to go by")

    def _told(self, thing: object) -> str | None:
        if isinstance(thing, str | bytes):
            text = thing if isinstance(thing, str) else thing.decode("utf-8", "ignore")
            found = self._written.search(text)
            return quoted(text[max(0, found.start() - 20) : found.end() + 20]) if found else None
        if isinstance(thing, date):  # datetimes are dates
            day = thing.date() if isinstance(thing, datetime) else thing
            return str(thing) if day in self._days else None
        if isinstance(thing, int | float) and 1e9 < thing < 1e20:
            low, high = self._seconds
            return repr(thing) if any(low <= thing / unit <= high for unit in _UNITS) else None
        return None


def _check_time(item: Item, days: set[date], now: datetime, where: str) -> None:
    if item.time is None:
        return
    if not isinstance(item.time, datetime) or item.time.tzinfo is not None:
        raise RuleBroken(f"{where} gives an item of {item.time!r}; times are datetimes without a zone, as `now` is")
    if item.time > now:
        raise RuleBroken(f"{where} gives an item of {item.time}, which is later than now ({now}): {quoted(item.text)}")
    if item.time.date() not in days:
        raise RuleBroken(f"{where} gives an item of {item.time}, when nothing was said: {quoted(item.text)}")
