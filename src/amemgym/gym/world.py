"""What both environments stand on: the users, the rules, the models behind their doors, and who makes agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from amemgym.agents import AgentSpec, agent_of_class, parse_agent
from amemgym.env import Episode, find_rules
from amemgym.errors import UsageError
from amemgym.evaluate import Players, RunSpec, make_spec, needs_endpoint
from amemgym.generate import load_dataset
from amemgym.llm import (
    Door,
    Doors,
    Gateway,
    Journal,
    Line,
    ModelSettings,
    Watcher,
    check_model_name,
    embedder_identity,
    know_keys,
)
from amemgym.memory import Memory
from amemgym.scenario import Dataset, Scenario
from amemgym.tasks import prompts_for


class World:
    """Everything is checked here, before anything is played. Raises DataError, UnknownName or UsageError.

    Args:
        data: a name or path that `amemgym.load_dataset` knows, or a data set.
        users: ids, or how many of the first; None for all.
        periods: how many of the first; None for all.
        settings: fields of `RunSpec`, as `amemgym.run` takes them.
    """

    def __init__(
        self,
        data: str | Path | Dataset,
        users: Sequence[str] | int | None,
        periods: int | None,
        **settings: Any,
    ) -> None:
        self.spec: RunSpec = make_spec(settings, "the environment")
        know_keys()
        self.rules = find_rules(self.spec.protocol, self.spec.rounds_initial, self.spec.rounds_later)
        self.prompts = prompts_for(self.spec.language)
        embedder_identity(self.spec.embedder)
        self.scenarios = _limited(_chosen(_opened(data), users), periods)
        for model in (self.spec.model_settings(), self.spec.user_settings()):
            check_model_name(model.model)
        self._doors = Doors(self.spec.limits(), Watcher())
        self.user_door = self._doors.to(self.spec.user_settings())
        self.players = Players(self.spec, self.model_settings, self._doors)
        # for what a server keeps under it, so that two environments do not meet there; no prompt and no result has it
        self.players.run_name = f"gym-{token_hex(4)}"

    @property
    def model_settings(self) -> ModelSettings:
        return self.spec.model_settings()

    def door(self, agent: AgentSpec) -> Door:
        """The door to an agent's model."""
        return self._doors.to(agent.model or self.model_settings)

    def line(self) -> Line:
        """A new episode's line through the doors; it keeps nothing on disk."""
        return Line(Journal(None), self.prompts)

    def episode(self, line: Line) -> Episode:
        return Episode(line.model(self.user_door, "user"), self.rules)

    def user(self, wanted: object, drawn: int) -> int:
        """Which user to play: the one asked for by id, else the one drawn. Raises UsageError."""
        if wanted is None:
            return drawn
        ids = [scenario.id for scenario in self.scenarios]
        if wanted not in ids:
            raise UsageError(f"there is no user {wanted!r} in this environment; its users: {_listed(ids)}")
        return ids.index(str(wanted))

    def number(self, scenario: Scenario) -> int:
        """The place of a user among those played, from 0."""
        return next(place for place, one in enumerate(self.scenarios) if one is scenario)

    async def aclose(self) -> None:
        await self.players.aclose()
        await self._doors.aclose()


def agent_with_memory(agent: str | type[Memory], context_tokens: int) -> AgentSpec:
    """An agent whose memory an environment can play. Raises UnknownName or UsageError, also where the memory cannot
    work here."""
    if isinstance(agent, type):
        spec = agent_of_class(agent, context_tokens)
    elif isinstance(agent, str):
        spec = parse_agent(agent, context_tokens)
    else:
        raise UsageError(f"agent {agent!r} is neither a name nor a class; give the class, not an instance")
    if spec.is_reference or spec.is_box:
        raise UsageError(f"agent '{agent}' has no memory that the environment could keep; name one such as rag or awi")
    spec.memory_type().check()
    if needs_endpoint(spec):
        Gateway.check()
    return spec


def _opened(data: str | Path | Dataset) -> Dataset:
    if isinstance(data, Dataset):
        return data
    if not isinstance(data, str | Path):
        raise UsageError(f"data is a {type(data).__name__}; give a name, a path, or a Dataset")
    return load_dataset(data)


def _chosen(dataset: Dataset, users: Sequence[str] | int | None) -> list[Scenario]:
    scenarios = {scenario.id: scenario for scenario in dataset}
    if users is None:
        return list(dataset)
    if isinstance(users, int) and not isinstance(users, bool):
        if not 1 <= users <= len(dataset):
            raise UsageError(f"users={users}: data set '{dataset.name}' has {len(dataset)} users")
        return list(dataset)[:users]
    ids = [users] if isinstance(users, str) else list(users) if isinstance(users, Sequence) else []
    if not ids:
        raise UsageError(f"users={users!r} names no user; give ids, how many of the first, or None for all")
    for name in ids:
        if name not in scenarios:
            raise UsageError(f"users: data set '{dataset.name}' has no user {name!r}; it has {_listed(scenarios)}")
    return [scenarios[name] for name in ids]


def _limited(scenarios: list[Scenario], periods: int | None) -> list[Scenario]:
    longest = max(len(scenario.periods) for scenario in scenarios)
    if periods is not None and (not isinstance(periods, int) or not 1 <= periods <= longest):
        raise UsageError(f"periods={periods!r}: these users have at most {longest} periods")
    return [scenario.limited(periods) for scenario in scenarios]


def _listed(ids: Sequence[str] | dict[str, Scenario]) -> str:
    shown = list(ids)[:10]
    return ", ".join(shown) + (f" (and {len(ids) - 10} more)" if len(ids) > 10 else "")
