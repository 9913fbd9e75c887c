"""Memory-v0: what is observed and earned, by which parts the environment plays."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import gymnasium
import pytest

from amemgym.env import Environment, ExamTurn, Step, UserTurn
from amemgym.errors import AgentFailed
from amemgym.kit.canary import CANARY, VALUES, canary_scenario
from amemgym.memory import Item, Memory
from tests.gym.played import MEMORY, Moment, canary, first_option, play, starter

PARTS: list[tuple[str, ...]] = [(), ("memory",), ("memory", "reply")]


def made(parts: tuple[str, ...] = (), **settings: Any) -> gymnasium.Env[str, str]:
    return gymnasium.make(MEMORY, agent_parts=parts, **{"periods": 2, "users": 2} | settings)


def test_the_whole_assistant_sees_what_the_episode_says() -> None:
    """Observations, rewards and the exam's texts are the episode's own, question by question."""
    scenario = starter().scenarios[0].limited(2)
    with made(users=1) as env:
        moments = play(env, first_option, seed=5)
    # the episode's seed is the environment's second draw, after the user
    draws, _ = gymnasium.utils.seeding.np_random(5)
    draws.integers(1)
    steps: list[Step] = []
    with Environment() as episode:
        steps.append(episode.reset(scenario, seed=int(draws.integers(2**31))))
        while (seen := steps[-1].observation) is not None:
            steps.append(episode.step('{"answer": 1}' if isinstance(seen, ExamTurn) else "I see."))
    assert len(moments) == len(steps)
    for moment, step in zip(moments, steps, strict=True):
        assert moment.reward == (step.reward or 0.0)
        seen = step.observation
        if isinstance(seen, UserTurn):
            assert moment.observation == seen.message.content
            assert [moment.info[key] for key in ("kind", "period", "session", "round")] == [
                "message", seen.period, seen.session, seen.round,
            ]  # fmt: skip
        elif isinstance(seen, ExamTurn):
            shown = [f"{n}: {option}" for n, option in enumerate(seen.question.options, 1)]
            assert all(line in moment.observation for line in [seen.question.query, *shown])
            assert (moment.info["kind"], moment.info["question"]) == ("exam", seen.index)
    assert moments[-1].observation == "" and moments[-1].info["kind"] == "end"
    assert 0 < sum(m.reward for m in moments) < 16


def test_gold_is_told_after_the_answer_and_never_before() -> None:
    with made() as env:
        moments = play(env, first_option)
        for before, after in pairwise(moments):
            answered = before.info["kind"] == "exam"
            assert ("gold" in after.info) == ("status" in after.info) == answered
            if answered:
                assert after.info["status"] == "ok" and after.info["option"] == 1
                assert after.reward == (after.info["gold"] == 1)
        unread = play(env, lambda observation, info: "I would rather not say.")
    told = [m.info for m in unread if "gold" in m.info]
    assert told and all(info["status"] == "invalid" and "option" not in info for info in told)
    assert {m.reward for m in unread} == {0.0}


def test_who_knows_the_answers_earns_all() -> None:
    """A policy that cheats by the scenario, to see that reward is there to be had."""
    scenario = {s.id: s for s in starter()}

    def knowing(observation: str, info: dict[str, Any]) -> str:
        if info["kind"] != "exam":
            return "I see."
        user = scenario[info["user"]]
        right = user.qas[info["question"]].answer_choices[user.gold(info["period"], info["question"])].answer
        number = next(n for n in range(1, 7) if f"\n{n}: {right}" in observation)
        return f"<think>not 9</think> {json.dumps({'answer': number})}"

    with made() as env:
        rewards = [m.reward for m in play(env, knowing) if "gold" in m.info]
    assert rewards == [1.0] * 16


def test_the_memory_that_the_environment_plays_is_shown() -> None:
    """What left the window is in memory, what is in it is in the conversation, as the agent's model would see both."""

    def talk(observation: str, info: dict[str, Any]) -> str:
        return first_option(observation, info) if info["kind"] == "exam" else f"reply {info['session']}"

    with made(("memory",), agent="rag-2-2-30", users=1, periods=1) as env:
        moments = play(env, talk)
    fourth = next(m for m in moments if m.info.get("session") == 3)
    roles = [message["role"] for message in fourth.info["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    system, *window = [message["content"] for message in fourth.info["messages"]]
    assert "assistant: reply 0" in system and "assistant: reply 1" in system and "reply 2" not in system
    assert window[1] == "reply 2"
    assert fourth.observation.startswith(f"SYSTEM: {system}\n\nUSER: ")
    exam = next(m for m in moments if m.info["kind"] == "exam")
    assert "reply" in exam.observation and exam.info["messages"][-1]["content"] in exam.observation


def test_the_agent_may_converse_so_that_only_exams_are_seen() -> None:
    with made(("memory", "reply")) as env:
        moments = play(env, first_option)
    assert [m.info["kind"] for m in moments] == ["exam"] * 16 + ["end"]
    assert "What you remember of this user" in moments[-2].observation


@pytest.mark.parametrize("parts", PARTS)
def test_an_exam_changes_no_memory(parts: tuple[str, ...]) -> None:
    """Whatever is answered, what is observed later is the same, and nothing of the answers."""

    def answering(text: str) -> list[Moment]:
        return play(env, lambda observation, info: text if info["kind"] == "exam" else "I see.", seed=2)

    with made(parts, users=1) as env:
        one, other = answering('{"answer": 1}'), answering("remember the heptagon")
    assert [m.observation for m in one] == [m.observation for m in other]
    assert not any("heptagon" in m.observation for m in other)


@pytest.mark.parametrize("parts", PARTS)
def test_nothing_hidden_is_observed(parts: tuple[str, ...]) -> None:
    """No value of a state variable, nor the persona, in any observation or info; options are what an exam shows."""
    with made(parts, data=canary(), users=None, agent="rag-2-0") as env:
        moments = play(env, first_option)
    hidden = [value for values in VALUES.values() for value in values]
    hidden += [canary_scenario().user_profile.name, "hidden: ", f"{CANARY} summary", f"{CANARY} event"]
    for moment in moments:
        told = moment.observation + json.dumps(moment.info)
        assert [secret for secret in hidden if secret in told] == []


@pytest.mark.parametrize("parts", [(), ("memory",)])
def test_the_same_seed_replays_exactly(parts: tuple[str, ...]) -> None:
    with made(parts) as env, made(parts) as other:
        ones = [play(env, first_option, seed) for seed in (1, 2)]
        again = [play(other, first_option, seed) for seed in (2, 1)]
    assert ones == again[::-1]
    assert [m.observation for m in ones[0]] != [m.observation for m in ones[1]]


def test_users_are_drawn_or_asked_for_and_never_mix() -> None:
    with made(("memory",), users=None, agent="rag-2-0", periods=1) as env:
        drawn = {env.reset(seed=seed)[1]["user"] for seed in range(12)}
        assert drawn == {scenario.id for scenario in starter()}
        firsts = {user: play(env, first_option, seed=4, user=user) for user in sorted(drawn)}
        env.reset(seed=4, options={"user": "mei-lin-tsai"})
        env.step("Only Mei-Lin was told of the heptagon.")
        after = play(env, first_option, seed=4, user="rosalind-okafor")
    assert after == firsts["rosalind-okafor"]
    assert {user: {m.info["user"] for m in moments} for user, moments in firsts.items()} == {u: {u} for u in drawn}
    openings = [
        s.query for scenario in starter() for s in scenario.periods[0].sessions if scenario.id != after[0].info["user"]
    ]
    assert not any(query in m.observation for query in openings for m in after)


def test_it_is_truncated_by_gymnasium_alone() -> None:
    with gymnasium.make(MEMORY, max_episode_steps=3) as env:
        env.reset(seed=0)
        assert [env.step("I see.")[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


class Moody(Memory):
    """Fails when it is read in the second period."""

    def write(self, messages: Any, now: Any) -> None:
        self.now = now

    def read(self, query: str, now: Any, k: int) -> list[Item]:
        if query == "Where should I spend a free day?":
            raise ValueError("no mood")
        return []


def test_a_memory_that_fails_is_named_and_the_environment_goes_on_after_reset() -> None:
    with made(("memory",), agent=Moody, data=canary(), users=None) as env:
        with pytest.raises(AgentFailed, match=r"agent 'Moody', user 0, period 0 .*no mood"):
            play(env, first_option)
        with pytest.raises(Exception, match="reset"):
            env.step("hello")
        assert env.reset()[1]["kind"] == "message"


def test_render_shows_the_last_exchange_without_control_characters() -> None:
    with made(render_mode="ansi") as env:
        first, _ = env.reset(seed=0)
        assert env.render() == first
        second, *_ = env.step("Hello\x1b[2J")
        assert env.render() == f"{first}\n\n> Hello\N{REPLACEMENT CHARACTER}[2J\n\nreward 0\n\n{second}"


def test_half_a_character_is_made_whole() -> None:
    with made(("memory",), agent="native") as env:
        env.reset(seed=0)
        _, _, _, _, info = env.step("half \ud83d")
        seen = [m for m in info["messages"] if m["role"] == "assistant"]
    assert seen == [{"role": "assistant", "content": "half \N{REPLACEMENT CHARACTER}"}]
