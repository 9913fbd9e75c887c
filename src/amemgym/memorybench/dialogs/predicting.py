"""From files of data points to an archive of predictions: what is played is checked, claimed, played and written.

    OUT/
      manifest.json                               what is played: hashes of sessions and prompts, agents, model, seed
      journal/AGENT.jsonl                         every model reply, appended before it is used
      manifest.jsonl                              the archive: a line a finished agent; written last
      off-policy-<model>/<type>/<set>/<agent>/<run>/run_config.json, predict.json

There is no evaluate_details.json and no summary.json: how good a reply is, MemoryBench's own evaluators say. Started
again with the same settings, it goes on from the journal, and what is finished comes out the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.agents import AgentSpec, agent_of_class, checked
from amemgym.clean import differences
from amemgym.errors import AMemGymError, DataError, RunDirectoryError, RunFailed, UnknownName, UsageError
from amemgym.evaluate import RunSpec, RunWatcher, check_addresses, make_spec
from amemgym.evaluate.claimed import ClaimedDirectory, default_directory, made_manifest
from amemgym.evaluate.manifest import TEMPLATES
from amemgym.llm import Journal, check_model_name, describe_model, embedder_identity, know_keys
from amemgym.memory import Memory
from amemgym.memorybench.dialogs.pointfiles import Points, Source, load_points
from amemgym.memorybench.dialogs.points import DataPoint
from amemgym.memorybench.dialogs.replay import Outcome, Replay, check_agents, check_reachable, is_without_memory
from amemgym.memorybench.dialogs.sessions import SEED, Session, sessions
from amemgym.memorybench.dialogs.telling import missing_told, problems_told, remarks
from amemgym.memorybench.entry import DATASET_TYPES, MANIFEST, PREDICT, RUN_CONFIG, Cell, ResultEntry
from amemgym.memorybench.exporting.folders import check_folder, group_folder, inside
from amemgym.memorybench.exporting.named import cell_of, manifest_name, run_config, run_id_of
from amemgym.memorybench.exporting.writing import entry_in, json_array, manifest_line, manifest_lines
from amemgym.memorybench.problems import Problem, counted
from amemgym.memorybench.reading.redacted import redacted
from amemgym.scores import STAND_IN
from amemgym.tasks import prompts_for
from amemgym.together import wait_for
from amemgym.version import __version__

EXP = "off-policy"
#: what its predictions have to be read with
OFFLINE = (
    f"{STAND_IN}: its replies are fixed sentences, which show what memories give back and say nothing of how a language"
    " model would answer (see --model)"
)
AGENTS = ("rag", "bm25_dialog")
#: fields of `RunSpec` that a prediction has too
SETTINGS = (
    "model",
    "base_url",
    "temperature",
    "max_tokens",
    "context_tokens",
    "embedder",
    "language",
    "concurrency",
    "timeout",
    "attempts",
)
KEPT = "what is done is kept; run the same command again to go on"


class PredictDirectory(ClaimedDirectory):
    """One undertaking's files."""

    what = "prediction"
    named = "a prediction"

    def journal(self, agent: str) -> Journal:
        return Journal(self.path / "journal" / f"{files.slug(agent)}.jsonl")

    def check(self) -> None:
        """What can be known before the data is read. Raises RunDirectoryError where it is no folder, another's or in
        use."""
        check_folder(self.path)
        if self.path.is_dir():
            files.check_begun(self.path, self.what)
            self.manifest()
            if (self.path / ".lock").exists():
                with self.held():
                    pass

    def claim(self, manifest: Mapping[str, Any]) -> None:
        """As any undertaking's; of other agents it is said how they come into one table."""
        if there := self.manifest():
            alone, wanted = there["compared"], manifest["compared"]
            changed = differences({"agents": alone.get("agents")}, {"agents": wanted["agents"]})
            if changed and {**alone, "agents": None} == {**wanted, "agents": None}:
                raise RunDirectoryError(
                    f"{self.path} holds the prediction of other agents: {changed[0]}. A folder is of one call: choose"
                    " another with --out; `amemgym memorybench table` reads several as one"
                )
        super().claim(manifest)


@dataclass(frozen=True)
class Predicted:
    """One agent's group: how many dialogs it was told, how many prompts, how many of them have no response, and for how
    many its context had no room for all it had heard."""

    entry: ResultEntry
    sessions: int
    prompts: int
    missing: int
    cut: int = 0


@dataclass(frozen=True)
class PredictReport:
    """What was written, what was wrong with the data, and a sentence for each agent that did not finish."""

    directory: Path
    groups: tuple[Predicted, ...]
    sessions: int
    problems: tuple[Problem, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plan:
    spec: RunSpec
    agents: list[AgentSpec]
    sessions: list[Session]
    prompts: tuple[DataPoint, ...]
    dataset_type: str
    set_name: str
    manifest: dict[str, Any]
    problems: tuple[Problem, ...]

    def groups(self) -> list[_Group]:
        """What each agent writes, as the manifests describe it. Raises UsageError where two have one name there."""
        compared = self.manifest["compared"]
        described = compared["agents"]
        cells = [cell_of(EXP, self.dataset_type, self.set_name, agent, compared) for agent in described]
        if twice := [cell for cell, count in Counter(cells).items() if count > 1]:
            raise UsageError(f"two agents would both be {twice[0]} in the archive; give one another name")
        return [_Group(*group) for group in zip(self.agents, described, cells, strict=True)]


@dataclass(frozen=True)
class _Group:
    agent: AgentSpec
    described: Mapping[str, Any]
    cell: Cell

    @property
    def is_offline(self) -> bool:
        return self.cell.model == "offline"


def predict(
    train: Source | Sequence[Source],
    test: Source | Sequence[Source],
    agents: Sequence[str | type[Memory]] | str | type[Memory] = AGENTS,
    model: str = "offline",
    *,
    out: str | Path | None = None,
    actions: Sequence[str] | None = None,
    method: str | None = None,
    set_name: str | None = None,
    dataset_type: str | None = None,
    seed: int = SEED,
    watcher: RunWatcher | None = None,
    **settings: Any,
) -> PredictReport:
    """Have agents remember training dialogs and answer test prompts, and write their replies as an archive of results.

    A prompt begins a new conversation: what stood in an agent's window is in its memory by then, and the window is
    empty. Native and recent, whose window is their memory, keep it; wo_memory hears no dialog, and sees the prompt
    alone.

    Args:
        train, test: files or folders of data points (see `load_points`); of folders the files of that split.
        agents: names as `amemgym.run` takes them, or memory classes; no reference agents.
        model: the agents' model.
        out: the archive's folder (default: runs/prediction-<set>-<fingerprint>).
        actions: only dialogs whose user gave one of these (like, copy …).
        method: the memory system whose dialogs are taken where there are some for each (see `load_points`).
        set_name, dataset_type: what the archive calls the set, and whether it is single, domain or task (default: the
            data set's name, and single; needed where there are several data sets).
        seed: of the order of the dialogs.
        watcher: is told what happens, and what is wrong with the data.
        settings: any of base_url, temperature, max_tokens, context_tokens, embedder, language (default: the prompts'),
            concurrency, timeout, attempts.

    Raises:
        AMemGymError: one of `amemgym.errors`; RunFailed where agents did not finish (the others are written).
    """
    given = [agents] if isinstance(agents, str | type) else list(agents)
    listed = [name for one in given for name in (one.split(",") if isinstance(one, str) else [one])]
    watcher = watcher or RunWatcher()
    for name in settings:
        if name not in SETTINGS:
            raise UnknownName("setting of a prediction", name, SETTINGS)
    know_keys()
    spec = make_spec({"agents": [n for n in listed if isinstance(n, str)] or list(AGENTS), "model": model, **settings})
    named = iter(spec.agent_specs(watcher.said) if any(isinstance(n, str) for n in listed) else [])
    players = [agent_of_class(n, spec.context_tokens) if isinstance(n, type) else next(named) for n in listed]
    check_agents(checked(players))
    own = [agent.model for agent in players if agent.model and not agent.is_box]
    for one in (spec.model_settings(), *own):
        check_model_name(one.model)
    check_addresses(spec, [spec.model_settings(), *own])
    _check_type(dataset_type)
    if out is not None:
        PredictDirectory(out).check()
    check_reachable(spec, players)
    remembered, answered = load_points(train, method, split="train"), load_points(test, method, split="test")
    for sentence in problems_told([*remembered.problems, *answered.problems]):
        watcher.said(sentence)
    heard = sessions(remembered.points, seed, actions=actions)
    for sentence in remarks(remembered, answered, heard):
        watcher.said(sentence)
    plan = _planned(spec, players, heard, answered, set_name, dataset_type, seed, actions, remembered.problems)
    report = _played(plan, out, watcher)
    if report.failures:
        more = f" (and {len(report.failures) - 1} more)" if len(report.failures) > 1 else ""
        raise RunFailed(_going_on(f"{report.failures[0]}{more}"), report)
    return report


def _planned(
    spec: RunSpec,
    agents: list[AgentSpec],
    heard: list[Session],
    answered: Points,
    set_name: str | None,
    dataset_type: str | None,
    seed: int,
    actions: Iterable[str] | None,
    problems: tuple[Problem, ...],
) -> _Plan:
    if not answered.points:
        raise DataError("there is no test prompt to answer; give test data")
    of_type, named = _set(answered.datasets, set_name, dataset_type)
    if "language" not in spec.model_fields_set:
        spoken = {point.lang for point in answered.points}
        spec = spec.model_copy(update={"language": "zh" if spoken == {"zh"} else "en"})
    compared = {
        "amemgym": __version__,
        "remembered": {"sessions": len(heard), "sha256": _digest([_session_told(session) for session in heard])},
        "answered": {"prompts": len(answered.points), "sha256": _digest([_point_told(p) for p in answered.points])},
        "set": {"dataset_type": of_type, "set_name": named},
        "agents": [agent.described() for agent in agents],
        "model": describe_model(spec.model_settings()),
        "embedder": embedder_identity(spec.embedder),
        "seed": seed,
        "with": None if actions is None else sorted(actions),
        "language": spec.language,
        "prompts": prompts_for(spec.language).hashes(TEMPLATES),
    }
    manifest = made_manifest(PredictDirectory.what, compared, {})
    return _Plan(spec, agents, heard, answered.points, of_type, named, manifest, (*problems, *answered.problems))


def _played(plan: _Plan, out: str | Path | None, watcher: RunWatcher) -> PredictReport:
    fingerprint, planned = plan.manifest["fingerprint"], plan.groups()
    directory = PredictDirectory(out or default_directory(PredictDirectory.what, plan.set_name, fingerprint))
    # the same in two folders is two to a server that both use
    place = files.sha256(str(directory.path.resolve()).encode("utf-8", "surrogatepass"))
    replay = Replay(
        plan.spec,
        plan.agents,
        plan.sessions,
        plan.prompts,
        prompts_for(plan.spec.language),
        directory.journal,
        watcher,
        f"{fingerprint[:8]}-{place[:6]}",
    )
    if any(group.is_offline for group in planned):
        watcher.said(OFFLINE)
    with directory.held():
        directory.claim(plan.manifest)
        watcher.begins(directory.path)
        outcome = wait_for(replay.play)
        written = _write(plan, planned, directory, outcome)
    for name, group in written.items():
        if group.missing:
            watcher.said(missing_told(group.entry.baseline, outcome.predictions[name]))
        if group.cut:
            watcher.said(
                f"agent '{name}': for {group.cut} of {counted(group.prompts, 'prompt')} its context had no room for"
                " all that it had heard, and the oldest of it was left out"
            )
    for name, count in outcome.dropped.items():
        if count:
            are = "is" if count == 1 else "are"
            watcher.said(
                f"agent '{name}': {counted(count, 'message')} of the dialogs had no room in its context, and {are} lost"
            )
    if isinstance(outcome.stopped, AMemGymError) and not isinstance(outcome.stopped, UsageError):
        outcome.stopped.args = (_going_on(str(outcome.stopped)),)
    if outcome.stopped is not None:
        raise outcome.stopped
    return PredictReport(
        directory.path, tuple(written.values()), len(plan.sessions), plan.problems, tuple(outcome.failures)
    )


def _write(
    plan: _Plan, planned: Sequence[_Group], directory: PredictDirectory, outcome: Outcome
) -> dict[str, Predicted]:
    """The groups of finished agents by name, then the manifest. An agent's folder is the same whoever else finishes.
    Lines that others wrote to the manifest stay, and so does that of an agent which finished before."""
    compared, fingerprint = plan.manifest["compared"], plan.manifest["fingerprint"]
    run_id, written = run_id_of(fingerprint), dict[str, Predicted]()
    before = [(line, entry_in(line)) for line in manifest_lines(directory.path / MANIFEST)]
    own = {(group.cell, run_id) for group in planned}
    others = [(line, entry) for line, entry in before if entry is None or (entry.cell, entry.run_id) not in own]
    taken = {entry.relative_dir.casefold() for _, entry in others if entry is not None}
    known, lines = {line for line, _ in before}, list[str]()
    for group in planned:
        name, folder = group.agent.name, group_folder(group.cell, run_id, taken)
        taken.add(folder.casefold())
        entry = ResultEntry(*group.cell, run_id, folder, [RUN_CONFIG, PREDICT])
        if (predictions := outcome.predictions.get(name)) is not None:
            path = inside(directory.path, folder)
            with json_array(path / PREDICT) as add:
                for prediction in predictions:
                    add(prediction.as_dict())
            told = {"prediction": fingerprint, "warnings": [OFFLINE] if group.is_offline else []}
            config = run_config(group.cell, group.described, compared, told)
            files.write_atomically(path / RUN_CONFIG, files.pretty_json(redacted(config)))
            written[name] = Predicted(
                entry,
                0 if is_without_memory(group.agent) else len(plan.sessions),
                len(predictions),
                sum(one.response is None for one in predictions),
                sum(one.dropped > 0 for one in predictions),
            )
        if name in written or manifest_line(entry) in known:
            lines.append(manifest_line(entry))
    if lines:
        directory.write(MANIFEST, "".join(f"{line}\n" for line in [*lines, *(line for line, _ in others)]))
    return written


def _check_type(dataset_type: str | None) -> None:
    if dataset_type is not None and dataset_type not in DATASET_TYPES:
        raise UnknownName("type of set", dataset_type, DATASET_TYPES)


def _set(datasets: Sequence[str], set_name: str | None, dataset_type: str | None) -> tuple[str, str]:
    """The set's type and name. Raises UsageError."""
    if len(datasets) > 1 and (set_name is None or dataset_type in (None, "single")):
        raise UsageError(
            f"the test prompts are of {len(datasets)} data sets ({', '.join(datasets[:5])}); say what set they make"
            " with --set-name NAME and --dataset-type domain (or task)"
        )
    name = manifest_name(datasets[0] if set_name is None else set_name)
    if not name.strip():
        raise UsageError("the set has no name; give it one with --set-name")
    return dataset_type or "single", name


def _going_on(sentence: str) -> str:
    end = "" if sentence.endswith((".", "!", "?")) else "."
    return f"{sentence}{end} {KEPT[0].upper()}{KEPT[1:]}"


def _session_told(session: Session) -> list[Any]:
    said = [[[m.role, m.content] for m in turn] for turn in session.turns]
    return [*session.key, session.time.isoformat(), said]


def _point_told(point: DataPoint) -> list[Any]:
    return [*point.key, [[message.role, message.content] for message in point.prompt]]


def _digest(value: Any) -> str:
    return files.sha256(files.canonical_json(value).encode("utf-8", "surrogatepass"))
