"""What plays one job: the agents, doors and protocol of a run, in the process that plays.

Each process that plays has one `Worker`; it is given jobs, several at once, by whatever schedules them (`executors/`).
What is finished in the run directory is taken from there; an episode that was interrupted is played again from its
journal; journals and results are written here. An episode that fails is told of, what no call can mend is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from amemgym.evaluate.deadline import within
from amemgym.evaluate.examine import Seat
from amemgym.evaluate.failed import boundary_of, said
from amemgym.evaluate.jobs import Ended, Failed, Finished, Job
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.play import play, turns
from amemgym.evaluate.players import Players, in_play, needs_endpoint
from amemgym.evaluate.reference import play_reference
from amemgym.evaluate.results import EpisodeResult, UpperBoundResult
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.spec import RunSpec
from amemgym.evaluate.upperbound import bound_names, measure
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import EVOLVE, Budget, Doors, Gateway, Line, ModelSettings, Slots, Stopwatch, reach
from amemgym.llm.prices import PriceList
from amemgym.scenario import Dataset, Scenario
from amemgym.tasks import prompts_for
from amemgym.together import side_by_side, wait_for


@dataclass(frozen=True)
class Setup:
    """How a run is played, but for its data: `model` and `user_model` say how the models are reached, `prices` what a
    budget in US dollars goes by."""

    spec: RunSpec
    agents: Sequence[AgentSpec]
    model: ModelSettings
    user_model: ModelSettings
    rules: Rules
    prices: PriceList

    def bounds(self) -> dict[str, ModelSettings]:
        """The models whose upper bound is wanted, by the name that the run has for each."""
        return dict(bound_names(self.agents, self.model).values()) if self.spec.upper_bound else {}


class Worker:
    """Plays jobs of one run in this process.

    Args:
        setup: how to play.
        dataset: all users of the run; a job names one by its number.
        directory: where everything is written.
        watcher: is told what happens.
        recorded: conversations that the agents are given instead of having their own (off-policy).
        coachings: who tells an agent what to remember, by agent.
        budget: what may be spent, where it is that of several runs together.
    """

    def __init__(
        self,
        setup: Setup,
        dataset: Dataset,
        directory: RunDirectory,
        watcher: RunWatcher,
        recorded: Recorded | None = None,
        coachings: Coachings | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._setup = setup
        self._spec = setup.spec
        self._dataset = dataset
        self._directory = directory
        self._watcher = watcher
        self._recorded = recorded
        self._coachings = coachings or {}
        self._agents = {agent.name: agent for agent in setup.agents}
        self._bounds = setup.bounds()
        self._prompts = prompts_for(setup.spec.language)
        self._doors = Doors(
            setup.spec.limits(),
            watcher,
            budget=budget or setup.spec.spending(),
            rates=setup.prices.rate,
        )
        self._players = Players(setup.spec, setup.model, self._doors)
        # a copy of an agent holds a whole memory, so only as many are made as can be asked, and prepared, at once
        self._room = Slots(2 * setup.spec.concurrency)

    def check_budget(self) -> None:
        """Raises UsageError where a budget in US dollars cannot be kept, as a model's price is not known."""
        for settings in self._needed():
            self._doors.rate(settings)

    def _needed(self) -> list[ModelSettings]:
        """Every model that the run may ask."""
        playing = [agent.model or self._setup.model for agent in self._setup.agents if not agent.is_reference]
        users = [self._setup.user_model] if playing and not self._recorded else []
        return [*playing, *users, *self._bounds.values()]

    def check(self) -> None:
        """Raises UsageError or UnknownName where a model that is needed cannot be called, a ModelError where an
        assistant does not answer at its address; writes nothing."""
        for settings in self._needed():
            self._doors.to(settings)
        if any(needs_endpoint(agent) for agent in self._setup.agents):
            Gateway.check()
        boxes = [agent.model for agent in self._setup.agents if agent.is_box and agent.model]
        if boxes:
            wait_for(lambda: side_by_side(reach(box) for box in boxes))

    def begin(self, run_name: str) -> list[Line]:
        """Play begins; `run_name` tells this run's episodes from another's wherever they meet. Returns the lines that
        coaches ask at, which whoever began closes."""
        self._players.run_name = run_name
        lines = []
        for agent in self._setup.agents:
            if agent.name in self._coachings:
                line = Line(self._directory.coaching_journal(agent.name), self._prompts)
                door = self._doors.to(agent.model or self._setup.model)
                self._coachings[agent.name].begin(line, line.model(door, EVOLVE))
                lines.append(line)
        return lines

    def had_replies(self) -> None:
        """What was finished elsewhere shows that the models answer."""
        self._doors.had_replies()

    async def play(self, job: Job) -> Ended:
        """Play a job, or take what was played before; what ends it alone is told, what would end every other one too
        is raised."""
        try:
            return Finished(job, await (self._episode(job) if job.agent else self._upper_bound(job)))
        except (FatalModelError, StorageError, UsageError, RunDirectoryError):
            raise
        except Exception as error:  # also code from elsewhere: a memory's, a plug-in's
            told = said(error)
            if job.agent in self._coachings:  # the others wait for what it would have learned
                if isinstance(error, AMemGymError):
                    raise
                raise AgentFailed(f"{job.name}: {told}") from error
            named = told if isinstance(error, AgentFailed) else f"{job.name}: {told}"
            silence = error.silence if isinstance(error, EndpointUnavailable) else None
            return Failed(job, boundary_of(error), told, named, silence)

    async def aclose(self) -> None:
        """Let go of what was opened to play."""
        await self._players.aclose()
        await self._doors.aclose()

    async def _episode(self, job: Job) -> EpisodeResult:
        agent, scenario = self._agents[job.agent], self._dataset.scenarios[job.user]
        result = self._directory.episode(agent.name, scenario.id, job.trial)
        if result is not None:
            if agent.name in self._coachings:
                await tell_of(self._coachings[agent.name].coach(scenario), result)
            self._watcher.turned(sum(len(turns(s)) for period in result.conversation for s in period))
            self._watcher.examined(len(result.exams) + (0 if agent.is_reference else len(result.probes)))
            self._doors.had_replies()
        else:
            async with within(self._spec.episode_timeout) as stopwatch:
                result = await self._play(agent, job.user, scenario, job.trial, stopwatch)
            self._directory.write_episode(result)
        self._directory.rest_journal(agent.name, scenario.id, job.trial)
        return result.without_texts()

    async def _play(
        self, agent: AgentSpec, user: int, scenario: Scenario, trial: int, stopwatch: Stopwatch | None
    ) -> EpisodeResult:
        if agent.is_reference:
            result = play_reference(
                agent.name, user, scenario, trial, self._setup.rules, self._spec.seed, probing=self._spec.probe
            )
            self._watcher.examined(len(result.exams))
            return result
        line = Line(self._directory.journal(agent.name, scenario.id, trial), self._prompts, stopwatch)
        player = await self._players.seat(agent, scenario, trial, line)
        async with in_play(player, line):
            # off-policy, nobody plays the user, so no other model has to be reached
            user_model = (agent.model or self._setup.model) if self._recorded else self._setup.user_model
            episode = Episode(line.model(self._doors.to(user_model), "user"), self._setup.rules)
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
                room=self._room,
            )

    def _coach(self, agent: AgentSpec, scenario: Scenario) -> Coach | None:
        if agent.name in self._coachings:
            return self._coachings[agent.name].coach(scenario)
        return Schedule(agent.policies) if len(agent.policies) > 1 else None

    async def _upper_bound(self, job: Job) -> UpperBoundResult:
        scenario = self._dataset.scenarios[job.user]
        result = self._directory.upper_bound(job.bound, scenario.id)
        if result is not None:
            self._watcher.examined(len(result.answers))
            self._doors.had_replies()
            self._directory.rest_upper_bound_journal(job.bound, scenario.id)
            return result
        line = Line(self._directory.upper_bound_journal(job.bound, scenario.id), self._prompts)
        try:
            asked = line.model(self._doors.to(self._bounds[job.bound]), "upper bound")
            result = await measure(
                job.bound,
                job.user,
                scenario,
                asked,
                line,
                self._setup.rules,
                self._spec.seed,
                self._watcher,
                self._room,
            )
        finally:
            line.journal.close()
        self._directory.write_upper_bound(result)
        self._directory.rest_upper_bound_journal(job.bound, scenario.id)
        return result
