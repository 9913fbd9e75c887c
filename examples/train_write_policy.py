"""Train a memory policy, without a model key: what of each session is worth a place in a store with little room?

The environment is `amemgym/MemoryPolicy-v0`: after each session the policy sets four bits (keep the opening, the
follow-ups, the replies; let the nearest item go instead of the oldest), and at the end of each period the offline model
is examined from the store alone. Most sessions are small talk or about somebody else. The policy is logistic: a weight
for each bit and feature of the session, all near 0 at the start, so that it keeps by the toss of a coin.

It learns by REINFORCE. Copies of the environment play the same months of a training user with bits drawn from the
policy; what each earns from a session on is compared with what the copies earn in the mean (so an easy user is no
merit), and the bits of the better ones become likelier. Then policies play the months of held-out users, whom training
never saw, side by side: what is reported is the difference of accuracies, paired by user, with its 95% interval.

    python examples/train_write_policy.py
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from amemgym import load_dataset
from amemgym.gym import FEATURES, SETTINGS
from amemgym.scenario import split_users
from amemgym.scores.intervals import difference_interval, ratio_interval

Array = NDArray[np.float64]
Bits = NDArray[np.int8]
Copies = VectorEnv[Any, Any, Any]

DATA = "bank:base?periods=4&questions=5&distractors=3&others=3"
ROOM = 8
COPIES = 4
BATCH = 4  # users of a training step
RATE = 1.0
DISCOUNT = 0.9  # of what is earned a session later
RIDGE = 1e-4


class Policy(Protocol):
    def act(self, seen: Array) -> Bits:
        """The bits, one for each of SETTINGS, after a session with these features."""


class Always:
    """The same after every session."""

    def __init__(self, *settings: str) -> None:
        self.bits: Bits = np.array([name in settings for name in SETTINGS], dtype=np.int8)

    def act(self, seen: Array) -> Bits:
        return self.bits


@dataclass(frozen=True)
class Logistic:
    """The chance of each bit: the logistic function of weighted features. `weights`: bits × (features and a 1)."""

    weights: Array
    draws: np.random.Generator | None = None  # None: no chance, a bit is set where that is the likelier

    def chances(self, inputs: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-inputs @ self.weights.T)))

    def act(self, seen: Array) -> Bits:
        level = 0.5 if self.draws is None else self.draws.random(len(SETTINGS))
        return (self.chances(with_one(seen)) > level).astype(np.int8)


def with_one(seen: Array) -> Array:
    return np.concatenate([seen, np.ones((*seen.shape[:-1], 1))], axis=-1)


@dataclass(frozen=True)
class Played:
    """The months of one user in each copy: copies × sessions (× features, × bits), and the exams' sums, by copy."""

    inputs: Array
    bits: Array
    rewards: Array
    right: Array
    questions: Array


def play(copies: Copies, user: str, seed: int, policies: Sequence[Policy]) -> Played:
    """Each copy plays the same months (and sees options in the same order), each with its policy."""
    seen, _ = copies.reset(seed=[seed] * len(policies), options={"user": user})
    inputs, bits, rewards = [], [], []
    right, questions = np.zeros(len(policies)), np.zeros(len(policies))
    over = False
    while not over:
        acts = np.stack([policy.act(row) for policy, row in zip(policies, seen, strict=True)])
        inputs.append(with_one(seen.astype(float)))
        bits.append(acts.astype(float))
        seen, reward, ended, _, info = copies.step(acts)
        rewards.append(reward)
        right += info.get("right", 0)
        questions += info.get("questions", 0)
        over = bool(ended.all())  # a user has the same sessions in every copy
    return Played(np.stack(inputs, 1), np.stack(bits, 1), np.stack(rewards, 1), right, questions)


def advantages(rewards: Array) -> Array:
    """What each copy earns from each session on, above the mean of the copies. Shapes: copies × sessions."""
    later, returns = np.zeros(len(rewards)), np.zeros_like(rewards)
    for session in reversed(range(rewards.shape[1])):
        returns[:, session] = later = rewards[:, session] + DISCOUNT * later
    return returns - returns.mean(axis=0)


def improved(policy: Logistic, batch: Sequence[Played]) -> Logistic:
    """One step along the natural policy gradient (Kakade 2001), which does not depend on the features' scales."""
    inputs = np.concatenate([played.inputs.reshape(-1, played.inputs.shape[-1]) for played in batch])
    bits = np.concatenate([played.bits.reshape(-1, len(SETTINGS)) for played in batch])
    gains = np.concatenate([advantages(played.rewards).ravel() for played in batch])
    gains /= max(gains.std(), 1e-9)
    chances = policy.chances(inputs)
    weights = policy.weights.copy()
    for bit in range(len(SETTINGS)):
        p = chances[:, bit]
        gradient = (bits[:, bit] - p) * gains @ inputs
        fisher = (inputs.T * (p * (1 - p))) @ inputs + RIDGE * len(inputs) * np.eye(inputs.shape[1])
        weights[bit] += RATE * np.linalg.solve(fisher, gradient)
    return replace(policy, weights=weights)
