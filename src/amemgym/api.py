"""The Python face: `run`, `resume`, `score`, `write_report`, `compare`, each a plain function over the rooms below."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from amemgym import files
from amemgym.agents import AgentSpec, agent_of_class, checked, told
from amemgym.env import find_rules
from amemgym.errors import AMemGymError, RunDirectoryError, RunFailed, UnknownName, UsageError
from amemgym.evaluate import (
    Coachings,
    FailedEpisodes,
    Import,
    Run,
    RunDirectory,
    RunOutcome,
    RunSpec,
    RunWatcher,
    default_directory,
    import_directory,
    make_manifest,
    make_spec,
    read_recorded,
    recorded_data,
)
from amemgym.generate import load_dataset
from amemgym.llm import (
    ModelSettings,
    asks_endpoint,
    check_choice,
    check_model_name,
    embedder_identity,
    know_keys,
)
from amemgym.memory import Memory
from amemgym.scenario import Dataset
from amemgym.scores import OWN_ROLES, summarise
from amemgym.scores.comparison import Comparison, Played, compare_runs
from amemgym.together import wait_for
from amemgym.undertaking import kind_of

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
    if isinstance(data, Dataset):
        if data.path is None:
            raise UsageError("the data set is in no file; save it with save_dataset and give the path")
        data = data.path
    given: dict[str, Any] = {"model": model, **settings} | ({} if data is None else {"data": str(data)})
    classes: dict[str, type[Memory]] = {}
    if agents is not None:
        listed = agents.split(",") if isinstance(agents, str) else [agents] if isinstance(agents, type) else agents
        for agent in listed:
            if not isinstance(agent, str | type):
                raise UsageError(f"agent {agent!r} is neither a name nor a class; give the class, not an instance")
        classes = {agent.__name__: agent for agent in listed if isinstance(agent, type)}
        given["agents"] = tuple(agent.__name__ if isinstance(agent, type) else agent.strip() for agent in listed)
    report = run_spec(make_spec(given), out=out, watcher=watcher, classes=classes)
    raise_for_failures(report)
    return report


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
    part_of: Path | None = None,
) -> RunReport:
    """The same from a RunSpec. `classes` are memory classes by agent name; `user_key` is the simulated user's key.

    `agents` are made already, in place of the named ones; `coachings` tell them what to remember, by agent. `part_of`
    is the directory of an undertaking that this run is a part of, which is what is continued if it fails.
    """
    run, manifest = _prepared(spec, out, watcher, classes or {}, user_key, agents, coachings, part_of)
    directory, dataset = run.directory, run.dataset
    if not directory.is_claimed:
        run.check()
    with directory.lock():
        manifest = directory.claim(manifest, resuming)
        directory.write_data(dataset)
        outcome = wait_for(run.play)
        report = _report(manifest, outcome, directory, dataset)
        if isinstance(outcome.stopped, AMemGymError) and not isinstance(outcome.stopped, UsageError):
            outcome.stopped.args = (continue_with(str(outcome.stopped), part_of or directory.path),)
        if outcome.stopped is not None:
            raise outcome.stopped
        directory.write_scores(report.scores)
    return report


def check_spec(spec: RunSpec, agents: Sequence[AgentSpec]) -> None:
    """Raises what `run_spec` would raise before anything is written, for who writes something before it."""
    _prepared(spec, None, None, {}, None, agents, None, None)[0].check()


def _prepared(
    spec: RunSpec,
    out: str | Path | None,
    watcher: RunWatcher | None,
    classes: dict[str, type[Memory]],
    user_key: SecretStr | None,
    agents: Sequence[AgentSpec] | None,
    coachings: Coachings | None,
    part_of: Path | None,
) -> tuple[Run, dict[str, Any]]:
    """A run as far as it can be had without writing anything, and its manifest."""
    watcher = watcher or RunWatcher()
    know_keys()
    model, user_model = spec.model_settings(), spec.user_settings(user_key)
    for settings in (model, user_model):
        check_model_name(settings.model)
    embedder_identity(spec.embedder)
    rules = find_rules(spec.protocol, spec.rounds_initial, spec.rounds_later)
    agents = checked(_agents(spec, watcher, classes) if agents is None else list(agents))
    own_models = [agent.model for agent in agents if agent.model and not agent.is_box]
    check_addresses(spec, [model, user_model, *own_models])
    for settings in (model, *own_models):
        check_choice(settings)
    dataset = _dataset(spec).only(spec.only).limited(spec.users, spec.periods)
    recorded = read_recorded(Path(spec.off_policy), spec.off_policy_agent, dataset) if spec.off_policy else None
    manifest = make_manifest(spec, dataset, agents, model, user_model, rules, recorded)
    if part_of is not None:
        manifest["part_of"] = kind_of(part_of)
    directory = RunDirectory(out or spec.out or default_directory(manifest))
    run = Run(spec, dataset, agents, model, user_model, rules, directory, watcher, recorded, coachings, part_of)
    return run, manifest


def resume(directory: str | Path, *, watcher: RunWatcher | None = None, **settings: Any) -> RunReport:
    """Continue the run in a directory: what is finished stays, what was interrupted is played on from its journal.

    `settings` may be those that change no result (concurrency, timeout, attempts).
    """
    manifest = RunDirectory(directory).manifest()
    if "imported" in manifest["compared"]:
        raise UsageError(
            f"{directory} holds imported results, so there is nothing to play; score it with: amemgym score {directory}"
        )
    if whole := manifest.get("part_of"):
        above = files.at_home(directory).absolute().parent
        raise UsageError(f"{directory} is a part of the {whole} in {above}; continue that: amemgym resume {above}")
    spec = make_spec({**manifest["settings"], **settings}, f"{directory}/manifest.json")
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


def score(directory: str | Path, *, write: bool = True) -> RunReport:
    """Score what is finished in a run directory, and write scores.json anew. Needs neither the data nor a model."""
    place, played = RunDirectory(directory), _played(directory)
    outcome = RunOutcome(episodes=list(played.episodes), upper_bounds=list(played.upper_bounds))
    report = _report(dict(played.manifest), outcome, place, place.dataset())
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
        run: its directory, or what `run`, `resume`, `score` or `import_run` gave.
        format: `html` or `md` (a report), `csv` or `parquet` (one row an exam), `png` or `svg` (figures).
        out: the file, or for figures the folder, if not in the run's directory; what ends in / is a folder.
        users: ids of users; html tells the stories of these alone, csv and parquet have their rows. The file is then
            called after them, and the one of all users stays.
        watcher: is told where the run is not finished.

    Raises:
        AMemGymError: one of `amemgym.errors`.
    """
    from amemgym.report.write import check_report, write_files  # a run needs none of it

    check_report(format, out, users)
    know_keys()
    scored = run if isinstance(run, RunReport) else score(run, write=False)
    scores, place = scored.scores, RunDirectory(scored.directory)
    for user in users or ():
        known = [scenario.id for scenario in place.dataset()]
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
    return compare_runs(_played(on), _played(off))


def _played(directory: str | Path) -> Played:
    """Raises RunDirectoryError where there is no finished episode."""
    place = RunDirectory(directory)
    found = Played(place.manifest(), place.episodes(), place.upper_bounds())
    if not found.episodes:
        imported = "imported" in found.manifest["compared"]
        way = "import it again" if imported else f"continue it with: amemgym resume {directory}"
        raise RunDirectoryError(f"{directory} holds no finished episode yet; {way}")
    return found


def _dataset(spec: RunSpec) -> Dataset:
    """The data that is played: off-policy, that of the recorded run."""
    if spec.off_policy is None:
        if spec.off_policy_agent is not None:
            raise UsageError(f"--off-policy-agent {spec.off_policy_agent} needs --off-policy DIR, the run it played in")
        return load_dataset(spec.data)
    return recorded_data(Path(spec.off_policy), load_dataset(spec.data) if "data" in spec.model_fields_set else None)


def _agents(spec: RunSpec, watcher: RunWatcher, classes: dict[str, type[Memory]]) -> list[AgentSpec]:
    named = spec.model_copy(update={"agents": tuple(name for name in spec.agents if name not in classes)})
    found = {name: agent for name, agent in zip(named.agents, named.agent_specs(watcher.said), strict=True)}
    found |= {name: agent_of_class(cls, spec.context_tokens) for name, cls in classes.items()}
    return told([found[name] for name in spec.agents], spec.policy, spec.room)


def check_addresses(spec: RunSpec, models: Sequence[ModelSettings]) -> None:
    """Raises UsageError where an address is given that nothing would ask."""
    if not any(asks_endpoint(settings.model) for settings in models):
        where = "offline" if all(settings.model == "offline" for settings in models) else "on this machine"
        for flag, url in (("--base-url", spec.base_url), ("--user-base-url", spec.user_base_url)):
            if url:
                raise UsageError(f"{flag} {url}: nothing is asked there, the model is {where}; add --model openai:NAME")


def _report(manifest: dict[str, Any], outcome: RunOutcome, directory: RunDirectory, dataset: Dataset) -> RunReport:
    seconds: dict[str, float] = {}
    for episode in outcome.episodes:
        used = [count["seconds"] for role, count in episode.ledger.items() if role in OWN_ROLES]
        if used:
            seconds[episode.agent] = seconds.get(episode.agent, 0.0) + sum(used)
    # a run that was killed between the two has both an episode and its failure
    finished = {(episode.agent, episode.user_id, episode.trial) for episode in outcome.episodes}
    failed = [f for f in FailedEpisodes(directory.path).all() if (f.agent, f.user_id, f.trial) not in finished]
    scores = summarise(manifest, outcome.episodes, outcome.upper_bounds, dataset, failed)
    return RunReport(scores, directory.path, tuple(outcome.failures), seconds)


def continue_with(sentence: str, directory: Path) -> str:
    """The sentence, and how to go on from there."""
    end = "" if sentence.endswith((".", "!", "?")) else "."
    return f"{sentence}{end} Finished work is kept; continue with: amemgym resume {shlex.quote(str(directory))}"


def raise_for_failures(report: RunReport, part_of: Path | None = None) -> None:
    """Raise RunFailed where something did not finish. `part_of` as in `run_spec`."""
    if report.failures:
        count = len(report.failures)
        counted = "1 episode or upper bound" if count == 1 else f"{count} episodes or upper bounds"
        more = f" (and {count - 1} more)" if count > 1 else ""
        failure = f"{counted} did not finish: {report.failures[0]}{more}."
        if any(CODE_RAISED in failure for failure in report.failures):
            failure += " What raised can be mended, but is then another run."
        raise RunFailed(continue_with(failure, part_of or report.directory), report)


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
