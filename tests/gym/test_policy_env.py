"""MemoryPolicy-v0: what keeping earns, what the store does, and that nothing hidden is seen."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from statistics import mean
from typing import Any

import gymnasium
import numpy as np
import pytest

from amemgym.gym import FEATURES, SETTINGS
from amemgym.gym.features import features_of
from amemgym.gym.keeping import Kept, Session, keep_by_settings, keep_text
from amemgym.kit.canary import CANARY
from amemgym.llm import embedder
from amemgym.memory import Item
from amemgym.messages import Message, opening
from tests.gym.played import POLICY, Moment, canary, dataset_of, play, starter

DAY = datetime(2024, 3, 1, 9)


def made(**settings: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(POLICY, **settings)


def chosen(*names: str) -> Any:
    bits = np.array([name in names for name in SETTINGS], dtype=np.int8)
    return lambda observation, info: bits


def accuracy(moments: list[Moment]) -> float:
    return mean(m.reward for m in moments if "questions" in m.info)


def test_a_sensible_policy_earns_more_than_a_random_one() -> None:
    """Of two users' first two periods: 1.00 for all that the user said, 0.41 for random settings, 0.22 for nothing."""
    users = [scenario.id for scenario in starter()][:2]
    with made(actions="settings", observations="features", users=users, periods=2) as env:
        env.action_space.seed(0)

        def earned(policy: Any) -> float:
            return mean(accuracy(play(env, policy, seed=1, user=user)) for user in users)

        nothing = earned(chosen())
        random = earned(lambda observation, info: env.action_space.sample())
        sensible = earned(chosen("keep_opening", "keep_follow_ups"))
    assert nothing < 0.25 < random < sensible - 0.2


def test_a_step_is_a_session_and_a_period_ends_with_an_exam() -> None:
    scenario = starter().scenarios[0].limited(2)
    with made(users=1, periods=2) as env:
        moments = play(env, lambda observation, info: "The user lives somewhere.")
    sessions = [(p, s) for p, period in enumerate(scenario.periods) for s in range(len(period.sessions))]
    assert [(m.info["period"], m.info.get("session")) for m in moments[:-1]] == sessions
    assert moments[-1].info["kind"] == "end"
    for moment, (period, session) in zip(moments, sessions, strict=False):
        said = scenario.periods[period].sessions[session]
        assert moment.info["time"] == said.session_time and said.session_time in moment.observation
        assert said.query in moment.observation and "ASSISTANT: " in moment.observation
    exams = [m for m in moments if "questions" in m.info]
    assert [m.info["period"] for m in exams] == [1, 1]  # what is seen then: the next period's first session, the end
    for moment in exams:
        info = moment.info
        assert info["questions"] == len(scenario.qas) == len(info["correct"]) and info["errors"] == 0
        assert moment.reward == info["right"] / info["questions"] == mean(info["correct"])
    assert {m.reward for m in moments if "questions" not in m.info} == {0.0}


def test_what_is_written_is_kept_line_by_line_and_the_oldest_goes() -> None:
    with made(users=1, periods=1, room=3) as env:
        env.reset(seed=0)
        env.step("one\n\n  two  \n")
        observation, _, _, _, info = env.step("three\nfour")
        assert info["items"] == 3 and "(3 of 3 items" in observation
        assert [text in observation for text in ("] one\n", "] two\n", "] three\n", "] four")] == [
            False,
            True,
            True,
            True,
        ]
        observation, _, _, _, info = env.step("")
        assert info["items"] == 3


def test_settings_keep_what_they_name() -> None:
    said = (
        Message("user", opening("I moved to Oslo.", DAY), DAY),
        Message("assistant", "Nice.", DAY),
        Message("user", "Thanks!", DAY),
        Message("assistant", "Welcome.", DAY),
    )
    session = Session(0, 0, DAY, said)

    def kept(*names: str, room: int = 9, before: tuple[str, ...] = ()) -> list[str]:
        store = Kept(room, embedder(), [Item(text, DAY) for text in before])
        keep_by_settings(store, session, [name in names for name in SETTINGS])
        return [item.text for item in store.items]

    assert kept() == []
    assert kept("keep_opening") == ["user: I moved to Oslo."]
    assert kept("keep_follow_ups") == ["user: Thanks!"]
    assert kept("keep_replies") == ["assistant: Nice.", "assistant: Welcome."]
    before = ("user: I bake bread.", "user: I moved to Bergen.")
    assert kept("keep_opening", room=2, before=before) == [before[1], "user: I moved to Oslo."]
    assert kept("keep_opening", "replace_nearest", room=2, before=before) == [before[0], "user: I moved to Oslo."]
    assert kept("keep_opening", "replace_nearest", before=before) == [*before, "user: I moved to Oslo."]


def test_features_are_named_and_in_range() -> None:
    store = Kept(2, embedder(), [])
    said = (
        Message("user", opening("Do I need 2 coats in Oslo? I moved.", DAY + timedelta(9)), DAY),
        Message("assistant", "Yes.", DAY),
    )
    session = Session(0, 0, DAY + timedelta(9), said)
    values = dict(zip(FEATURES, features_of(session, store), strict=True))
    assert values["questions"] == 0.5 and values["has_number"] == 1.0 and values["store_in_use"] == 0.0
    assert values["first_person"] == pytest.approx(2 / 9) and values["nearest_item"] == 0.0
    keep_text(store, Session(0, 0, DAY, said), "user: Do I need 2 coats in Oslo? I moved.\nI bake bread.")
    values = dict(zip(FEATURES, features_of(session, store), strict=True))
    assert values["store_in_use"] == 1.0 and values["nearest_item"] == pytest.approx(1.0, abs=1e-5)
    assert values["mean_nearness"] < 0.9 and values["days_since_newest"] == pytest.approx(0.1)
    assert features_of(None, store)[1:].sum() == 0.0


def test_the_store_is_all_that_is_remembered() -> None:
    """With nothing kept, the model answers as one that was told nothing, whatever was said in the sessions."""
    with made(users=1, periods=1, actions="settings") as env:
        told = play(env, chosen())
        kept = play(env, chosen("keep_opening"))
    assert accuracy(told) < accuracy(kept)
    rosalind, other = (starter().scenarios[n].limited(1) for n in (0, 1))
    # the same questions after sessions that tell something else
    silent = rosalind.periods[0].model_copy(update={"sessions": other.periods[0].sessions})
    with made(data=dataset_of(rosalind.model_copy(update={"periods": [silent]})), actions="settings") as env:
        assert [m.info.get("correct") for m in play(env, chosen())][-1] == told[-1].info["correct"]


@pytest.mark.parametrize("observations", ["text", "features"])
def test_nothing_hidden_is_observed(observations: str) -> None:
    """Neither a state's value, nor an option, nor the persona; the canary is in each of them."""
    with made(data=canary(), observations=observations) as env:
        for moment in play(env, lambda observation, info: "I keep this."):
            assert CANARY not in str(moment.observation) + json.dumps(moment.info)


@pytest.mark.parametrize("actions", ["text", "settings"])
def test_the_same_seed_replays_exactly(actions: str) -> None:
    def played(seed: int) -> list[Moment]:
        with made(actions=actions, periods=1, users=2) as env:
            env.action_space.seed(3)
            return play(env, lambda observation, info: env.action_space.sample(), seed)

    one, two = played(1), played(2)
    assert played(1) == one
    assert one[0].observation != two[0].observation


def test_users_never_mix() -> None:
    with made(actions="settings", periods=1) as env:
        alone = play(env, chosen("keep_opening"), seed=4, user="rosalind-okafor")
        env.reset(options={"user": "mei-lin-tsai"})
        env.step(chosen("keep_opening")(None, {}))
        assert play(env, chosen("keep_opening"), seed=4, user="rosalind-okafor") == alone
        other = play(env, chosen("keep_opening"), seed=4, user="mei-lin-tsai")
    words = [session.query for session in starter().scenarios[0].periods[0].sessions]
    assert not any(query in m.observation for query in words for m in other)


def test_topk_reads_the_nearest_items_only() -> None:
    with (
        made(users=1, periods=1, actions="settings", topk=1) as few,
        made(users=1, periods=1, actions="settings") as all_,
    ):
        assert accuracy(play(few, chosen("keep_opening"))) < accuracy(play(all_, chosen("keep_opening")))
