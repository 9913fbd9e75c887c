"""What an agent is told to remember, period by period, while its episode is played.

A `Coach` accompanies one episode: it is asked for the policy before each period, and may be told of each exam. Fixed
policies are a `Schedule`. A `Coaching` is one undertaking over several episodes of an agent (self-evolution), whose
coaches wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from amemgym.evaluate.results import EpisodeResult, ExamResult
from amemgym.llm import Line, Model
from amemgym.scenario import Scenario


@dataclass(frozen=True)
class Examined:
    """An exam's result, and the lines that memory gave back for it."""

    result: ExamResult
    memories: tuple[str, ...]


class Coach(Protocol):
    """Accompanies one episode."""

    async def policy(self, period: int) -> str:
        """What the agent is to remember from the beginning of this period. Raises ModelError."""
        ...

    async def examined(self, period: int, exams: Sequence[Examined]) -> None:
        """The exam after a period was taken. Raises ModelError."""
        ...


class Coaching(Protocol):
    """Coaches for all episodes of one agent."""

    def begin(self, line: Line, model: Model) -> None:
        """Play begins; the model is the agent's, at a line of this coaching's own."""
        ...

    def coach(self, scenario: Scenario) -> Coach: ...


#: by agent
Coachings = Mapping[str, Coaching]


@dataclass(frozen=True)
class Schedule:
    """Policies that are known: one a period, the last for good."""

    policies: tuple[str, ...]

    async def policy(self, period: int) -> str:
        return self.policies[min(period, len(self.policies) - 1)]

    async def examined(self, period: int, exams: Sequence[Examined]) -> None:
        return None


async def tell_of(coach: Coach, episode: EpisodeResult) -> None:
    """Tell a coach of an episode that was finished before."""
    for period in sorted({exam.period for exam in episode.exams}):
        exams = [exam for exam in episode.exams if exam.period == period]
        await coach.examined(period, [Examined(e, tuple(episode.texts[place] for place in e.items)) for e in exams])
