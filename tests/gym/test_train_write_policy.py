"""The example that trains a memory policy learns from training users alone, and says the same each time."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from amemgym import load_dataset
from amemgym.gym import FEATURES, SETTINGS, MemoryPolicyEnv
from amemgym.scenario import split_users

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_write_policy.py"
TINY = ["--users", "6", "--epochs", "1", "--one-process"]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_write_policy", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "train_write_policy", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "DATA", "bank:base?periods=2&questions=2&distractors=1&others=1")
    monkeypatch.setattr(module, "ROOM", 3)
    monkeypatch.setattr(module, "COPIES", 2)
    return module


def test_it_trains_on_training_users_alone_and_repeats_itself(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = f"{example.DATA}&users=6"
    split = split_users(load_dataset(data), example.TRAINING, 0)
    learning, used, known = False, [], []
    reset, train = MemoryPolicyEnv.reset, example.train

    def spied(self: MemoryPolicyEnv, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if learning:
            used.append((options or {})["user"])
            known.extend(scenario.id for scenario in self._world.scenarios)
        return reset(self, seed=seed, options=options)

    def watched(*given: Any) -> Any:
        nonlocal learning
        learning = True
        trained = train(*given)
        learning = False
        return trained

    monkeypatch.setattr(MemoryPolicyEnv, "reset", spied)
    monkeypatch.setattr(example, "train", watched)
    policy, scores = example.main(TINY)
    said = capsys.readouterr().out
    assert sorted(used) == sorted(split.training * example.COPIES)  # each in each copy, once an epoch
    assert set(known) == set(split.training)  # nor could the copies have played another
    assert scores.right.shape == (len(split.held_out), len(scores.names)) == (2, 5)
    assert (scores.questions == 2 * 2).all()
    gain, interval = scores.gain("start")
    assert np.isfinite([gain, *interval]).all() and np.isfinite(policy.weights).all()
    assert f"{gain:+.3f} [{interval[0]:+.3f}, {interval[1]:+.3f}]" in said
    again, _ = example.main(TINY)
    assert capsys.readouterr().out == said
    assert (again.weights == policy.weights).all()


def test_a_step_makes_likelier_what_earned_more(example: ModuleType) -> None:
    """A toy: keeping the opening is worth something where one feature is high, and costs as much where it is low."""
    draws = np.random.default_rng(0)
    policy = example.Logistic(np.zeros((len(SETTINGS), len(FEATURES) + 1)), draws)
    before = policy.chances(np.ones(len(FEATURES) + 1))
    for _ in range(10):
        inputs = example.with_one(draws.random((4, 40, len(FEATURES))))
        inputs[1:] = inputs[0]  # the same months in each copy
        bits = (draws.random((4, 40, len(SETTINGS))) < policy.chances(inputs)).astype(float)
        rewards = bits[..., 0] * (inputs[..., 4] - 0.5)
        policy = example.improved(policy, [example.Played(inputs, bits, rewards, rewards, rewards)])
    high, low = np.full(len(FEATURES), 0.5), np.full(len(FEATURES), 0.5)
    high[4], low[4] = 0.9, 0.1
    sure = replace(policy, draws=None)
    assert (sure.act(high)[0], sure.act(low)[0]) == (1, 0)
    assert policy.chances(example.with_one(high))[0] > 0.8 > 0.2 > policy.chances(example.with_one(low))[0]
    assert (before == 0.5).all()


def test_what_all_copies_earn_is_no_ones_merit(example: ModuleType) -> None:
    rewards = np.array([[0.0, 0.0, 1.0], [0.0, 0.5, 1.0]])
    gains = example.advantages(rewards)
    assert gains[:, 2].tolist() == [0, 0]
    assert gains[:, 1].tolist() == pytest.approx([-0.25, 0.25])
    assert gains[:, 0].tolist() == pytest.approx([-0.25 * example.DISCOUNT, 0.25 * example.DISCOUNT])
