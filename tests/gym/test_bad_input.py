"""Whatever is wrong is told in a sentence that names it, when the environment is made or stepped; nothing has happened
then."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any

import gymnasium
import numpy as np
import pytest

from amemgym.errors import AMemGymError, UsageError
from amemgym.gym import MemoryEnv, MemoryPolicyEnv
from amemgym.together import Background
from tests.gym.played import first_option, play

WRONG: list[tuple[type[gymnasium.Env[Any, Any]], dict[str, Any], str]] = [
    (MemoryEnv, {"data": "no-such-data"}, "unknown data set 'no-such-data'"),
    (MemoryEnv, {"data": 3}, "data is a int"),
    (MemoryEnv, {"agent_parts": ("reply",)}, "'reply' needs 'memory'"),
    (MemoryEnv, {"agent_parts": ("memory", "exam")}, "plays no 'exam'"),
    (MemoryEnv, {"agent_parts": "memory"}, "give a tuple"),
    (MemoryEnv, {"agent": "rug"}, "unknown agent 'rug'"),
    (MemoryEnv, {"agent_parts": ("memory",), "agent": "oracle"}, "'oracle' has no memory"),
    (MemoryEnv, {"agent_parts": ("memory",), "agent": 3}, "neither a name nor a class"),
    (MemoryEnv, {"user_model": "nobody"}, "unknown model 'nobody'"),
    (MemoryEnv, {"agent_parts": ("memory",), "model": "openai:"}, "names no model"),
    (MemoryEnv, {"users": 9}, "users=9: data set 'starter' has 3 users"),
    (MemoryEnv, {"users": ()}, "names no user"),
    (MemoryEnv, {"users": ["nobody"]}, "has no user 'nobody'"),
    (MemoryEnv, {"periods": 9}, "at most 8 periods"),
    (MemoryEnv, {"periods": 0}, "periods=0"),
    (MemoryEnv, {"protocol": "v9"}, "unknown protocol 'v9'"),
    (MemoryEnv, {"rounds_later": 0}, "rounds_later"),
    (MemoryEnv, {"language": "xx"}, "unknown prompt language 'xx'"),
    (MemoryEnv, {"embedder": "xx"}, "unknown embedder 'xx'"),
    (MemoryEnv, {"max_chars": 0}, "max_chars=0"),
    (MemoryEnv, {"render_mode": "human"}, "render_mode='human'"),
    (MemoryPolicyEnv, {"actions": "words"}, "actions='words'"),
    (MemoryPolicyEnv, {"observations": None}, "observations=None"),
    (MemoryPolicyEnv, {"room": 0}, "room=0"),
    (MemoryPolicyEnv, {"topk": 1.5}, "topk=1.5"),
    (MemoryPolicyEnv, {"model": "nobody"}, "unknown model 'nobody'"),
]


@pytest.mark.parametrize(("cls", "settings", "sentence"), WRONG)
def test_a_wrong_setting_is_named(cls: type[gymnasium.Env[Any, Any]], settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AMemGymError) as raised:
        cls(**settings)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("action", [None, 3, b"text", ["text"], np.zeros(2), {"text": "a"}])
def test_an_action_that_is_no_text_is_named_and_changes_nothing(action: Any) -> None:
    with MemoryEnv(periods=1, max_chars=20) as env, MemoryPolicyEnv(periods=1, max_chars=20) as other:
        for one in (env, other):
            one.reset(seed=0)
            with pytest.raises(UsageError, match=f"the action is a {type(action).__name__}, not text"):
                one.step(action)
            with pytest.raises(UsageError, match="has 21 characters, more than the 20 of the action space"):
                one.step("x" * 21)
        whole = play(env, first_option, seed=0)
        env.reset(seed=0)
        with pytest.raises(UsageError):
            env.step(action)
        assert env.step("I see.")[0] == whole[1].observation


@pytest.mark.parametrize("action", ["keep", None, [1, 0], [1, 0, 2, 0], np.full(4, 0.5), np.zeros((2, 2))])
def test_an_action_that_is_no_setting_names_the_settings(action: Any) -> None:
    with MemoryPolicyEnv(periods=1, actions="settings") as env:
        env.reset(seed=0)
        with pytest.raises(UsageError, match="4 bits: keep_opening, keep_follow_ups, keep_replies, replace_nearest"):
            env.step(action)
        env.step([1, 0, 0, True])


def test_a_step_out_of_turn_and_a_wrong_reset_are_told() -> None:
    env = MemoryEnv(periods=1, render_mode="ansi")
    with pytest.raises(UsageError, match=r"has not begun.*reset"):
        env.step("hello")
    with pytest.raises(UsageError, match="call reset"):
        env.render()
    with pytest.raises(UsageError, match="no user 'nobody' in this environment; its users: rosalind"):
        env.reset(options={"user": "nobody"})
    with pytest.raises(UsageError, match="no option 'users'"):
        env.reset(options={"users": 1})
    play(env, first_option)
    with pytest.raises(UsageError, match="the episode is over"):
        env.step("hello")
    env.close()
    with pytest.raises(UsageError, match="closed"):
        env.reset()
    with pytest.raises(gymnasium.error.ResetNeeded):
        gymnasium.make("amemgym/Memory-v0").step("hello")


def test_what_is_too_long_to_be_observed_ends_the_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """The action has happened, and what it earned could not be told."""
    with MemoryEnv(periods=1) as env:
        env.reset(seed=0)
        with monkeypatch.context() as small:
            small.setattr("amemgym.gym.base.OBSERVED_CHARS", 10)
            with pytest.raises(UsageError, match=r"has \d+ characters, more than 10"):
                env.step("I see.")
        with pytest.raises(UsageError, match=r"stopped by an error; call reset"):
            env.step("I see.")
        assert env.reset(seed=0)[1]["kind"] == "message"


def test_an_environment_that_cannot_let_go_still_ends_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    env = MemoryEnv(periods=1)
    env.reset(seed=0)
    thread = env._background._running.thread  # type: ignore[union-attr]

    async def failing() -> None:
        raise OSError("gone")

    monkeypatch.setattr(env._world, "aclose", failing)
    with pytest.raises(OSError, match="gone"):
        env.close()
    assert not thread.is_alive()
    env.close()


def test_a_loop_that_cannot_be_made_is_told_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(work: Coroutine[Any, Any, None]) -> None:
        work.close()
        raise OSError(24, "Too many open files")

    async def nothing() -> None: ...

    raised: list[BaseException] = []

    def call() -> None:
        try:
            Background().call(nothing)
        except OSError as error:
            raised.append(error)

    monkeypatch.setattr(asyncio, "run", refused)
    caller = Thread(target=call, daemon=True)
    caller.start()
    caller.join(10)
    assert [str(error) for error in raised] == ["[Errno 24] Too many open files"]
