"""Playing an environment to its end, as a trainer would; and a user whose secrets can be told by their looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium

import amemgym.gym  # noqa: F401 - registers the ids
from amemgym.kit.canary import canary_scenario
from amemgym.scenario import Dataset, Scenario, load_dataset

MEMORY, POLICY = "amemgym/Memory-v0", "amemgym/MemoryPolicy-v0"
Policy = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True)
class Moment:
    """What was observed, what had been earned for it, and what was told."""

    observation: Any
    reward: float
    info: dict[str, Any]


def starter() -> Dataset:
    return load_dataset("starter")


def canary() -> Dataset:
    return dataset_of(canary_scenario())


def dataset_of(*scenarios: Scenario) -> Dataset:
    return Dataset("made", "", scenarios)


def play(env: gymnasium.Env[Any, Any], policy: Policy, seed: int = 0, user: str | None = None) -> list[Moment]:
    """A whole episode, the first observation included."""
    observation, info = env.reset(seed=seed, options={"user": user} if user else None)
    moments = [Moment(observation, 0.0, info)]
    terminated = False
    while not terminated:
        observation, reward, terminated, truncated, info = env.step(policy(observation, info))
        assert not truncated
        moments.append(Moment(observation, float(reward), info))
    return moments


def first_option(observation: Any, info: dict[str, Any]) -> str:
    return '{"answer": 1}' if info["kind"] == "exam" else "I see."
