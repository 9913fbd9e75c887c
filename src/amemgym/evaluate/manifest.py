"""The manifest: what exactly is run. Its `compared` part decides whether two runs are the same, by fingerprint."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.agents import AgentSpec, is_agent_file
from amemgym.env import Rules
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.playeddata import digest_of_users
from amemgym.evaluate.rundir import FORMAT
from amemgym.evaluate.shard import described, fingerprint, shard_of, whole
from amemgym.evaluate.spec import RunSpec
from amemgym.evaluate.upperbound import bound_names, description
from amemgym.llm import USER_URL, ModelSettings, asks_endpoint, box_settings, describe_model, embedder_identity, located
from amemgym.scenario import Dataset, is_data_name
from amemgym.tasks import prompts_for
from amemgym.version import __version__

#: every template that a run's requests are made of; those of generation and of judges decide no run
TEMPLATES = (
    "assistant",
    "assistant_with_memories",
    "describe_note",
    "evolve_notes",
    "exam",
    "extract_facts",
    "facts_room",
    "follow_up",
    "follow_up_profile_only",
    "policy_facts",
    "policy_record",
    "probe",
    "reconcile_facts",
    "record_room",
    "update_record",
    "update_record_named",
    "upper_bound",
)


def make_manifest(
    spec: RunSpec,
    dataset: Dataset,
    agents: Sequence[AgentSpec],
    model: ModelSettings,
    user_model: ModelSettings,
    rules: Rules,
    recorded: Recorded | None = None,
) -> dict[str, Any]:
    """The manifest of a run, without any key. `dataset` is the part that is played, `recorded` what is fed to it."""
    compared: dict[str, Any] = {
        "amemgym": __version__,
        "protocol": asdict(rules),
        "data": {
            "sha256": dataset.sha256,
            "users": len(dataset),
            "periods": max(len(scenario.periods) for scenario in dataset),
            **({} if spec.only is None else {"only": [scenario.id for scenario in dataset]}),
        },
        "agents": [agent.described() for agent in agents],
        "model": describe_model(model),
        # off-policy, nobody plays the user
        "user_model": {"model": "recorded"} if recorded else describe_model(user_model),
        "embedder": embedder_identity(spec.embedder),
        "seed": spec.seed,
        "trials": spec.trials,
        "upper_bound": spec.upper_bound,
        "probe": spec.probe,
        "off_policy": recorded.described() if recorded else None,
        "language": spec.language,
        "prompts": prompts_for(spec.language).hashes(TEMPLATES),
        **({} if spec.shard is None else {"shard": described(spec.shard)}),
    }
    settings = resumable(spec, model, user_model)
    if spec.off_policy is not None:
        del settings["data"]  # it comes from there
        # a resume must not find another first one
        settings["off_policy_agent"] = recorded.taken_from if recorded else spec.off_policy_agent
    bounds = bound_names(agents, model) if spec.upper_bound else {}
    names = {said: name for said, (name, _) in bounds.items()}
    return {
        "format": FORMAT,
        "fingerprint": fingerprint(compared),
        "data": {"name": dataset.name, **describe_data(dataset)},
        "compared": compared,
        # whose upper bound counts: for the run as a whole, and for each agent
        "upper_bound": {
            "run": names.get(description(model)) or (next(iter(names.values())) if len(names) == 1 else None),
            "agents": {agent.name: names.get(description(agent.model or model)) for agent in agents},
        },
        "settings": settings,
    }


def priced_models(manifest: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Names and addresses of the models that a run asks, each once; off-policy and imported, nobody plays the user."""
    compared = manifest["compared"]
    played = [agent for agent in compared["agents"] if not agent.get("reference")]
    models = [agent.get("model") or compared["model"] for agent in played] or [compared["model"]]
    if not compared.get("off_policy") and "imported" not in compared:
        models.append(compared["user_model"])
    return list(dict.fromkeys(place_of_model(model) for model in models))


def place_of_model(described: Mapping[str, Any]) -> tuple[str, str | None]:
    """Name and address of a model as a manifest describes it."""
    return described["model"], described.get("base_url")


def resumable(spec: RunSpec, model: ModelSettings, user_model: ModelSettings) -> dict[str, Any]:
    """A run's settings as they are found from another folder and another shell."""
    # the rates of a file of prices are kept, which may be gone when the run goes on
    settings = spec.model_dump(mode="json", exclude={"out", "prices"})
    settings["data"] = spec.data if is_data_name(spec.data) else str(files.at_home(spec.data).absolute())
    for name in ("off_policy", "policy"):
        if settings[name] is not None:
            settings[name] = str(files.at_home(settings[name]).absolute())
    settings["model"] = located(spec.model)
    if spec.user_model is not None:
        settings["user_model"] = located(spec.user_model)
    settings["base_url"] = model.resolved_url() or spec.base_url
    if asks_endpoint(user_model.model):
        settings["user_base_url"] = spec.user_base_url or os.environ.get(USER_URL) or None
    settings["agents"] = [resumable_agent(name) for name in spec.agents]
    return settings


def describe_data(dataset: Dataset) -> dict[str, Any]:
    """The played part: its source's hash and its own as it is kept, users, questions, exams (one agent, one trial)."""
    return {
        "sha256": dataset.sha256,
        "played": digest_of_users(dataset),
        "users": len(dataset),
        "questions": sum(len(scenario.qas) for scenario in dataset),
        "exams": sum(len(scenario.qas) * len(scenario.periods) for scenario in dataset),
    }


def default_directory(manifest: dict[str, Any]) -> Path:
    """runs/<data>-<model>-<fingerprint>: two settings never share one. A shard is called after its whole run."""
    model = str(manifest["compared"]["model"]["model"])
    readable = files.slug(f"{manifest['data']['name']} {model}").rpartition("-")[0]
    part = shard_of(manifest)
    which = "" if part is None else f"-shard-{part.number}-of-{part.of}"
    return Path("runs") / f"{readable}-{whole(manifest)['fingerprint'][:8]}{which}"


def resumable_agent(agent: str) -> str:
    """File names of agents (v1 configurations, `memory.py:Class`) as absolute paths."""
    if is_agent_file(agent):
        return str(Path(agent).resolve())
    if box_settings(agent) is not None:
        return agent
    source, colon, name = agent.partition(".py:")
    return f"{Path(source + '.py').resolve()}:{name}" if colon else agent
