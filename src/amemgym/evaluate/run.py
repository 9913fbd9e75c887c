"""The run: agents × users × trials as episodes played side by side, and the upper bound of each model beside them.

What is finished in the run directory is taken from there; an episode that was interrupted is played again from its
journal. An episode that fails leaves the others alone; what no call can mend (a wrong key, a full disk) stops the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from amemgym import files
from amemgym.agents import AgentSpec
from amemgym.env import Episode, Rules
from amemgym.errors import (
    AgentFailed,
    AMemGymError,
    EndpointUnavailable,
    FatalModelError,
    RunDirectoryError,
    StorageError,
    UsageError,
)
from amemgym.evaluate.coach import Coach, Coachings, Schedule, tell_of
from amemgym.evaluate.examine import Seat
from amemgym.evaluate.failed import FailedEpisode, FailedEpisodes, boundary_of, said
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.play import play, turns
from amemgym.evaluate.players import Players, in_play, needs_endpoint
from amemgym.evaluate.reference import play_reference
from amemgym.evaluate.results import EpisodeResult, UpperBoundResult
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.spec import RunSpec
from amemgym.evaluate.upperbound import bound_names, measure, variants_of
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import Doors, Gateway, Line, ModelSettings, reach
from amemgym.scenario import Dataset, Scenario
from amemgym.tasks import prompts_for
from amemgym.together import first_failure, side_by_side, wait_for


@dataclass
class RunOutcome:
    """A sentence for each episode or upper bound that was not finished; the others are where results are kept."""

    failures: list[str] = field(default_factory=list)
    # why the run stopped before its end
    stopped: Exception | None = None


class Keeper(Protocol):
    """Takes in what is finished, as it comes: the run itself keeps nothing of it."""

    def episode(self, result: EpisodeResult, scenario: Scenario) -> None: ...

    def upper_bound(self, result: UpperBoundResult) -> None: ...


@dataclass(frozen=True)
class _Job:
    """Whose episode a job is, or whose upper bound (then `agent` is "")."""

    agent: str
    user: int
    user_id: str
    trial: int | None = None

    @property
    def name(self) -> str:
        if not self.agent:
            return f"upper bound, user {self.user}"
        return f"agent '{self.agent}', user {self.user}" + ("" if self.trial is None else f", trial {self.trial}")


class Run:
    """One run over a claimed directory.

    Args:
        spec: how to play.
        dataset: what to play, already limited to the users and periods wanted.
        agents: who plays.
        model, user_model: how the models are reached.
        rules: the protocol.
        directory: where everything is written.
        watcher: is told what happens.
        recorded: conversations that the agents are given instead of having their own (off-policy).
        coachings: who tells an agent what to remember, by agent. Their episodes wait for each other, so all are under
            way at once, and the first that fails ends the run.
        part_of: the directory of an undertaking of several runs, which is what is continued where this run ends early.
        keeper: is handed what is finished.
    """

    def __init__(
        self,
        spec: RunSpec,
        dataset: Dataset,
        agents: Sequence[AgentSpec],
        model: ModelSettings,
        user_model: ModelSettings,
        rules: Rules,
        directory: RunDirectory,
        watcher: RunWatcher,
        recorded: Recorded | None = None,
        coachings: Coachings | None = None,
        part_of: Path | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self._keeper = keeper
        self._spec = spec
        self._recorded = recorded
        self._coachings = coachings or {}
        self._part_of = part_of
        self.dataset = dataset
        self._agents = agents
        self._model = model
        self._user_model = user_model
        self._rules = rules
        self.directory = directory
        self._watcher = watcher
        self._prompts = prompts_for(spec.language)
        self._bounds = list(bound_names(agents, model).values()) if spec.upper_bound else []
        self._doors = Doors(spec.limits(), watcher)
        self._players = Players(spec, model, self._doors)
        self._failed = FailedEpisodes(directory.path)
        self._outcome = RunOutcome()

    def check(self) -> None:
        """Raises UsageError or UnknownName where a model that is needed cannot be called, a ModelError where an
        assistant does not answer at its address; writes nothing."""
        playing = [agent.model or self._model for agent in self._agents if not agent.is_reference]
        users = [self._user_model] if playing and not self._recorded else []
        for settings in (*playing, *users, *(model for _, model in self._bounds)):
            self._doors.to(settings)
        if any(needs_endpoint(agent) for agent in self._agents):
            Gateway.check()
        boxes = [agent.model for agent in self._agents if agent.is_box and agent.model]
        if boxes:
            wait_for(lambda: side_by_side(reach(box) for box in boxes))

    async def play(self) -> RunOutcome:
        """Play everything that is not finished. What stopped it early, and what failed, is in the outcome."""
        self._announce()
        # the same run in two folders is two runs to a server that both use
        folder = files.sha256(str(self.directory.path.resolve()).encode("utf-8", "surrogatepass"))
        self._players.run_name = f"{str(self.directory.manifest()['fingerprint'])[:8]}-{folder[:6]}"
        jobs, lines = self._jobs(), self._begin_coaching()
        episodes = asyncio.Semaphore(len(jobs) if self._coachings else self._spec.concurrency)

        async def one(job: Callable[[], Awaitable[None]], of: _Job) -> None:
            async with episodes:
                await self._guarded(job, of)

        try:
            async with asyncio.TaskGroup() as group:
                for job, of in jobs:
                    group.create_task(one(job, of))
        except BaseExceptionGroup as group_error:
            failure = first_failure(group_error)
            if not isinstance(failure, Exception):
                raise failure from group_error
            self._outcome.stopped = failure
        else:
            for line in lines:
                line.journal.close()
            for name in self._coachings:
                self.directory.rest_coaching_journal(name)
        finally:
            for line in lines:
                line.journal.close()
            await self._players.aclose()
            await self._doors.aclose()
        self._outcome.failures.sort()
        return self._outcome

    def _begin_coaching(self) -> list[Line]:
        """The lines that coaches ask at."""
        lines = []
        for agent in self._agents:
            if agent.name in self._coachings:
                line = Line(self.directory.coaching_journal(agent.name), self._prompts)
                self._coachings[agent.name].begin(line, line.model(self._doors.to(agent.model or self._model), "coach"))
                lines.append(line)
        return lines

    def _announce(self) -> None:
        playing = sum(not agent.is_reference for agent in self._agents)
        exchanges = exams = bounds = 0
        for scenario in self.dataset:
            exchanges += self._exchanges(scenario)
            exams += len(scenario.periods) * len(scenario.qas)
            bounds += len(variants_of(scenario)) * len(self._bounds)
        trials = self._spec.trials
        self._watcher.begins(self._part_of or self.directory.path)
        self._watcher.planned(
            users=len(self.dataset),
            episodes=len(self.dataset) * len(self._agents) * trials,
            turns=exchanges * playing * trials,
            exams=exams * (len(self._agents) + playing * self._spec.probe) * trials + bounds,
        )

    def _exchanges(self, scenario: Scenario) -> int:
        """User messages in one episode, as far as it can be known."""
        if self._recorded is not None:
            return sum(len(turns(s)) for period in self._recorded.of(scenario.id, 0) for s in period)
        return sum(len(p.sessions) * self._rules.rounds(i) for i, p in enumerate(scenario.periods))

    def _jobs(self) -> list[tuple[Callable[[], Awaitable[None]], _Job]]:
        """Users first, so that finished users come early."""
        jobs: list[tuple[Callable[[], Awaitable[None]], _Job]] = []
        for user, scenario in enumerate(self.dataset):
            for bound, model in self._bounds:
                jobs.append((self._upper_bound_job(model, bound, user, scenario), _Job("", user, scenario.id)))
            for trial in range(self._spec.trials):
                for agent in self._agents:
                    of = _Job(agent.name, user, scenario.id, trial if self._spec.trials > 1 else None)
                    jobs.append((self._episode_job(agent, user, scenario, trial), of))
        return jobs

    async def _guarded(self, job: Callable[[], Awaitable[None]], of: _Job) -> None:
        """Do a job; what ends it alone is noted, what would end every other one too is raised."""
        try:
            await job()
        except (FatalModelError, StorageError, UsageError, RunDirectoryError):
            raise
        except Exception as error:  # also code from elsewhere: a memory's, a plug-in's
            if isinstance(error, EndpointUnavailable) and self._doors.is_outage():
                raise
            told = said(error)
            if of.agent in self._coachings:  # the others wait for what it would have learned
                if isinstance(error, AMemGymError):
                    raise
                raise AgentFailed(f"{of.name}: {told}") from error
            self._outcome.failures.append(told if isinstance(error, AgentFailed) else f"{of.name}: {told}")
            if of.agent:
                self._failed.write(
                    FailedEpisode(of.agent, of.user, of.user_id, of.trial or 0, boundary_of(error), told)
                )

    def _episode_job(
        self, agent: AgentSpec, user: int, scenario: Scenario, trial: int
    ) -> Callable[[], Awaitable[None]]:
        async def job() -> None:
            result = self.directory.episode(agent.name, scenario.id, trial)
            if result is not None:
                if agent.name in self._coachings:
                    await tell_of(self._coachings[agent.name].coach(scenario), result)
                self._watcher.turned(sum(len(turns(s)) for period in result.conversation for s in period))
                self._watcher.examined(len(result.exams) + (0 if agent.is_reference else len(result.probes)))
                self._doors.had_replies()
            else:
                result = await self._play(agent, user, scenario, trial)
                self.directory.write_episode(result)
            self.directory.rest_journal(agent.name, scenario.id, trial)
            self._failed.forget(agent.name, scenario.id, trial)
            if self._keeper is not None:
                self._keeper.episode(result, scenario)
            self._watcher.finished(agent.name, scenario.id)

        return job

    async def _play(self, agent: AgentSpec, user: int, scenario: Scenario, trial: int) -> EpisodeResult:
        if agent.is_reference:
            result = play_reference(
                agent.name, user, scenario, trial, self._rules, self._spec.seed, probing=self._spec.probe
            )
            self._watcher.examined(len(result.exams))
            return result
        line = Line(self.directory.journal(agent.name, scenario.id, trial), self._prompts)
        player = await self._players.seat(agent, scenario, trial, line)
        async with in_play(player, line):
            # off-policy, nobody plays the user, so no other model has to be reached
            user_model = (agent.model or self._model) if self._recorded else self._user_model
            episode = Episode(line.model(self._doors.to(user_model), "user"), self._rules)
            seat = Seat(agent.name, user, trial)
            return await play(
                seat,
                scenario,
                player,
                episode,
                line,
                self._spec.seed,
                self._watcher,
                probing=self._spec.probe,
                recorded=self._recorded.of(scenario.id, trial) if self._recorded else None,
                coach=self._coach(agent, scenario),
            )

    def _coach(self, agent: AgentSpec, scenario: Scenario) -> Coach | None:
        if agent.name in self._coachings:
            return self._coachings[agent.name].coach(scenario)
        return Schedule(agent.policies) if len(agent.policies) > 1 else None

    def _upper_bound_job(
        self, model: ModelSettings, name: str, user: int, scenario: Scenario
    ) -> Callable[[], Awaitable[None]]:
        async def job() -> None:
            result = self.directory.upper_bound(name, scenario.id)
            if result is not None:
                self._watcher.examined(len(result.answers))
                self._doors.had_replies()
            else:
                line = Line(self.directory.upper_bound_journal(name, scenario.id), self._prompts)
                try:
                    asked = line.model(self._doors.to(model), "upper bound")
                    result = await measure(
                        name, user, scenario, asked, line, self._rules, self._spec.seed, self._watcher
                    )
                finally:
                    line.journal.close()
                self.directory.write_upper_bound(result)
            self.directory.rest_upper_bound_journal(name, scenario.id)
            if self._keeper is not None:
                self._keeper.upper_bound(result)

        return job
