"""What there is to play, as data: one episode, or one user's upper bound; and how playing it ended.

A job names everything by number and id, so that it means the same in every process that has the run directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from amemgym.agents import AgentSpec
from amemgym.evaluate.results import EpisodeResult, UpperBoundResult
from amemgym.scenario import Scenario


@dataclass(frozen=True)
class Job:
    """An episode of `agent`, or (where that is "") the upper bound of the model that the run calls `bound`.

    `user` is the user's number in the whole data of the run, `trial` one of `trials`, from 0.
    """

    user: int
    user_id: str
    agent: str = ""
    trial: int = 0
    trials: int = 1
    bound: str = ""

    @property
    def name(self) -> str:
        """What an error calls it."""
        if not self.agent:
            return f"upper bound, user {self.user}"
        return f"agent '{self.agent}', user {self.user}" + (f", trial {self.trial}" if self.trials > 1 else "")


@dataclass(frozen=True)
class Finished:
    """A job that was played to its end, or had been before. An episode comes without its texts, which are on disk."""

    job: Job
    result: EpisodeResult | UpperBoundResult


@dataclass(frozen=True)
class Failed:
    """A job that ended alone: at which boundary (see `FailedEpisode`), and why; `told` also says whose job it was.
    `silence` where that was a model that could not be reached (see EndpointUnavailable)."""

    job: Job
    boundary: str
    error: str
    told: str
    silence: tuple[str, int] | None = None


Ended: TypeAlias = Finished | Failed


def jobs_of(
    users: Sequence[tuple[int, Scenario]], agents: Sequence[AgentSpec], bounds: Sequence[str], trials: int
) -> list[Job]:
    """Everything there is to play; users first, so that finished users come early."""
    jobs = []
    for user, scenario in users:
        jobs += [Job(user, scenario.id, bound=bound) for bound in bounds]
        jobs += [Job(user, scenario.id, agent.name, trial, trials) for trial in range(trials) for agent in agents]
    return jobs
