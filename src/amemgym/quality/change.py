"""How states change: how often, how long a value holds, how often an old value comes back.

A *stretch* is the periods over which a variable keeps one value; it *ends* where the value changes, and the last one
of each variable is cut off by the data's end, so it may have lasted longer. A change is a *revert* where the new value
was held before: *back* where it is the value before the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from amemgym.quality.tally import Spread, Tally
from amemgym.scenario import Scenario


@dataclass(frozen=True)
class Change:
    """`updates` is spread over the periods after the first, `changes` over variables, `dwell` (periods) over all
    stretches, `ended_dwell` over those that end. `unchanged` of `followed` exam cells after the first period have the
    gold of the period before."""

    updates: Spread
    changes: Spread
    dwell: Spread
    ended_dwell: Spread
    back: int
    reverts: int
    unchanged: int
    followed: int

    @property
    def unchanged_share(self) -> float | None:
        return self.unchanged / self.followed if self.followed else None


class ChangeCounter:
    """Counts one user after the other."""

    def __init__(self) -> None:
        self._updates, self._changes, self._dwell, self._ended = Tally(), Tally(), Tally(), Tally()
        self._back = self._reverts = self._unchanged = self._followed = 0

    def add(self, user: Scenario) -> None:
        updates = [0] * len(user.periods)
        for name in user.state_schema:
            held = [(0, user.periods[0].state[name])]  # (first period of a stretch, value)
            for number, period in enumerate(user.periods):
                if period.state[name] != held[-1][1]:
                    held.append((number, period.state[name]))
                    updates[number] += 1
            self._add_stretches([start for start, _ in held], len(user.periods))
            self._add_reverts([value for _, value in held])
        for count in updates[1:]:
            self._updates.add(count)
        for question in range(len(user.qas)):
            golds = [user.gold(period, question) for period in range(len(user.periods))]
            self._unchanged += sum(now == before for before, now in pairwise(golds))
            self._followed += len(golds) - 1

    def _add_stretches(self, starts: list[int], periods: int) -> None:
        self._changes.add(len(starts) - 1)
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], periods], strict=True), start=1):
            self._dwell.add(end - start)
            if number < len(starts):
                self._ended.add(end - start)

    def _add_reverts(self, values: list[str]) -> None:
        for number in range(2, len(values)):
            self._back += values[number] == values[number - 2]
            self._reverts += values[number] in values[:number]

    def result(self) -> Change:
        return Change(
            updates=self._updates.spread(),
            changes=self._changes.spread(),
            dwell=self._dwell.spread(),
            ended_dwell=self._ended.spread(),
            back=self._back,
            reverts=self._reverts,
            unchanged=self._unchanged,
            followed=self._followed,
        )
