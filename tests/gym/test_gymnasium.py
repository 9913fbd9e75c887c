"""What Gymnasium asks of any environment: its checker, ids, vectors, and that it ends when it is done with."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.gym.played import MEMORY, POLICY

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    (MEMORY, {}),
    (MEMORY, {"agent_parts": ("memory",)}),
    (MEMORY, {"agent_parts": ("memory", "reply"), "periods": 1}),
    (POLICY, {}),
    (POLICY, {"observations": "features"}),
    (POLICY, {"actions": "settings"}),
    (POLICY, {"actions": "settings", "observations": "features"}),
]


@pytest.mark.parametrize(("id_", "settings"), SETTINGS)
def test_gymnasium_s_checker_has_nothing_to_say(id_: str, settings: dict[str, Any]) -> None:
    with warnings.catch_warnings(), gymnasium.make(id_, render_mode="ansi", **settings) as env:
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(("id_", "settings"), [SETTINGS[0], SETTINGS[3], SETTINGS[6]])
def test_a_vector_of_environments_plays_as_each_would_alone(mode: str, id_: str, settings: dict[str, Any]) -> None:
    with gymnasium.make(id_, periods=1, **settings) as env:
        alone = [env.reset(seed=seed)[0] for seed in (3, 4)]
        action = env.action_space.sample()
        alone_next = []
        for seed in (3, 4):
            env.reset(seed=seed)
            alone_next.append(env.step(action)[0])
    vector = gymnasium.make_vec(id_, num_envs=2, vectorization_mode=mode, periods=1, **settings)
    try:
        seen, info = vector.reset(seed=[3, 4])
        assert all(np.array_equal(one, other) for one, other in zip(seen, alone, strict=True))
        assert list(info["kind"]) == ["message" if id_ == MEMORY else "session"] * 2
        actions = np.stack([action, action]) if isinstance(action, np.ndarray) else (action, action)
        seen, _, terminated, truncated, _ = vector.step(actions)
        assert all(np.array_equal(one, other) for one, other in zip(seen, alone_next, strict=True))
        assert seen in vector.observation_space and not terminated.any() and not truncated.any()
    finally:
        vector.close()


def test_a_vector_goes_on_with_the_next_episode() -> None:
    vector = gymnasium.make_vec(POLICY, num_envs=2, vectorization_mode="sync", periods=1, actions="settings")
    vector.reset(seed=0)
    vector.action_space.seed(0)
    ends, told = 0, 0
    for _ in range(11):  # eight sessions, a reset, two sessions
        _, rewards, terminated, _, info = vector.step(vector.action_space.sample())
        ends += int(terminated.sum())
        told += int(info.get("_questions", np.zeros(2)).sum())
        assert ((rewards >= 0) & (rewards <= 1)).all()
    vector.close()
    assert ends == told == 2 and not terminated.any()


def test_a_forgotten_environment_ends_its_thread() -> None:
    env = gymnasium.make(MEMORY).unwrapped
    env.reset(seed=0)
    thread = env._background._running.thread  # type: ignore[attr-defined]
    assert thread.is_alive()
    del env
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_it_is_made_by_its_id_alone_and_lets_the_interpreter_end() -> None:
    """Without `import amemgym.gym`, by the module's name before the id; nothing is closed."""
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('amemgym.gym:amemgym/Memory-v0', agent_parts=('memory',))\n"
        "env.reset(seed=0)\n"
        "env.step('I see.')\n"
        "print(env.unwrapped.spec.id)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr, done.returncode) == (MEMORY, "", 0)


def test_the_guide_s_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "gymnasium.md"
    for example in re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL):
        exec(example, {})
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d+ questions answered right", said[0])
    assert [bool(re.fullmatch(r"\d of 8 right", line)) for line in said[1:]] == [True] * 8
