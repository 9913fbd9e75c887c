"""The Python face of tuning: `tune` searches an agent's settings on training users and measures on held-out ones."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.agents import AgentSpec, is_agent_file, parse_agent, read_policy
from amemgym.api import RunReport, continue_with, raise_for_failures, run_spec
from amemgym.errors import UsageError
from amemgym.evaluate import FREE_SETTINGS, SHARED_SETTINGS, Run, RunDirectory, RunSpec, make_spec
from amemgym.evaluate.claimed import default_directory, made_manifest
from amemgym.generate import load_dataset
from amemgym.planning import RunPlan, plan_run
from amemgym.report.tuning import markdown
from amemgym.scenario import Dataset, Split, place_of_data, split_users
from amemgym.scores import results_of
from amemgym.scores.comparison import Played
from amemgym.search.ask import Asker, check_optuna
from amemgym.search.grid import Configuration, Grid, make_grid
from amemgym.search.halving import Bill, Rung, bill, make_rungs
from amemgym.search.place import TuneDirectory
from amemgym.search.results import (
    AtRung,
    Trial,
    compare_held_out,
    described,
    described_pair,
    described_rungs,
    held_out_side,
    promoted,
    verdict_of,
)
from amemgym.search.spec import TuneSpec, make_tune_spec
from amemgym.search.watch import Quiet, TuneWatcher

#: how to go on with what was interrupted
WAY_ON = "the same command again"


@dataclass(frozen=True, repr=False)
class TuneReport:
    """A search's summary (as in tune.json), its directory, and the files of its result."""

    summary: dict[str, Any]
    directory: Path
    written: tuple[Path, ...] = ()

    @property
    def best(self) -> dict[str, Any]:
        """The best configuration: its agent's name, settings, and the command that plays it."""
        found: dict[str, Any] = self.summary["best"]
        return found

    @property
    def held_out(self) -> dict[str, Any]:
        """What it does on held-out users, beside the agent as it was named."""
        found: dict[str, Any] = self.summary["held_out"]
        return found

    def __repr__(self) -> str:
        return f"TuneReport({self.best['agent']}: {self.held_out['verdict']}; {self.directory})"


def tune(
    agent: str = "awe",
    data: str | Path | Dataset = "starter",
    model: str = "offline",
    *,
    out: str | Path | None = None,
    watcher: TuneWatcher | None = None,
    **settings: Any,
) -> TuneReport:
    """Search an agent's settings on training users, and measure the best on held-out ones.

    Args:
        agent: its name; as named, it is what the best is compared with.
        data: a name or path, or a data set loaded from one.
        model: the assistants' model: `offline`, or `openai:<name>`.
        out: the search's directory; where it holds the same search, that is continued.
        watcher: is told what happens.
        settings: lists of choices (freq, n_s, topk, policies, rooms; None in the last two is the agent's own), how much
            is tried (trials, training, rungs, eta), and fields of `RunSpec` such as users, periods and seed.

    Raises:
        AMemGymError: one of `amemgym.errors`; RunFailed where episodes did not finish (the others are kept).
    """
    spec, run = make_tune_spec({"agent": agent, "data": place_of_data(data), "model": model, **settings})
    return tune_spec(spec, run, out=out, watcher=watcher)


def tune_spec(
    spec: TuneSpec, run: RunSpec, *, out: str | Path | None = None, watcher: TuneWatcher | None = None
) -> TuneReport:
    """The same from the two specs."""
    check_optuna()
    return _Tuning(spec, run, watcher or TuneWatcher()).done(out)


class _Tuning:
    """One search: what it is made of is found and checked first, then it is played."""

    def __init__(self, spec: TuneSpec, run: RunSpec, watcher: TuneWatcher) -> None:
        self._spec, self._run, self._watcher = spec, run, watcher
        self._quiet = Quiet(watcher)
        agent = _agent(spec.agent, run)
        self._start, self._grid = make_grid(spec, agent)
        self._dataset = load_dataset(run.data).limited(run.users)
        self._split = split_users(self._dataset, spec.training, run.seed)
        self._plan = plan_run(self._of(self._start), self._quiet, dataset=self._dataset)
        data = self._plan.dataset
        # the agent as named is a trial too where it is none of the choices, as what it is to be better than
        self._beside = self._grid.places(self._start) is None
        self._count = max(1, min(spec.trials - self._beside, self._grid.size)) + self._beside
        self._rungs = make_rungs(data, self._split.training, self._count, spec.rungs, spec.eta, run.seed)
        self._manifest = _manifest(self._grid, self._split, self._rungs, self._plan)

    def done(self, out: str | Path | None) -> TuneReport:
        """Play what is not played yet, and write the result."""
        name = self._dataset.name
        directory = TuneDirectory(out or default_directory("tune", name, self._manifest["fingerprint"]))
        if not directory.is_claimed:
            plan = self._plan
            played = (plan.dataset, plan.agents, plan.model, plan.user_model, plan.rules)
            Run(self._of(self._start), *played, RunDirectory(directory.path), self._quiet).check()
        with directory.held():
            directory.claim(self._manifest)
            self._watcher.begins(directory.path)
            self._announce()
            trials = self._search(directory)
            best = min((t for t in trials if len(t.results) == len(self._rungs)), key=lambda trial: trial.order)
            summary = self._summary(trials, best, self._held_out(directory, best.configuration))
            written = (directory.write_summary(summary), directory.write_report(markdown(summary)))
        return TuneReport(summary, directory.path, written)

    def _of(self, configuration: Configuration, **more: Any) -> RunSpec:
        return configuration.run(self._run, self._spec.agent, **{"users": None, **more})

    def _announce(self) -> None:
        rungs, held_out = self._rungs, self._split.held_out
        asked = bill(self._plan.dataset, rungs, held_out, self._plan.rules)
        self._watcher.searching(asked.exams + asked.taken)
        if self._count < self._spec.trials:
            self._watcher.said(f"there are {self._count} configurations, so all are tried")
        self._watcher.said(estimate(rungs, held_out, asked))

    def _search(self, directory: TuneDirectory) -> list[Trial]:
        """Every trial, with what it scored at the rungs it reached."""
        asker = Asker(self._grid, self._start, self._count - self._beside, self._run.seed)
        trials: list[Trial] = []
        for number in range(self._count):
            named = self._beside and number == 0
            trial = Trial(number, self._start if named else asker.ask())
            self._play(directory, trial, 0)
            if not named:
                asker.tell(trial.results[0].accuracy)
            trials.append(trial)
        going = trials
        for rung in range(1, len(self._rungs)):
            going = promoted(going, self._rungs[rung].configurations)
            for trial in going:
                self._play(directory, trial, rung)
        return trials

    def _play(self, directory: TuneDirectory, trial: Trial, rung: int) -> None:
        """Play a trial at a rung: an ordinary run, which takes over what was asked at the rung before."""
        budget = self._rungs[rung]
        spec = self._of(trial.configuration, only=budget.users, periods=budget.periods, upper_bound=False, probe=False)
        before = directory.trial(trial.number, rung - 1) if rung else None
        report = self._report_of(spec, directory.trial(trial.number, rung), before)
        (scores,) = report.scores["agents"].values()
        interval = scores["interval"]
        result = AtRung(
            len(budget.users),
            budget.periods,
            scores["overall"],
            scores["n"],
            (interval[0], interval[1]) if interval else None,
        )
        trial.results.append(result)
        shown = "no answer" if result.accuracy is None else f"{result.accuracy:.3f} (n {result.n})"
        self._watcher.tried(trial.configuration.told(self._spec.agent), f"rung {rung + 1}: {shown}")

    def _held_out(self, directory: TuneDirectory, best: Configuration) -> dict[str, Any]:
        """The agent as named and the best configuration on the held-out users, and their difference."""
        only = {"only": self._split.held_out, "periods": self._held_out_periods()}
        start = self._report_of(self._of(self._start, **only), directory.start, None)
        sides = {"start": held_out_side(start.scores, "heldout/start")}
        warnings, pair = [*start.scores["warnings"]], None
        if best != self._start:
            # the upper bound is the model's, whoever plays
            report = self._report_of(self._of(best, **only), directory.best, directory.start)
            sides["best"] = held_out_side(report.scores, "heldout/best")
            pair = compare_held_out(_results_of(directory.start), _results_of(directory.best))
            warnings += report.scores["warnings"]
        return {"verdict": verdict_of(pair), **sides, "pair": described_pair(pair), "warnings": _distinct(warnings)}

    def _held_out_periods(self) -> int | None:
        """As many as are wanted, or as the held-out users have, where that is fewer."""
        longest = max(len(scenario.periods) for scenario in self._plan.dataset.only(self._split.held_out))
        return None if self._run.periods is None else longest

    def _report_of(self, spec: RunSpec, out: Path, journals: Path | None) -> RunReport:
        report = run_spec(spec, out=out, watcher=self._quiet, dataset=self._dataset, journals=journals, way_on=WAY_ON)
        raise_for_failures(report, WAY_ON)
        return report

    def _summary(self, trials: Sequence[Trial], best: Trial, held_out: dict[str, Any]) -> dict[str, Any]:
        manifest, name, split = self._manifest, self._spec.agent, self._split
        return {
            "format": manifest["format"],
            "fingerprint": manifest["fingerprint"],
            "data": {"name": self._dataset.name, "sha256": self._dataset.sha256},
            "model": manifest["compared"]["model"]["model"],
            "seed": self._run.seed,
            "agent": name,
            "searched": {setting: list(values) for setting, values in self._grid.choices.items()},
            "configurations": self._grid.size + self._beside,
            "rungs": described_rungs(self._rungs),
            "users": {"training": list(split.training), "held_out": list(split.held_out)},
            "trials": [described(name, trial) for trial in trials],
            "best": {
                "trial": best.number,
                "agent": best.configuration.agent(name),
                **best.configuration.as_dict(),
                "command": command(best.configuration, name, self._run),
            },
            "held_out": held_out,
        }


def estimate(rungs: Sequence[Rung], held_out: Sequence[str], asked: Bill) -> str:
    """What a search takes at most, as a sentence."""
    steps = [
        f"{r.configurations} configurations on {_count(len(r.users), 'user')} × {r.periods} periods" for r in rungs
    ]
    return (
        f"at most {_count(asked.episodes, 'episode')}, {asked.turns:,} user turns and {asked.exams:,} exams, probes and"
        f" upper-bound questions: {', then '.join(steps)}, then 2 on {_count(len(held_out), 'held-out user')}"
    )


def command(configuration: Configuration, agent: str, run: RunSpec) -> str:
    """The command that plays a configuration on the whole data, by the settings that are not as they come."""
    given: dict[str, Any] = {"agents": configuration.agent(agent)}
    given |= {"policy": configuration.policy, "room": configuration.room}
    plain = make_spec({})
    changing = [name for name in SHARED_SETTINGS if name not in FREE_SETTINGS]
    given |= {n: value for n in changing if (value := getattr(run, n)) != getattr(plain, n)}
    words = [w for n, v in given.items() if v is not None for w in (f"--{n.replace('_', '-')}", str(v))]
    return shlex.join(["amemgym", "run", *words])


def interrupted(directory: Path) -> str:
    """The sentence that an interrupt ends with."""
    return continue_with("interrupted.", directory, WAY_ON)


def _agent(name: str, run: RunSpec) -> AgentSpec:
    if is_agent_file(name):
        raise UsageError(
            f"agent '{name}' is a file with settings of its own; name the agent, such as awe or awe-2-4-30"
        )
    return parse_agent(name, run.context_tokens, run.timeout)


def _manifest(grid: Grid, split: Split, rungs: Sequence[Rung], plan: RunPlan) -> dict[str, Any]:
    """What is searched, and everything that can change what comes of it."""
    of_run = dict(plan.manifest["compared"])
    (agent,) = of_run.pop("agents")
    for name in ("trials", "upper_bound", "probe", "off_policy"):
        del of_run[name]  # the same in every search
    choices = {
        name: [_digest(value) if name == "policy" else value for value in values]
        for name, values in grid.choices.items()
    }
    alone = {name: getattr(grid.start, name) for name in ("freq", "n_s", "topk", "room") if name not in choices}
    alone |= {} if "policy" in choices else {"policy": _digest(grid.start.policy)}
    compared = {
        **of_run,
        "agent": agent,
        **{name: choices.get(name, alone.get(name)) for name in ("freq", "n_s", "topk", "policy", "room")},
        "trials": rungs[0].configurations,
        "training": list(split.training),
        "rungs": [{"configurations": r.configurations, "users": list(r.users), "periods": r.periods} for r in rungs],
        "optuna": version("optuna"),
    }
    return made_manifest(TuneDirectory.what, compared, {}) | {"data": plan.manifest["data"]}


def _digest(policy: str | None) -> str | None:
    return None if policy is None else files.sha256(read_policy(policy).encode("utf-8", "surrogatepass"))


def _results_of(path: Path) -> Played:
    directory = RunDirectory(path)
    return Played(directory.manifest(), results_of(directory))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _distinct(sentences: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(sentences))
