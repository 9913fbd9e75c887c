"""The run: agents × users × trials as episodes played side by side, and the upper bound of each model beside them.

A run is a list of jobs (`jobs.py`), each played by a worker (`worker.py`), in this process or in those of a cluster
(`executors/`). The run itself holds the directory, keeps what failed, and gathers what is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from amemgym import files
from amemgym.agents import AgentSpec
from amemgym.env import Rules
from amemgym.errors import EndpointDown, UsageError
from amemgym.evaluate.coach import Coachings
from amemgym.evaluate.executors import play_here
from amemgym.evaluate.failed import FailedEpisode, FailedEpisodes
from amemgym.evaluate.jobs import Ended, Failed, Job, jobs_of
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.play import turns
from amemgym.evaluate.results import EpisodeResult, UpperBoundResult
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.shard import users_of
from amemgym.evaluate.spec import RunSpec
from amemgym.evaluate.upperbound import variants_of
from amemgym.evaluate.watch import RunWatcher
from amemgym.evaluate.worker import Setup, Worker
from amemgym.llm import Budget, ModelSettings
from amemgym.llm.prices import PriceList
from amemgym.scenario import Dataset, Scenario


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


class Run:
    """One run over a claimed directory.

    Args:
        spec: how to play.
        dataset: the run's users, already limited to those and the periods wanted; a shard plays some of them.
        agents: who plays.
        model, user_model: how the models are reached.
        rules: the protocol.
        directory: where everything is written.
        watcher: is told what happens.
        recorded: conversations that the agents are given instead of having their own (off-policy).
        coachings: who tells an agent what to remember, by agent. Their episodes wait for each other, so all are under
            way at once, and the first that fails ends the run.
        part_of: the directory of an undertaking of several runs, which is what is continued where this run ends early.
        budget: what may be spent, where it is that of several runs together; else the spec says it.
        prices: what a budget in US dollars goes by.
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
        budget: Budget | None = None,
        prices: PriceList | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self._keeper = keeper
        self._spec = spec
        self._recorded = recorded
        self._coached = tuple(coachings or ())
        self._part_of = part_of
        self.dataset = dataset
        self._agents = agents
        self._rules = rules
        self.directory = directory
        self._watcher = watcher
        self._setup = Setup(spec, agents, model, user_model, rules, prices or PriceList.read(None))
        self._bounds = list(self._setup.bounds())
        self._users = users_of(dataset, spec.shard)
        self._worker = Worker(self._setup, dataset, directory, watcher, recorded, coachings, budget)
        self._failed = FailedEpisodes(directory.path)
        self._unreached: list[Failed] = []
        self._outcome = RunOutcome()

    def check_budget(self) -> None:
        """Raises UsageError where a budget in US dollars cannot be kept, as a model's price is not known."""
        self._worker.check_budget()

    def check(self) -> None:
        """Raises UsageError or UnknownName where a model that is needed cannot be called, a ModelError where an
        assistant does not answer at its address; writes nothing."""
        if self._spec.executor == "ray":
            from amemgym.evaluate.executors.cluster import check_ray  # not installed, or not wanted, by most

            if self._coached:
                raise UsageError(
                    "--executor ray: episodes that are coached wait for each other, so one process plays them; leave"
                    " --executor out"
                )
            check_ray()
        self._worker.check()

    async def play(self) -> RunOutcome:
        """Play everything that is not finished. What stopped it early, and what failed, is in the outcome."""
        self._announce()
        # the run is over when its last conversation is, so the longest are begun first
        users = sorted(self._users, key=lambda numbered: -self._exchanges(numbered[1]))
        jobs = jobs_of(users, self._agents, self._bounds, self._spec.trials)
        try:
            await (self._play_on_ray(jobs) if self._spec.executor == "ray" else self._play_here(jobs))
        except Exception as failure:
            self._outcome.stopped = failure
            self._take_back(failure)
        self._outcome.failures.sort()
        return self._outcome

    async def _play_here(self, jobs: Sequence[Job]) -> None:
        lines = self._worker.begin(self._run_name())
        try:
            await play_here(self._worker, jobs, len(jobs) if self._coached else self._spec.concurrency, self._take)
        finally:
            for line in lines:
                line.journal.close()
            await self._worker.aclose()
        for name in self._coached:
            self.directory.rest_coaching_journal(name)

    async def _play_on_ray(self, jobs: Sequence[Job]) -> None:
        from amemgym.evaluate.executors.ray import play_on_ray

        await play_on_ray(
            self._setup, self.directory, self._run_name(), jobs, self._take, self._watcher, self._recorded
        )

    def _run_name(self) -> str:
        # the same run in two folders is two runs to a server that both use
        folder = files.sha256(str(self.directory.path.resolve()).encode("utf-8", "surrogatepass"))
        return f"{str(self.directory.manifest()['fingerprint'])[:8]}-{folder[:6]}"

    def _take(self, ended: Ended) -> None:
        """Keep how a job ended. Raises StorageError."""
        job = ended.job
        if isinstance(ended, Failed):
            self._outcome.failures.append(ended.told)
            if ended.silence is not None:
                self._unreached.append(ended)
            if job.agent:
                failed = FailedEpisode(job.agent, job.user, job.user_id, job.trial, ended.boundary, ended.error)
                self._failed.write(failed)
        elif isinstance(ended.result, UpperBoundResult):
            if self._keeper is not None:
                self._keeper.upper_bound(ended.result)
        else:
            self._failed.forget(job.agent, job.user_id, job.trial)
            if self._keeper is not None:
                self._keeper.episode(ended.result, self.dataset.scenarios[job.user])
            self._watcher.finished(job.agent, job.user_id)

    def _take_back(self, failure: Exception) -> None:
        """Where an endpoint is down, what failed in the same silence failed by that: it is only unfinished."""
        if not isinstance(failure, EndpointDown):
            return
        for failed in self._unreached:
            if failed.silence == failure.silence:
                self._outcome.failures.remove(failed.told)
                if failed.job.agent:
                    self._failed.forget(failed.job.agent, failed.job.user_id, failed.job.trial)

    def _announce(self) -> None:
        playing = sum(not agent.is_reference for agent in self._agents)
        exchanges = exams = bounds = 0
        for _, scenario in self._users:
            exchanges += self._exchanges(scenario)
            exams += len(scenario.periods) * len(scenario.qas)
            bounds += len(variants_of(scenario)) * len(self._bounds)
        trials = self._spec.trials
        self._watcher.begins(self._part_of or self.directory.path)
        self._watcher.planned(
            users=len(self._users),
            episodes=len(self._users) * len(self._agents) * trials,
            turns=exchanges * playing * trials,
            exams=exams * (len(self._agents) + playing * self._spec.probe) * trials + bounds,
        )

    def _exchanges(self, scenario: Scenario) -> int:
        """User messages in one episode, as far as it can be known."""
        if self._recorded is not None:
            return sum(len(turns(s)) for period in self._recorded.of(scenario.id, 0) for s in period)
        return sum(len(p.sessions) * self._rules.rounds(i) for i, p in enumerate(scenario.periods))
