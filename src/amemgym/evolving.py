"""The Python face of self-evolution: `evolve`, two ordinary runs and what is learned between them.

The training users play first, all side by side, and their exams' feedback revises what the agent is told to remember.
Then the held-out users play by what was learned. They give no feedback, and are played once there is nothing more to
learn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amemgym.agents import AgentSpec, fault_of, is_agent_file, parse_agent, read_agent_file, read_policy
from amemgym.api import RunReport, check_spec, raise_for_failures, run_spec
from amemgym.errors import RunDirectoryError, UsageError
from amemgym.evaluate import FREE_SETTINGS, RunSpec, RunWatcher, resumable, resumable_agent
from amemgym.evaluate.claimed import default_directory, made_manifest
from amemgym.evolution import (
    EVOLUTION,
    RUN_SETTINGS,
    TRIES,
    Arm,
    Evolution,
    EvolutionDirectory,
    EvolveSpec,
    arms_of,
    make_evolve_spec,
    summarise_evolution,
)
from amemgym.generate import load_dataset
from amemgym.llm import check_model_name, describe_model, know_keys
from amemgym.llm.prices import PriceList
from amemgym.memory import QUERY
from amemgym.scenario import Dataset, Split, place_of_data, split_users
from amemgym.scores.pairs import LEAST_USERS
from amemgym.tasks import Prompts, prompts_for
from amemgym.version import __version__

#: what a revision is asked by
TEMPLATES = (
    "feedback_answer",
    "feedback_exposed",
    "feedback_memories",
    "feedback_question",
    "feedback_user",
    "revise_policy",
    "revise_query",
    "revise_refused",
)


@dataclass(frozen=True, repr=False)
class EvolveReport:
    """An evolution's summary (as in evolution.json), its directory, and the two runs."""

    summary: dict[str, Any]
    directory: Path
    training: RunReport
    held_out: RunReport

    def __repr__(self) -> str:
        return f"EvolveReport({self.summary['agent']}; {self.directory})"


def evolve(
    agent: str = "awi",
    data: str | Path | Dataset = "starter",
    feedback: str | tuple[str, ...] | list[str] = ("question", "complete"),
    model: str = "offline",
    *,
    out: str | Path | None = None,
    watcher: RunWatcher | None = None,
    **settings: Any,
) -> EvolveReport:
    """Let an agent revise what it is told to remember, by its exams' feedback on training users, and score what it
    learned on held-out users.

    Args:
        agent: `awi`, `awe` or `rag` (whose form of the query evolves), also with -freq-n_s-topk, or the path of a v1
            agent configuration.
        data: a name, the path of a v1 JSON file, or a data set loaded from one.
        feedback: `none`, `question`, `complete`, or several. The agent that learns nothing plays in any case.
        model: the assistants' model: `offline`, or `openai:<name>`; it revises its own policy.
        out: the directory; where it holds the same evolution, that is continued.
        watcher: is told what happens.
        settings: training, room, and settings of a run (see `amemgym.evolution.spec`).

    Raises:
        AMemGymError: one of `amemgym.errors`; what was finished is kept.
    """
    kinds = feedback if isinstance(feedback, str) else tuple(feedback)
    given = {"agent": agent, "data": place_of_data(data), "feedback": kinds, "model": model, **settings}
    return evolve_spec(make_evolve_spec(given), out=out, watcher=watcher)


def evolve_spec(spec: EvolveSpec, *, out: str | Path | None = None, watcher: RunWatcher | None = None) -> EvolveReport:
    """The same from an EvolveSpec."""
    watcher = watcher or RunWatcher()
    know_keys()
    for settings in (spec.run.model_settings(), spec.run.user_settings()):
        check_model_name(settings.model)
    dataset = load_dataset(spec.run.data).limited(spec.run.users, spec.run.periods)
    split = split_users(dataset, spec.training_users, spec.run.seed)
    prompts = prompts_for(spec.run.language)
    agent = _agent(spec, watcher)
    start = _start(spec, agent, prompts)
    if spec.run.policy is not None:
        agent = replace(agent, policies=(start,))  # all arms begin alike
    arms = arms_of(agent, spec.feedback)
    manifest = _manifest(spec, dataset, split, agent, start, prompts)
    budget = spec.run.spending()  # of both runs together
    directory = EvolutionDirectory(
        out or spec.run.out or default_directory("evolve", dataset.name, manifest["fingerprint"])
    )
    if directory.manifest() is None:
        check_spec(_part(spec.run, split.held_out), [agent], dataset)
    with directory.held():
        directory.claim(manifest)
        directory.write_start(start)
        evolutions = {
            arm.name: Evolution(
                arm.name,
                arm.feedback,
                agent.purpose or "record",
                list(dataset.only(split.training)),
                start,
                room=agent.room,
                seed=spec.run.seed,
                watcher=watcher,
            )
            for arm in arms
        }
        watcher.said(_bill(dataset, split, arms))
        if arms and len(split.held_out) < LEAST_USERS:
            watcher.said(
                f"with {_users(len(split.held_out))} held out no gain can be shown, however large; it takes"
                f" {LEAST_USERS} (more --users, or fewer --training)"
            )
        training = run_spec(
            _part(spec.run, split.training, upper_bound=False, probe=False),
            out=directory.training,
            watcher=watcher,
            dataset=dataset,
            agents=[agent, *(arm.training() for arm in arms)],
            coachings=evolutions,
            part_of=directory.path,
            budget=budget,
        )
        raise_for_failures(training, part_of=directory.path)
        for evolution in evolutions.values():
            directory.write_history(evolution)
        # as the training run began with: a file of prices may be gone, where this is continued
        prices = PriceList.recorded(training.scores["cost"]["prices"])
        held_out = run_spec(
            _part(spec.run, split.held_out),
            out=directory.held_out,
            watcher=watcher,
            dataset=dataset,
            agents=[agent, *_learned(arms, evolutions)],
            part_of=directory.path,
            budget=budget,
            prices=prices,
        )
        raise_for_failures(held_out, part_of=directory.path)
        rate = prices.rate(agent.model or spec.run.model_settings())  # a revision is asked of the agent's model
        summary = summarise_evolution(manifest, agent, arms, evolutions, training.scores, held_out.scores, rate)
        directory.write_summary(summary)
    return EvolveReport(summary, directory.path, training, held_out)


def resume_evolution(directory: str | Path, *, watcher: RunWatcher | None = None, **settings: Any) -> EvolveReport:
    """Continue the evolution in a directory. `settings` may be those that change no result (concurrency, timeout,
    attempts)."""
    place = EvolutionDirectory(directory)
    manifest = place.manifest()
    if manifest is None:
        raise RunDirectoryError(f"{directory} holds no evolution; begin one with: amemgym evolve --out {directory}")
    own = {"policy": str(place.start)} if manifest["settings"].get("policy") and place.start.is_file() else {}
    spec = make_evolve_spec({**manifest["settings"], **own, **settings}, f"{directory}/manifest.json")
    return evolve_spec(spec, out=directory, watcher=watcher)


def _bill(dataset: Dataset, split: Split, arms: list[Arm]) -> str:
    """What an evolution takes, as far as it is known beforehand, as a sentence."""

    def exams(ids: tuple[str, ...], agents: int) -> int:
        return agents * sum(len(user.periods) * len(user.qas) for user in dataset.only(ids))

    training, held_out = 1 + len(arms), 1 + 2 * len(arms)
    episodes = training * len(split.training) + held_out * len(split.held_out)
    asked = exams(split.training, training) + exams(split.held_out, held_out)
    periods = max(len(user.periods) for user in dataset.only(split.training))
    return (
        f"{_users(len(split.training))} to learn from, {_users(len(split.held_out))} held out: {episodes} episodes with"
        f" {asked:,} exams (probes and upper bound beside), and at most {TRIES * periods * len(arms)} revisions"
    )


def _users(count: int) -> str:
    return f"{count} user{'' if count == 1 else 's'}"


def _learned(arms: list[Arm], evolutions: dict[str, Evolution]) -> list[AgentSpec]:
    return [agent for arm in arms for agent in arm.held_out(evolutions[arm.name].policies)]


def _agent(spec: EvolveSpec, watcher: RunWatcher) -> AgentSpec:
    """The agent that learns nothing. Raises UsageError where it has nothing to revise."""
    name, run = spec.agent, spec.run
    if is_agent_file(name):
        agent = read_agent_file(Path(name), run.model_settings(), run.context_tokens, watcher.said, evolving=True)
    else:
        agent = parse_agent(name, run.context_tokens, run.timeout)
    if agent.purpose is None:
        raise UsageError(
            f"agent '{name}' has no prompt or query of its own to revise; those that evolve are awi, awe and rag"
        )
    if agent.purpose == "query":
        if spec.room and "room" in spec.model_fields_set:
            watcher.said(f"--room {spec.room} is for awi and awe; {agent.name} keeps all messages")
        return agent
    return replace(agent, room=spec.room or None)


def _start(spec: EvolveSpec, agent: AgentSpec, prompts: Prompts) -> str:
    """The policy that it begins with: that of its template, or a file's. Raises UsageError."""
    if spec.run.policy is None:
        return QUERY if agent.purpose == "query" else prompts.fill(f"policy_{agent.purpose}")
    start = read_policy(spec.run.policy)
    if agent.purpose and (fault := fault_of(start, agent.purpose)):
        raise UsageError(f"--policy {spec.run.policy}: {fault}")
    return start


def _part(run: RunSpec, ids: tuple[str, ...], **settings: Any) -> RunSpec:
    """One of the two runs: its users, and nothing of what is the evolution's. Their periods are limited already, and
    one side's users may have fewer than are wanted."""
    own = {"only": ids, "users": None, "periods": None, "policy": None, "out": None}
    return run.model_copy(update={**own, **settings})


def _manifest(
    spec: EvolveSpec, dataset: Dataset, split: Split, agent: AgentSpec, start: str, prompts: Prompts
) -> dict[str, Any]:
    """What makes two evolutions the same. The runs inside have manifests of their own, with all that decides them."""
    free = {*FREE_SETTINGS, "out", "agents", "data", "policy", "only"}
    models = {"model", "base_url", "user_model", "user_base_url"}
    model, user_model = spec.run.model_settings(), spec.run.user_settings()
    compared = {
        "amemgym": __version__,
        "data": dataset.sha256,
        "training_users": list(split.training),
        "held_out_users": list(split.held_out),
        "agent": agent.described(),
        "feedback": list(spec.feedback),
        "start": start,
        "model": describe_model(agent.model or model),
        "user_model": describe_model(user_model),
        "run": spec.run.model_dump(mode="json", exclude=free | models),
        "prompts": prompts.hashes(TEMPLATES),
    }
    found = resumable(spec.run, model, user_model)
    own = {"run"} if agent.purpose != "query" else {"run", "room"}
    settings = spec.model_dump(mode="json", exclude=own) | {n: v for n, v in found.items() if n in RUN_SETTINGS}
    return made_manifest(EVOLUTION, compared, settings | {"agent": resumable_agent(spec.agent)})
