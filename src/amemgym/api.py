"""The Python face: `run`, `resume`, `score`, `write_report`, `compare`, each a plain function over the rooms below."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from amemgym import files
from amemgym.agents import AgentSpec, read_policy
from amemgym.errors import AMemGymError, RunDirectoryError, RunFailed, UnknownName, UsageError
from amemgym.evaluate import (
    Coachings,
    FailedEpisodes,
    Import,
    Keeper,
    Run,
    RunDirectory,
    RunSpec,
    RunWatcher,
    default_directory,
    import_directory,
    make_spec,
    priced_models,
)
from amemgym.evaluate.claimed import kind_of
from amemgym.evaluate.playeddata import are_played
from amemgym.evolution import EVOLUTION
from amemgym.generate import load_dataset
from amemgym.llm import Budget, know_keys
from amemgym.llm.prices import PriceList
from amemgym.memory import Memory
from amemgym.planning import RunPlan, plan_run
from amemgym.scenario import Dataset, place_of_data
from amemgym.scores import OWN_ROLES, Gathering, Results, results_of, summary_of
from amemgym.scores.comparison import Comparison, Played, compare_runs
from amemgym.search.place import TuneDirectory
from amemgym.together import wait_for

#: how a failure of somebody else's code is told
CODE_RAISED = "code raised"


@dataclass(frozen=True, repr=False)
class RunReport:
    """A run's scores (as in scores.json), its directory, and what did not finish."""

    scores: dict[str, Any]
    directory: Path
    failures: tuple[str, ...] = ()
    #: seconds that models took to reply, by agent
    seconds: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, agent: str) -> dict[str, Any]:
        """One agent's scores. Raises UnknownName."""
        if agent not in self.scores["agents"]:
            raise UnknownName("agent of this run", agent, self.scores["agents"])
        found: dict[str, Any] = self.scores["agents"][agent]
        return found

    @property
    def costs(self) -> dict[str, float | None]:
        """US dollars that one user's episode costs, by agent (mean over its finished ones); None where a price is not
        known. What they consist of is in `report[agent]["cost"]`."""
        return {name: agent["cost"]["usd_per_user"] for name, agent in self.scores["agents"].items()}

    def __iter__(self) -> Iterator[str]:
        """The agents' names."""
        return iter(self.scores["agents"])

    def __contains__(self, agent: object) -> bool:
        return agent in self.scores["agents"]

    def __repr__(self) -> str:
        return f"RunReport({', '.join(self)}; {self.directory})"


def run(
    data: str | Path | Dataset | None = None,
    agents: Sequence[str | type[Memory]] | str | type[Memory] | None = None,
    model: str = "offline",
    *,
    out: str | Path | None = None,
    watcher: RunWatcher | None = None,
    **settings: Any,
) -> RunReport:
    """Play a data set against agents and score their memories.

    Args:
        data: a name (`starter`, the default, or `v1.base`), the path of a v1 JSON file, or a data set loaded from one.
        agents: names, addresses (`http:URL`), v1 configuration files, or subclasses of `amemgym.Memory`.
        model: the assistants' model: `offline`, or `openai:<name>`.
        out: the run directory; where it holds the same run, that is continued.
        watcher: is told what happens.
        settings: any other field of `RunSpec`.

    Raises:
        AMemGymError: one of `amemgym.errors`; RunFailed where episodes did not finish (the others are kept).
    """
    spec, classes = asked_for(data, agents, model, settings)
    report = run_spec(spec, out=out, watcher=watcher, classes=classes)
    raise_for_failures(report)
    return report


def asked_for(
    data: str | Path | Dataset | None,
    agents: Sequence[str | type[Memory]] | str | type[Memory] | None,
    model: str,
    settings: Mapping[str, Any],
) -> tuple[RunSpec, dict[str, type[Memory]]]:
    """The run that these arguments of `run` ask for, and the memory classes among its agents by name."""
    given: dict[str, Any] = {"model": model, **settings} | ({} if data is None else {"data": place_of_data(data)})
    classes: dict[str, type[Memory]] = {}
    if agents is not None:
        listed = agents.split(",") if isinstance(agents, str) else [agents] if isinstance(agents, type) else agents
        for agent in listed:
            if not isinstance(agent, str | type):
                raise UsageError(f"agent {agent!r} is neither a name nor a class; give the class, not an instance")
        classes = {agent.__name__: agent for agent in listed if isinstance(agent, type)}
        given["agents"] = tuple(agent.__name__ if isinstance(agent, type) else agent.strip() for agent in listed)
    return make_spec(given), classes


def run_spec(
    spec: RunSpec,
    *,
    out: str | Path | None = None,
    watcher: RunWatcher | None = None,
    classes: dict[str, type[Memory]] | None = None,
    user_key: SecretStr | None = None,
    resuming: bool = False,
    agents: Sequence[AgentSpec] | None = None,
    coachings: Coachings | None = None,
    dataset: Dataset | None = None,
    journals: Path | None = None,
    part_of: Path | None = None,
    way_on: str | None = None,
    budget: Budget | None = None,
    prices: PriceList | None = None,
) -> RunReport:
    """The same from a RunSpec.

    Args:
        classes: memory classes by agent name.
        user_key: the simulated user's key.
        agents: made already, in place of those the spec names.
        coachings: who tells an agent what to remember, by agent.
        dataset: the data set the spec names, where it is loaded already.
        journals: the directory of another run; what its journals hold of agents by these names, and of upper bounds, is
            not asked again where the same call is made at the same place.
        part_of: the directory of an undertaking that this run is a part of, which is what is resumed if it fails.
        way_on: how an error says to go on, if not with `amemgym resume`.
        budget: what may be spent, where it is that of several runs together.
        prices: what a new run is counted by, in place of those the spec names.
    """
    watcher = watcher or RunWatcher()
    plan = plan_run(spec, watcher, classes, user_key, dataset, agents)
    if part_of is not None:
        plan.manifest["part_of"] = kind_of(part_of)
    directory = RunDirectory(out or spec.out or default_directory(plan.manifest))
    if prices is not None:
        plan.manifest["prices"] = prices.described(priced_models(plan.manifest))
        plan = replace(plan, prices=prices)
    if spec.prices is None and directory.is_claimed and (begun := directory.manifest_or_none()):
        plan = replace(plan, prices=PriceList.recorded(begun.get("prices") or plan.manifest["prices"]))
    results = Gathering(plan.manifest)
    run = _run(plan, spec, directory, watcher, coachings, part_of, budget, results)
    run.check_budget()
    if not directory.is_claimed:
        run.check()
    with directory.lock():
        manifest = directory.claim(plan.manifest, resuming)
        if spec.prices is not None and manifest.get("prices") != plan.manifest["prices"]:
            manifest = directory.write_prices(plan.manifest["prices"])
        directory.write_data(plan.dataset)
        if spec.policy is not None:
            directory.write_policy(read_policy(spec.policy))
        if journals is not None:
            directory.take_journals(journals, [agent.name for agent in plan.agents])
        outcome = wait_for(run.play)
        if isinstance(outcome.stopped, AMemGymError) and not isinstance(outcome.stopped, UsageError):
            outcome.stopped.args = (continue_with(str(outcome.stopped), part_of or directory.path, way_on),)
        if outcome.stopped is not None:
            raise outcome.stopped
        report = _report(manifest, results.results(), directory, outcome.failures)
        directory.write_scores(report.scores)
    return report


def check_spec(spec: RunSpec, agents: Sequence[AgentSpec], dataset: Dataset) -> None:
    """Raises what `run_spec` would raise before anything is written, for who writes something before it."""
    plan = plan_run(spec, RunWatcher(), agents=agents, dataset=dataset)
    run = _run(plan, spec, RunDirectory(default_directory(plan.manifest)), RunWatcher())
    run.check_budget()
    run.check()


def _run(
    plan: RunPlan,
    spec: RunSpec,
    directory: RunDirectory,
    watcher: RunWatcher,
    coachings: Coachings | None = None,
    part_of: Path | None = None,
    budget: Budget | None = None,
    keeper: Keeper | None = None,
) -> Run:
    played = (plan.dataset, plan.agents, plan.model, plan.user_model, plan.rules)
    return Run(spec, *played, directory, watcher, plan.recorded, coachings, part_of, budget, plan.prices, keeper)


def resume(directory: str | Path, *, watcher: RunWatcher | None = None, **settings: Any) -> RunReport:
    """Continue the run in a directory: what is finished stays, what was interrupted is played on from its journal.

    `settings` may be those that change no result (`FREE_SETTINGS`: concurrency, timeout, budget …).
    """
    if kind_of(directory) == TuneDirectory.what:
        raise UsageError(f"{directory} holds a tuning; it goes on when it is started again by the same command")
    manifest = RunDirectory(directory).manifest()
    if "imported" in manifest["compared"]:
        raise UsageError(
            f"{directory} holds imported results, so there is nothing to play; score it with: amemgym score {directory}"
        )
    if whole := manifest.get("part_of"):
        above = files.at_home(directory).absolute().parent
        raise UsageError(f"{directory} is a part of the {whole} in {above}; continue that: amemgym resume {above}")
    kept = RunDirectory(directory).policy
    own = {} if kept is None else {"policy": str(kept)}
    spec = make_spec({**manifest["settings"], **own, **settings}, f"{directory}/manifest.json")
    described = {agent["name"]: agent for agent in manifest["compared"]["agents"]}
    for name in spec.agents:
        agent = described.get(name, {})
        if "memory_source" in agent and ":" not in name:
            raise UsageError(
                f"agent '{name}' was handed over as a Python class; continue by calling amemgym.run(...) again with it"
            )
    report = run_spec(spec, out=directory, watcher=watcher, resuming=True)
    raise_for_failures(report)
    return report


def score(directory: str | Path, *, prices: str | Path | None = None, write: bool = True) -> RunReport:
    """Score what is finished in a run directory, and write scores.json anew. Needs neither the data nor a model.

    `prices` is a file of prices to count by from now on, in place of those that the run began with.
    """
    place, played = RunDirectory(directory), _played(directory)
    manifest = dict(played.manifest)
    if prices is not None:
        manifest["prices"] = PriceList.read(prices).described(priced_models(manifest))
    report = _report(manifest, played.results, place)
    if write and prices is not None:
        place.write_prices(manifest["prices"])
    if write:
        place.write_scores(report.scores)
    return report


def write_report(
    run: str | Path | RunReport,
    format: str = "html",
    out: str | Path | None = None,
    users: Sequence[str] | None = None,
    watcher: RunWatcher | None = None,
) -> list[Path]:
    """Write a report of what is finished in a run directory; returns the files written.

    Args:
        run: its directory, or what `run`, `resume`, `score` or `import_run` gave. An evolution's directory has a page
            of its own, and no other format.
        format: `html` or `md` (a report), `csv` or `parquet` (one row an exam), `png` or `svg` (figures).
        out: the file, or for figures the folder, if not in the run's directory; what ends in / is a folder.
        users: ids of users; html tells the stories of these alone, csv and parquet have their rows. The file is then
            called after them, and the one of all users stays.
        watcher: is told where the run is not finished.

    Raises:
        AMemGymError: one of `amemgym.errors`.
    """
    from amemgym.report.evolution import write_evolution_report
    from amemgym.report.write import check_report, write_files  # a run needs none of it

    check_report(format, out, users)
    know_keys()
    if not isinstance(run, RunReport) and kind_of(run) == EVOLUTION:
        return write_evolution_report(files.at_home(run), format, out, users)
    scored = run if isinstance(run, RunReport) else score(run, write=False)
    scores, place = scored.scores, RunDirectory(scored.directory)
    known = [scenario.id for scenario in place.scenarios()] if users else []
    for user in users or ():
        if user not in known:
            raise UnknownName("user", user, known)
    if watcher is not None and not scores["finished"]:
        watcher.said(f"{place.path} is not finished; the report is of what is there")
    return write_files(place, scores, format, out, users)


def compare(on: str | Path, off: str | Path) -> Comparison:
    """Compare two runs over the same exams, agent by agent; `off` is the one whose change is told.

    Raises:
        UsageError: where the runs are not over the same data, protocol and seed, or share no agent.
        RunDirectoryError: where one of them is no run, or has no finished episode.
    """
    know_keys()
    first, second = _played(on), _played(off)
    ours, other = first.manifest["data"]["played"], second.manifest["data"]
    if ours != other["played"] and are_played(ours, RunDirectory(off).scenarios()):
        second = replace(second, manifest={**second.manifest, "data": {**other, "played": ours}})
    return compare_runs(first, second)


def _played(directory: str | Path) -> Played:
    """Raises RunDirectoryError where there is no finished episode."""
    place = RunDirectory(directory)
    found = Played(place.manifest(), results_of(place))
    if not found.results.episodes:
        imported = "imported" in found.manifest["compared"]
        way = "import it again" if imported else f"continue it with: amemgym resume {directory}"
        raise RunDirectoryError(f"{directory} holds no finished episode yet; {way}")
    return found


def _report(
    manifest: dict[str, Any], results: Results, directory: RunDirectory, failures: Sequence[str] = ()
) -> RunReport:
    seconds: dict[str, float] = {}
    for episode in results.episodes:
        used = [count["seconds"] for role, count in episode.ledger.items() if role in OWN_ROLES]
        if used:
            seconds[episode.agent] = seconds.get(episode.agent, 0.0) + sum(used)
    # a run that was killed between the two has both an episode and its failure
    finished = {(episode.agent, episode.user_id, episode.trial) for episode in results.episodes}
    failed = [f for f in FailedEpisodes(directory.path).all() if (f.agent, f.user_id, f.trial) not in finished]
    if not manifest.get("prices"):  # of an earlier version, or imported
        manifest = manifest | {"prices": PriceList.read(None).described(priced_models(manifest))}
    return RunReport(summary_of(manifest, results, failed), directory.path, tuple(failures), seconds)


def continue_with(sentence: str, directory: Path, way_on: str | None = None) -> str:
    """The sentence, and how to go on from there."""
    end = "" if sentence.endswith((".", "!", "?")) else "."
    way = way_on or f"amemgym resume {shlex.quote(str(directory))}"
    return f"{sentence}{end} Finished work is kept; continue with: {way}"


def raise_for_failures(report: RunReport, way_on: str | None = None, part_of: Path | None = None) -> None:
    """Raise RunFailed where something did not finish. `way_on` and `part_of` as in `run_spec`."""
    if report.failures:
        count = len(report.failures)
        counted = "1 episode or upper bound" if count == 1 else f"{count} episodes or upper bounds"
        more = f" (and {count - 1} more)" if count > 1 else ""
        failure = f"{counted} did not finish: {report.failures[0]}{more}."
        if any(CODE_RAISED in failure for failure in report.failures):
            failure += " What raised can be mended, but is then another run."
        raise RunFailed(continue_with(failure, part_of or report.directory, way_on), report)


def import_run(
    directory: str | Path,
    data: str | Path | Dataset,
    *,
    upper_bound: str | Path | None = None,
    model: str = "imported",
    out: str | Path | None = None,
    watcher: RunWatcher | None = None,
) -> RunReport:
    """Bring results of the original benchmark into a run directory, every reply parsed again, and score them.

    Args:
        directory: the folder its agents wrote to: AGENT/USER/overall_results.json and what lies beside it.
        data: the scenarios they were made on, by name or path.
        upper_bound: the original's upper-bound file; without it there is no memory score.
        model: a label for the model that gave the replies.
        out: the run directory; default: runs/<data>-imported-<fingerprint>.
        watcher: is told what is missing or odd, a sentence each (also in manifest.json, `remarks`).

    Raises:
        AMemGymError: one of `amemgym.errors`; DataError where nothing can be imported.
    """
    know_keys()
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    found = Import(Path(directory), dataset, Path(upper_bound) if upper_bound else None, model)
    place = RunDirectory(out or import_directory(found.manifest))
    with place.lock():
        place.claim(found.manifest)
        for remark in found.remarks:
            (watcher or RunWatcher()).said(remark)
        found.write(place)
        return score(place.path)
