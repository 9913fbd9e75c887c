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

It takes about a minute on two cores and ends with, among others (380 exam questions of 19 held-out users):

    trained − start                      +0.347 [+0.293, +0.402] more
    trained − keep everything            +0.279 [+0.218, +0.340] more
    trained − openings, the nearest goes +0.116 [+0.068, +0.163] more

Held-out users are other people of the same bank, with the same ways to say things. So this shows that the loop learns
what carries over to users it has not met, not that these weights would serve other data or another model.
"""

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from numpy.typing import NDArray

from amemgym import load_dataset
from amemgym.gym import FEATURES, SETTINGS
from amemgym.scenario import Dataset, split_users
from amemgym.scores.intervals import clipped, difference_interval, ratio_interval

Array = NDArray[np.float64]
Bits = NDArray[np.int8]
Copies = AsyncVectorEnv | SyncVectorEnv

DATA = "bank:base?periods=4&questions=5&distractors=3&others=3"
ROOM = 8  # items in the store; of a user's sessions about 15 tell something of the user, and 24 do not
COPIES = 4
TRAINING = 0.7  # share of the users
BATCH = 4  # users of a training step
RATE = 1.0
DISCOUNT = 0.9  # of what is earned a session later
RIDGE = 1e-4  # keeps a feature that hardly varied from a great weight


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
    return np.asarray(returns - returns.mean(axis=0))


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


def opened(users: Sequence[str], data: Dataset, copies: int, processes: bool) -> Copies:
    """So many copies of an environment that has these users alone, each copy in a process of its own if so wanted."""
    make = partial(gymnasium.make, "amemgym.gym:amemgym/MemoryPolicy-v0", data=data, users=users, room=ROOM)
    made = [partial(make, actions="settings", observations="features")] * copies
    return AsyncVectorEnv(made) if processes else SyncVectorEnv(made)


def train(copies: Copies, users: Sequence[str], policy: Logistic, epochs: int, draws: np.random.Generator) -> Logistic:
    """The policy after each training user was played so often, a step after every BATCH users."""
    for epoch in range(epochs):
        order = [users[place] for place in draws.permutation(len(users))]
        played: list[Played] = []
        for start in range(0, len(order), BATCH):
            seeds = draws.integers(2**31, size=BATCH)
            batch = [play(copies, u, int(s), [policy] * COPIES) for u, s in zip(order[start:], seeds, strict=False)]
            policy = improved(policy, batch)
            played += batch
        for name, part in (("first", played[: len(played) // 2]), ("second", played[len(played) // 2 :])):
            right, asked = sum(p.right.sum() for p in part), sum(p.questions.sum() for p in part)
            print(f"epoch {epoch + 1}, {name} half: {right / asked:.3f} right with bits drawn, n={asked:.0f}")
    return policy


@dataclass(frozen=True)
class Scores:
    """How policies did with the same users: users × policies."""

    names: Sequence[str]
    right: Array
    questions: Array

    def accuracy(self, name: str) -> float:
        place = self.names.index(name)
        return float(self.right[:, place].sum() / self.questions[:, place].sum())

    def interval(self, name: str) -> tuple[float, float] | None:
        """95%, clustered by user."""
        place = self.names.index(name)
        return clipped(ratio_interval(self.right[:, place].tolist(), self.questions[:, place].tolist()))

    def gain(self, over: str, name: str = "trained") -> tuple[float, tuple[float, float] | None]:
        """The difference of accuracies with its 95% interval, paired and clustered by user."""
        columns = [a[:, self.names.index(n)].tolist() for n in (name, over) for a in (self.right, self.questions)]
        return self.accuracy(name) - self.accuracy(over), difference_interval(*columns)


def compared(policies: dict[str, Policy], users: Sequence[str], data: Dataset, processes: bool) -> Scores:
    """Every policy plays each user's months once."""
    with closing(opened(users, data, len(policies), processes)) as copies:
        played = [play(copies, user, seed, list(policies.values())) for seed, user in enumerate(users)]
    return Scores(list(policies), np.stack([p.right for p in played]), np.stack([p.questions for p in played]))


def told(scores: Scores, users: str) -> str:
    def between(interval: tuple[float, float] | None, sign: str = "") -> str:
        return f"[{interval[0]:{sign}.3f}, {interval[1]:{sign}.3f}]" if interval else "(no interval of one user)"

    asked = int(scores.questions[:, 0].sum())
    lines = [f"{users}: {len(scores.right)} users, {asked} exam questions a policy; accuracy [95% by user]"]
    lines += [f"  {n:36} {scores.accuracy(n):.3f} {between(scores.interval(n))}" for n in scores.names]
    for name in scores.names:
        if name != "trained":
            gain, interval = scores.gain(name)
            sure = interval is not None and (interval[0] > 0 or interval[1] < 0)
            verdict = ("more" if gain > 0 else "less") if sure else "no difference seen"
            lines.append(f"  {'trained − ' + name:36} {gain:+.3f} {between(interval, '+')} {verdict}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> tuple[Logistic, Scores]:
    parser = argparse.ArgumentParser(description="Train what to keep, and measure it on held-out users.")
    parser.add_argument("--users", type=int, default=64, help="training and held-out users")
    parser.add_argument("--epochs", type=int, default=1, help="times each training user is played")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the start and all that is drawn")
    parser.add_argument("--one-process", action="store_true", help="no process for each copy")
    chosen = parser.parse_args(arguments)
    data, processes = load_dataset(f"{DATA}&users={chosen.users}"), not chosen.one_process
    split = split_users(data, TRAINING, chosen.seed)
    print(
        f"{data.name}: {len(split.training)} users to train on, {len(split.held_out)} held out; room for {ROOM} items"
    )
    draws = np.random.default_rng(chosen.seed)
    start = Logistic(draws.normal(0, 0.1, (len(SETTINGS), len(FEATURES) + 1)))
    with closing(opened(split.training, data, COPIES, processes)) as copies:
        learner = train(copies, split.training, replace(start, draws=draws), chosen.epochs, draws)
    trained = replace(learner, draws=None)
    policies: dict[str, Policy] = {
        "trained": trained,
        "start": start,
        "start, bits drawn": replace(start, draws=draws),
        "keep everything": Always("keep_opening", "keep_follow_ups", "keep_replies"),
        "openings, the nearest goes": Always("keep_opening", "replace_nearest"),
    }
    held_out = compared(policies, split.held_out, data, processes)
    print(told(held_out, "Held out"))
    known = split.training[: len(split.held_out)]
    print(told(compared({"trained": trained, "start": start}, known, data, processes), "Trained on, as many"))
    for name, weights in zip(SETTINGS, trained.weights, strict=True):
        heaviest = sorted(zip(FEATURES, weights, strict=False), key=lambda pair: -abs(pair[1]))[:3]
        print(f"{name}: " + ", ".join(f"{weight:+.1f} {feature}" for feature, weight in heaviest))
    return trained, held_out


if __name__ == "__main__":
    main()
