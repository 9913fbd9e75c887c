"""The configurations of a search: every combination of the choices, and which agent each one is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from amemgym.agents import ROOMS, AgentSpec, told, with_numbers
from amemgym.errors import UsageError
from amemgym.evaluate import RunSpec
from amemgym.search.spec import TuneSpec

#: memories that are read whole, or not at all, so that topk changes nothing
WITHOUT_TOPK = ("none", "in-context")


@dataclass(frozen=True)
class Configuration:
    """One setting of everything that can be searched. `policy` is a file, None the agent's own; `room` None is none."""

    freq: int
    n_s: int
    topk: int
    policy: str | None = None
    room: int | None = None

    def agent(self, name: str) -> str:
        """The agent with these numbers. Raises UsageError."""
        return with_numbers(name, self.freq, self.n_s, self.topk)

    def run(self, spec: RunSpec, agent: str, **more: Any) -> RunSpec:
        """The run that plays it: `spec`, with this agent in it."""
        own = {"agents": (self.agent(agent),), "policy": self.policy, "room": self.room}
        return spec.model_copy(update={**own, **more})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def told(self, agent: str) -> str:
        """In words: the agent, and what its name does not say."""
        more = [f"policy {self.policy}"] if self.policy is not None else []
        more += [f"room {self.room}"] if self.room is not None else []
        return ", ".join([self.agent(agent), *more])


@dataclass(frozen=True)
class Grid:
    """The choices of each setting that has more than one, in order; the others are as in `start`."""

    start: Configuration
    choices: Mapping[str, tuple[Any, ...]]

    @property
    def size(self) -> int:
        return math.prod(len(values) for values in self.choices.values())

    def at(self, places: Mapping[str, int]) -> Configuration:
        """The configuration with these choices, by their places."""
        return replace(self.start, **{name: self.choices[name][place] for name, place in places.items()})

    def places(self, configuration: Configuration) -> dict[str, int] | None:
        """Where it stands, or None where it is none of the grid."""
        found: dict[str, int] = {}
        for name, values in self.choices.items():
            value = getattr(configuration, name)
            if value not in values:
                return None
            found[name] = values.index(value)
        return found if self.at(found) == configuration else None

    def all(self) -> list[dict[str, int]]:
        """Every configuration, by places."""
        found: list[dict[str, int]] = [{}]
        for name, values in self.choices.items():
            found = [{**places, name: place} for places in found for place in range(len(values))]
        return found


def make_grid(spec: TuneSpec, agent: AgentSpec) -> tuple[Configuration, Grid]:
    """The agent as it is named, and the configurations that are searched.

    Raises UsageError where the agent has nothing to search, or not what is given.
    """
    check_searchable(spec.agent, agent)
    habits = agent.habits
    start = Configuration(habits.freq or 1, habits.n_s, habits.topk)
    lists: dict[str, tuple[Any, ...] | None] = {
        "freq": _ordered(spec.freq),
        "n_s": _ordered(spec.n_s),
        "topk": _ordered(spec.topk),
        "policy": spec.policies,
        "room": _ordered(spec.rooms),
    }
    given = {name: values for name, values in lists.items() if values is not None}
    if "topk" in given and agent.memory in WITHOUT_TOPK:
        raise UsageError(f"--topk: agent '{spec.agent}' picks no items out of a memory, so topk changes nothing for it")
    if "room" in given and agent.memory not in ROOMS:
        raise UsageError(f"--rooms: agent '{spec.agent}' keeps no record and no store of facts (awi, awe)")
    if "policy" in given and agent.purpose is None:
        raise UsageError(f"--policies: agent '{spec.agent}' cannot be told what to remember (awi, awe, rag)")
    for policy in given.get("policy", ()):
        told([agent], policy, None)
    single = {name: values[0] for name, values in given.items() if len(values) == 1}
    grid = Grid(replace(start, **single), {name: values for name, values in given.items() if len(values) > 1})
    if grid.size < 2:
        raise UsageError(
            f"nothing to search for agent '{spec.agent}': give two choices or more of a setting, such as --freq 2,4,8"
            + ("" if agent.memory in WITHOUT_TOPK else " or --topk 5,10,30")
        )
    return start, grid


def check_searchable(name: str, agent: AgentSpec) -> None:
    """Raises UsageError where an agent has no settings that can be searched."""
    if agent.is_box:
        raise UsageError(f"agent '{name}' runs behind an address, where its settings are out of reach")
    if agent.is_reference:
        raise UsageError(f"agent '{name}' is a reference agent and has no settings to search")
    if agent.habits.freq is None:
        raise UsageError(
            f"agent '{name}' has nothing to search: it keeps the whole conversation in its window, without a memory"
        )


def _ordered(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Numbers from low to high, no limit last: near numbers are alike, which the search may use."""
    return None if values is None else tuple(sorted(values, key=lambda value: math.inf if value is None else value))
