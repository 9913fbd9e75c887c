"""What both adapters to training tools stand on: what a policy is shown of an episode, and what its replies earn."""

from __future__ import annotations

import runpy
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pytest

from amemgym.env import Environment, ExamTurn, Step, UserTurn
from amemgym.errors import UsageError
from amemgym.gym import adapters
from amemgym.gym.adapters.seat import Seat, Shown, find_user, load_users

ADAPTERS = {
    "openenv": ("amemgym.gym.adapters.openenv_server", "openenv.core.env_server"),
    "verifiers": ("amemgym.gym.adapters.verifiers_env", "verifiers.v1"),
}
ANSWER = '{"answer": 1}'


def shown_of(seat: Seat, first: Shown) -> list[Shown]:
    """All that is shown of an episode to who always takes the first option."""
    shown = [first]
    while not shown[-1].done:
        shown.append(seat.reply(ANSWER if shown[-1].kind == "exam" else "I see."))
    return shown


def test_a_policy_is_shown_the_words_of_the_episode_and_nothing_of_what_is_right() -> None:
    (scenario,) = load_users("starter", users=1, periods=2)
    with Seat() as seat, Environment() as environment:
        shown = shown_of(seat, seat.reset(scenario, seed=5))
        step = environment.reset(scenario, seed=5)
        for one in shown[:-1]:
            seen = step.observation
            assert seen is not None
            if isinstance(seen, ExamTurn):
                question = seen.question
                lines = "\n".join(f"{number}: {option}" for number, option in enumerate(question.options, start=1))
                assert (one.kind, one.options, one.time) == ("exam", len(question.options), question.now)
                assert question.query in one.text and lines in one.text
            else:
                message = seen.message
                assert (one.kind, one.options, one.text, one.time) == ("message", 0, message.content, message.time)
            assert one.period == seen.period
            assert (one.reward, one.status) == (step.reward, step.info.get("status"))
            step = environment.step(ANSWER if isinstance(seen, ExamTurn) else "I see.")
        assert shown[-1] == Shown("", "end", None, None, 0, step.reward, step.info["status"])
        rewards = [one.reward for one in shown if one.reward is not None]
        assert (seat.questions, seat.right) == (len(rewards), sum(rewards)) == (2 * len(scenario.qas), sum(rewards))
        assert 0 < seat.right < seat.questions
    assert set(asdict(shown[0])) == {"text", "kind", "period", "time", "options", "reward", "status"}


def test_a_new_episode_counts_anew() -> None:
    (scenario,) = load_users("starter", users=1, periods=1)
    with Seat() as seat:
        assert shown_of(seat, seat.reset(scenario, 1)) == shown_of(seat, seat.reset(scenario, 1))
        assert seat.questions == len(scenario.qas)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("<think>They moved.</think>Congratulations!", "Congratulations!"),
        ("", "(no reply)"),
        ("A broken \ud83d emoji", "A broken \ufffd emoji"),
    ],
)
def test_the_user_is_told_a_reply_as_an_agent_would_say_it(
    said: str, heard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scenario,) = load_users("starter", users=1, periods=1)
    told: list[str] = []

    def step(environment: Environment, reply: str) -> Step:
        told.append(reply)
        return Step(None)

    monkeypatch.setattr(Environment, "step", step)
    with Seat() as seat:
        assert seat.reset(scenario).kind == "message"
        seat.reply(said)
    assert told == [heard]


def test_an_unreadable_answer_earns_nothing_and_is_told_apart_from_a_wrong_one() -> None:
    (scenario,) = load_users("starter", users=1, periods=1)
    with Seat() as seat, Environment() as environment:
        shown, step = seat.reset(scenario), environment.reset(scenario)
        while isinstance(step.observation, UserTurn):
            shown, step = seat.reply("I see."), environment.step("I see.")
        assert shown.kind == "exam"
        unread = seat.reply("I had rather not say.")
        assert (unread.reward, unread.status) == (0.0, "invalid")
        read = seat.reply(ANSWER)
        assert read.status == "ok" and read.reward is not None


def test_a_user_is_found_by_id_and_by_number() -> None:
    users = load_users("starter")
    assert find_user(users, users[1].id) is users[1] is find_user(users, 1)
    for wrong in (-1, len(users), True, None, "nobody"):
        with pytest.raises(UsageError, match=f"unknown user '{wrong}'.* Known: {users[0].id}, .*from 0 to 2"):
            find_user(users, wrong)


def test_wrong_settings_are_named() -> None:
    for settings, said in [
        ({"rounds_later": 0}, "rounds_later is 0; it must be at least 1"),
        ({"protocol": "v7"}, "unknown protocol 'v7'"),
        ({"user_model": "nobody"}, "unknown model 'nobody'"),
        ({"language": "xx"}, "unknown prompt language 'xx'"),
    ]:
        with pytest.raises(UsageError, match=said):
            Seat(**settings)  # type: ignore[arg-type]
    for more, said in ({"users": 4}, "has 3 users"), ({"periods": 9}, "has at most 8 periods"):
        with pytest.raises(UsageError, match=said):
            load_users("starter", **more)
    with pytest.raises(UsageError, match="periods is 0"):
        load_users("starter", periods=0)
    with pytest.raises(UsageError, match="unknown data set 'nosuch'"):
        load_users("nosuch")


@pytest.mark.parametrize("extra", ADAPTERS)
def test_a_missing_package_is_one_sentence_with_the_extra(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, package = ADAPTERS[extra]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(UsageError, match=rf"needs an extra \(.*\): pip install 'amemgym\[{extra}\]'$"):
        import_module(module)


def test_the_server_without_its_package_ends_with_that_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, ADAPTERS["openenv"][1], None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(Path(adapters.__file__).with_name("openenv_server.py")), run_name="__main__")
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: the OpenEnv server needs an extra (")
