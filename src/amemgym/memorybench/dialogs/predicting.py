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
from amemgym.clean import clean
from amemgym.errors import AMemGymError, DataError, RunFailed, UnknownName, UsageError
from amemgym.evaluate import RunSpec, RunWatcher, check_addresses, make_spec
from amemgym.evaluate.claimed import ClaimedDirectory, default_directory, made_manifest
from amemgym.evaluate.manifest import TEMPLATES
from amemgym.llm import Journal, check_model_name, describe_model, embedder_identity, know_keys
from amemgym.memory import Memory
from amemgym.memorybench.dialogs.pointfiles import Points, Source, load_points
from amemgym.memorybench.dialogs.points import DataPoint
from amemgym.memorybench.dialogs.replay import Outcome, Prediction, Replay, check_agents
from amemgym.memorybench.dialogs.sessions import SEED, Session, sessions
from amemgym.memorybench.entry import DATASET_TYPES, MANIFEST, PREDICT, RUN_CONFIG, Cell, ResultEntry
from amemgym.memorybench.exporting.folders import group_folder, inside
from amemgym.memorybench.exporting.writing import json_array, manifest_line, manifest_lines
from amemgym.memorybench.problems import Problem
from amemgym.memorybench.reading.redacted import redacted
from amemgym.tasks import prompts_for
from amemgym.together import wait_for
from amemgym.version import __version__

EXP = "off-policy"
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
#: data sets whose prompts are over a corpus, which is no part of a data point
WITH_CORPUS = ("Locomo", "DialSim")
#: problems that are told one by one
TOLD = 5


class PredictDirectory(ClaimedDirectory):
    """One undertaking's files."""

    what = "prediction"
    named = "a prediction"

    def journal(self, agent: str) -> Journal:
        return Journal(self.path / "journal" / f"{files.slug(agent)}.jsonl")


@dataclass(frozen=True)
class Predicted:
    """One agent's group: how many prompts, and how many of them have no response."""

    entry: ResultEntry
    prompts: int
    missing: int


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
    cell: Cell
    manifest: dict[str, Any]
    problems: tuple[Problem, ...]

    @property
    def run_id(self) -> str:
        """As those of exported runs: of what was played, not of when."""
        return f"start_at_{self.manifest['fingerprint'][:16]}"

    def cell_of(self, described: Mapping[str, Any]) -> Cell:
        own = (described.get("model") or self.manifest["compared"]["model"])["model"]
        return self.cell._replace(model=clean(own), baseline=clean(described["name"]))


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

    Args:
        train, test: files or folders of data points (see `load_points`); of folders the files of that split.
        agents: names as `amemgym.run` takes them, or memory classes; no reference agents.
        model: the agents' model.
        out: the archive's folder (default: runs/prediction-<set>-<fingerprint>).
        actions: only dialogs whose user gave one of these (like, copy …).
        method: the memory system whose dialogs are taken where a point has one for each.
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
    remembered, answered = load_points(train, method, split="train"), load_points(test, method, split="test")
    heard = sessions(remembered.points, seed, actions=actions)
    for sentence in _remarks(remembered, answered, heard):
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
    cell = _cell(answered.datasets, set_name, dataset_type)
    if "language" not in spec.model_fields_set:
        spoken = {point.lang for point in answered.points}
        spec = spec.model_copy(update={"language": "zh" if spoken == {"zh"} else "en"})
    compared = {
        "amemgym": __version__,
        "remembered": {"sessions": len(heard), "sha256": _digest([_session_told(session) for session in heard])},
        "answered": {"prompts": len(answered.points), "sha256": _digest([_point_told(p) for p in answered.points])},
        "set": {"dataset_type": cell.dataset_type, "set_name": cell.set_name},
        "agents": [agent.described() for agent in agents],
        "model": describe_model(spec.model_settings()),
        "embedder": embedder_identity(spec.embedder),
        "seed": seed,
        "with": None if actions is None else sorted(actions),
        "language": spec.language,
        "prompts": prompts_for(spec.language).hashes(TEMPLATES),
    }
    manifest = made_manifest(PredictDirectory.what, compared, {})
    return _Plan(spec, agents, heard, answered.points, cell, manifest, (*problems, *answered.problems))


def _played(plan: _Plan, out: str | Path | None, watcher: RunWatcher) -> PredictReport:
    fingerprint = plan.manifest["fingerprint"]
    directory = PredictDirectory(out or default_directory(PredictDirectory.what, plan.cell.set_name, fingerprint))
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
    replay.check()
    with directory.held():
        directory.claim(plan.manifest)
        watcher.begins(directory.path)
        outcome = wait_for(replay.play)
        groups = _write(plan, directory, outcome)
    for group in groups:
        if group.missing:
            watcher.said(_missing_told(outcome.predictions[group.entry.baseline], group))
    for name, count in outcome.dropped.items():
        if count:
            watcher.said(f"agent '{name}': {count} messages of the dialogs had no room in its context, and are lost")
    if isinstance(outcome.stopped, AMemGymError) and not isinstance(outcome.stopped, UsageError):
        outcome.stopped.args = (_going_on(str(outcome.stopped)),)
    if outcome.stopped is not None:
        raise outcome.stopped
    return PredictReport(directory.path, groups, len(plan.sessions), plan.problems, tuple(outcome.failures))


def _write(plan: _Plan, directory: PredictDirectory, outcome: Outcome) -> tuple[Predicted, ...]:
    """The groups of finished agents, then the manifest; lines that others wrote to it stay."""
    groups: list[Predicted] = []
    taken: set[str] = set()
    for agent in plan.manifest["compared"]["agents"]:
        predictions = outcome.predictions.get(agent["name"])
        if predictions is None:
            continue
        cell = plan.cell_of(agent)
        folder = group_folder(cell, plan.run_id, taken)
        taken.add(folder.casefold())
        path = inside(directory.path, folder)
        with json_array(path / PREDICT) as add:
            for prediction in predictions:
                add(prediction.as_dict())
        files.write_atomically(path / RUN_CONFIG, files.pretty_json(redacted(_config(plan, agent, cell))))
        entry = ResultEntry(*cell, plan.run_id, folder, [RUN_CONFIG, PREDICT])
        groups.append(Predicted(entry, len(predictions), sum(one.response is None for one in predictions)))
    lines = [manifest_line(group.entry) for group in groups]
    others = [line for line in manifest_lines(directory.path / MANIFEST) if line not in lines]
    if lines:
        directory.write(MANIFEST, "".join(f"{line}\n" for line in [*lines, *others]))
    return tuple(groups)


def _config(plan: _Plan, agent: Mapping[str, Any], cell: Cell) -> dict[str, Any]:
    """What was run, in the published keys as far as they say it, and whole as our manifest compares it."""
    compared = {name: value for name, value in plan.manifest["compared"].items() if name not in ("agents", "amemgym")}
    own = {name: value for name, value in agent.items() if name != "model"}
    return {
        "memory_system": cell.baseline,
        "dataset_type": cell.dataset_type,
        "set_name": cell.set_name,
        "memory_system_config": {**own, "llm_config": agent.get("model") or compared["model"]},
        "amemgym": {"version": __version__, "prediction": plan.manifest["fingerprint"], **compared, "agent": agent},
    }


def _cell(datasets: Sequence[str], set_name: str | None, dataset_type: str | None) -> Cell:
    """The set's part of every cell. Raises UsageError or UnknownName."""
    if dataset_type is not None and dataset_type not in DATASET_TYPES:
        raise UnknownName("type of set", dataset_type, DATASET_TYPES)
    if len(datasets) > 1 and (set_name is None or dataset_type in (None, "single")):
        raise UsageError(
            f"the test prompts are of {len(datasets)} data sets ({', '.join(datasets[:5])}); say what set they make"
            " with --set-name NAME and --dataset-type domain (or task)"
        )
    name = clean(datasets[0] if set_name is None else set_name)
    if not name.strip():
        raise UsageError("the set has no name; give it one with --set-name")
    return Cell(EXP, "", dataset_type or "single", name, "")


def _remarks(remembered: Points, answered: Points, heard: Sequence[Session]) -> list[str]:
    """What somebody should know of the data before it is played."""
    problems = [*remembered.problems, *answered.problems]
    told = [str(problem) for problem in problems[:TOLD]]
    if len(problems) > TOLD:
        told.append(f"and {len(problems) - TOLD} more problems like these")
    silent = sum(not point.dialog for point in remembered.points)
    if silent:
        told.append(f"{silent} of {len(remembered.points)} training points have no dialog, and are not remembered")
    both = {session.key for session in heard} & {point.key for point in answered.points}
    if both:
        told.append(f"{len(both)} of the test prompts are among the dialogs that are remembered ({min(both, key=str)})")
    over = [name for name in answered.datasets if name.startswith(WITH_CORPUS)]
    if over:
        told.append(
            f"the prompts of {', '.join(over[:3])} are about a corpus that MemoryBench gives its systems beside the"
            " dialogs; it is no part of data points, so they are answered without it"
        )
    return told


def _missing_told(predictions: Sequence[Prediction], group: Predicted) -> str:
    first = next(one for one in predictions if one.response is None)
    kinds = Counter(str(one.error) for one in predictions if one.response is None)
    same = "" if len(kinds) == 1 else f", {len(kinds)} kinds of error"
    return (
        f"agent '{group.entry.baseline}': {group.missing} of {group.prompts} prompts have no response{same} (the first,"
        f" {first.point.dataset} {first.point.test_idx}: {first.error}); null stands in their place"
    )


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
