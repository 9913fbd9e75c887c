"""evolution.json as it is read: its parts under their names, and what can be worked out from them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from amemgym.clean import clean
from amemgym.scores.verdict import NOT_SHOWN, verdict

Interval = tuple[float, float]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class MemoryScore(Part):
    ratio_of_means: float | None
    mean_of_ratios: float | None
    why_undefined: str | None
    n: int
    intervals: dict[str, Interval | None]


class Curve(Part):
    """One agent on one part of the users."""

    overall: float | None
    n: int
    users: int
    interval: Interval | None
    why_no_interval: str | None
    by_period: tuple[float | None, ...]
    by_period_n: tuple[int, ...]
    by_period_intervals: tuple[Interval | None, ...]
    memory_score: MemoryScore

    @model_validator(mode="after")
    def _even(self) -> Self:
        if not len(self.by_period) == len(self.by_period_n) == len(self.by_period_intervals):
            raise ValueError("its periods are not as many everywhere")
        return self

    def mean(self, period: int) -> dict[str, Any]:
        """{value, n, interval} of a period; a value of None where there is none."""
        if period >= len(self.by_period):
            return {"value": None, "n": 0, "interval": None}
        value, n, interval = self.by_period[period], self.by_period_n[period], self.by_period_intervals[period]
        return {"value": value, "n": n, "interval": interval}

    def means(self) -> list[dict[str, Any]]:
        return [self.mean(period) for period in range(len(self.by_period))]


class Step(Part):
    """What came of one period."""

    period: int
    outcome: Literal["revised", "unchanged", "nothing wrong", "unusable"]
    policy: str
    questions: int
    users: int
    refused: tuple[str, ...]


class Count(Part):
    """What a role asked of a model; `estimated` of so many calls."""

    calls: int
    input: int
    output: int
    estimated: int
    unreadable: dict[str, int]
    #: US dollars; earlier versions did not tell
    usd: float | None = None


class Arm(Part):
    """An agent that learned."""

    feedback: str
    training: Curve
    held_out: Curve
    last: Curve
    start: str
    revisions: tuple[Step, ...]
    used: dict[str, Count]

    @property
    def policies(self) -> tuple[str, ...]:
        """That of each period, and after the last one."""
        return (self.start, *(step.policy for step in self.revisions))

    def periods(self, outcome: str) -> list[int]:
        return [step.period for step in self.revisions if step.outcome == outcome]

    @property
    def cost(self) -> Count:
        """What all revisions took."""
        used = list(self.used.values())
        unreadable: dict[str, int] = {}
        for count in used:
            for status, times in count.unreadable.items():
                unreadable[status] = unreadable.get(status, 0) + times
        calls, told, said, estimated = (
            sum(getattr(count, name) for count in used) for name in ("calls", "input", "output", "estimated")
        )
        dollars = [count.usd for count in used if count.usd is not None]
        usd = sum(dollars) if len(dollars) == len(used) else None
        return Count(calls=calls, input=told, output=said, estimated=estimated, unreadable=unreadable, usd=usd)


class Gain(Part):
    """An arm minus the agent that learned nothing, on held-out users."""

    agent: str
    against: str
    how: str
    n: int
    users: int
    difference: float | None
    interval: Interval | None
    p: float | None
    p_adjusted: float | None
    smallest_p: float | None
    memory_score_difference: float | None
    memory_score_interval: Interval | None

    @property
    def verdict(self) -> str:
        return verdict(self.interval, self.p_adjusted)

    @property
    def is_plain(self) -> bool:
        """Whether the verdict can be seen from the interval alone."""
        return self.interval is not None and (self.verdict != NOT_SHOWN or self.interval[0] <= 0 <= self.interval[1])


class Both(Part):
    training: Curve
    held_out: Curve


class Data(Part):
    name: str
    sha256: str
    training_users: tuple[str, ...]
    held_out_users: tuple[str, ...]


class Random(Part):
    training: float | None
    held_out: float | None


class Protocol(Part):
    name: str
    version: int


class Evolved(Part):
    """The whole of evolution.json."""

    what: Literal["evolution"]
    fingerprint: str
    amemgym: str
    protocol: Protocol
    seed: int
    agent: str
    about: dict[str, Any]
    purpose: str
    room: int | None
    model: str
    user_model: str
    settings: dict[str, Any]
    data: Data
    first_score: Literal["ratio_of_means", "mean_of_ratios"]
    random: Random
    none: Both
    arms: dict[str, Arm]
    gains: tuple[Gain, ...]
    warnings: tuple[str, ...]

    def last(self, arm: str) -> str:
        """What the arm is called that was told the last policy from the beginning."""
        return f"{arm}:last"

    def curves(self) -> list[tuple[str, list[tuple[str, Curve]]]]:
        """By part of the users, each agent's curve under its name."""
        training = [(self.agent, self.none.training), *((name, arm.training) for name, arm in self.arms.items())]
        held_out = [(self.agent, self.none.held_out)]
        for name, arm in self.arms.items():
            held_out += [(name, arm.held_out), (self.last(name), arm.last)]
        return [("training users", training), ("held-out users", held_out)]

    def score(self, curve: Curve) -> tuple[float | None, Interval | None]:
        """The memory score that comes first, and its interval."""
        value: float | None = getattr(curve.memory_score, self.first_score)
        return value, curve.memory_score.intervals.get(self.first_score)

    def whys(self) -> Sequence[str]:
        """Why there are no intervals, each reason once, with the users it is about."""
        found = [
            f"{part}: {c.why_no_interval}" for part, curves in self.curves() for _, c in curves if c.why_no_interval
        ]
        return list(dict.fromkeys(found))


def told(summary: Mapping[str, Any]) -> Evolved:
    """A summary as its parts, without any known key and half character. Raises ValidationError (a ValueError)."""
    return Evolved.model_validate(clean(summary))
