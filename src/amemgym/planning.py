"""What a run would play: its data, agents, models and protocol, checked as far as can be before anything is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from amemgym.agents import AgentSpec, agent_of_class, checked, told
from amemgym.env import Rules, find_rules
from amemgym.errors import UsageError
from amemgym.evaluate import (
    Recorded,
    RunSpec,
    RunWatcher,
    check_addresses,
    make_manifest,
    priced_models,
    read_recorded,
    recorded_data,
)
from amemgym.generate import load_dataset
from amemgym.llm import (
    ModelSettings,
    check_choice,
    check_model_name,
    embedder_identity,
    know_keys,
)
from amemgym.llm.prices import PriceList
from amemgym.memory import Memory
from amemgym.scenario import Dataset


@dataclass(frozen=True)
class RunPlan:
    """What a run would play, checked as far as can be without a model; nothing is written yet. `prices` are what its
    calls are counted by."""

    dataset: Dataset
    agents: list[AgentSpec]
    model: ModelSettings
    user_model: ModelSettings
    rules: Rules
    recorded: Recorded | None
    manifest: dict[str, Any]
    prices: PriceList


def plan_run(
    spec: RunSpec,
    watcher: RunWatcher,
    classes: dict[str, type[Memory]] | None = None,
    user_key: SecretStr | None = None,
    dataset: Dataset | None = None,
    agents: Sequence[AgentSpec] | None = None,
) -> RunPlan:
    """The plan of a run; `dataset` is the one the spec names, where it is loaded already, `agents` those that play in
    place of the ones it names."""
    know_keys()
    model, user_model = spec.model_settings(), spec.user_settings(user_key)
    for settings in (model, user_model):
        check_model_name(settings.model)
    embedder_identity(spec.embedder)
    prices = PriceList.read(spec.prices)
    rules = find_rules(spec.protocol, spec.rounds_initial, spec.rounds_later)
    agents = checked(_agents(spec, watcher, classes or {}) if agents is None else list(agents))
    own_models = [agent.model for agent in agents if agent.model and not agent.is_box]
    check_addresses(spec, [model, user_model, *own_models])
    for settings in (model, *own_models):
        check_choice(settings)
    whole = _dataset(spec) if dataset is None else dataset
    played = whole.only(spec.only).limited(spec.users, spec.periods)
    recorded = read_recorded(Path(spec.off_policy), spec.off_policy_agent, played) if spec.off_policy else None
    manifest = make_manifest(spec, played, agents, model, user_model, rules, recorded)
    # what it costs changes no result, so it is not compared
    manifest["prices"] = prices.described(priced_models(manifest))
    return RunPlan(played, agents, model, user_model, rules, recorded, manifest, prices)


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
