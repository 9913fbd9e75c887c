"""Which users stand for all in a rehearsal: spread evenly by size, each for the users of about its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amemgym.env import Rules
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.play import turns
from amemgym.evaluate.upperbound import variants_of
from amemgym.scenario import Scenario


@dataclass(frozen=True)
class Size:
    """What decides how much a user's episode asks: user messages, those of them that follow up, exam questions over all
    periods, and the variants of the upper bound."""

    turns: int
    follow_ups: int
    exams: int
    variants: int

    def of(self, role: str) -> int:
        """What decides how often a role is asked."""
        if role in ("exam", "probe", "probe embedding"):
            return self.exams
        return {"user": self.follow_ups, "upper bound": self.variants}.get(role, self.turns)


@dataclass(frozen=True)
class Stratum:
    """Users of about a size; `member` stands for them."""

    member: Scenario
    size: Size
    others: tuple[Size, ...]

    def scale(self, role: str) -> float:
        """How many times the member's share of a role all of them together have."""
        own = self.size.of(role)
        return sum(size.of(role) for size in self.others) / own if own else float(len(self.others))

    @property
    def longest(self) -> float:
        """How many times as long as the member's the longest conversation is."""
        return max(size.turns for size in self.others) / max(1, self.size.turns)


def size_of(scenario: Scenario, rules: Rules, recorded: Recorded | None) -> Size:
    """A user's size."""
    said = sum(len(period.sessions) * rules.rounds(number) for number, period in enumerate(scenario.periods))
    sessions = sum(len(period.sessions) for period in scenario.periods)
    exams = len(scenario.periods) * len(scenario.qas)
    if recorded is not None:
        said = sum(len(turns(session)) for period in recorded.of(scenario.id, 0) for session in period)
        sessions = said  # nobody plays the user
    return Size(said, said - sessions, exams, len(variants_of(scenario)))


def strata(scenarios: Sequence[Scenario], most: int, rules: Rules, recorded: Recorded | None = None) -> list[Stratum]:
    """At most so many strata, as equal in number as can be; the member is the one in the middle."""
    sized = [(size_of(scenario, rules, recorded), place) for place, scenario in enumerate(scenarios)]
    sized.sort(key=lambda one: (one[0].turns, one[0].exams, one[0].variants, one[1]))
    count = min(most, len(sized))
    found = []
    for number in range(count):
        group = sized[number * len(sized) // count : (number + 1) * len(sized) // count]
        size, place = group[len(group) // 2]
        found.append(Stratum(scenarios[place], size, tuple(one for one, _ in group)))
    return found
