"""The environment of verifiers, played against a local endpoint."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amemgym.env import Environment, ExamTurn
from amemgym.errors import UsageError
from amemgym.gym.adapters.seat import load_users
from tests.support.mock_openai import MockOpenAI, Request, Response, content_filter, ok

pytest.importorskip("verifiers", reason="the extra 'verifiers' is not installed")
import verifiers.v1 as vf

from amemgym_verifiers import load_environment

PERIODS = 2


def play(server: MockOpenAI, **settings: Any) -> vf.Episode:
    """The first user's episode."""
    env = load_environment("starter", periods=PERIODS, **settings)
    (task,) = env.taskset.take(1)
    client = vf.EvalClientConfig(base_url=server.base_url, api_key_var="AMEMGYM_TEST_NO_KEY")
    ctx = vf.ModelContext(model="mock-model", client=client, sampling=vf.SamplingConfig())

    async def slot() -> vf.Episode:
        async with env.serving():
            return await env.run_slot(env.slots(task)[0], ctx)

    return asyncio.run(slot())


def split(episode: vf.Episode) -> tuple[vf.Trace, list[vf.Trace]]:
    """The trace of the conversation, and those of the questions in their order."""
    *asked, talk = episode.traces
    return talk, asked


def expected(seed: int) -> list[float]:
    """What always taking the first option earns, question by question."""
    (scenario,) = load_users("starter", users=1, periods=PERIODS)
    rewards = []
    with Environment() as environment:
        step = environment.reset(scenario, seed)
        while not step.done:
            step = environment.step('{"answer": 1}' if isinstance(step.observation, ExamTurn) else "I see.")
            rewards += [] if step.reward is None else [step.reward]
    return rewards


def test_an_episode_is_played_and_rewarded_as_ours() -> None:
    with MockOpenAI() as server:
        episode = play(server, seed=3)
    assert episode.ok and not episode.errors
    talk, asked = split(episode)
    rewards = expected(3)
    assert 0 < sum(rewards) < len(rewards)
    assert [trace.reward for trace in asked] == rewards
    assert talk.reward == sum(rewards) / len(rewards)
    assert talk.metrics["questions"] == len(rewards)
    assert {trace.info["status"] for trace in asked} == {"ok"}


def test_an_exam_sees_the_conversation_and_leaves_nothing_in_it() -> None:
    with MockOpenAI() as server:
        episode = play(server)
    conversation: list[dict[str, Any]] = []
    exams = 0
    for request in server.requests:
        system, *said, last = request.messages
        assert system["role"] == "system" and "personal assistant" in system["content"]
        assert said == conversation  # an exam's request, too, and the one that follows it
        if '{"answer": <number>}' in last["content"]:
            exams += 1
        else:
            reply = next(
                node.message.content for node in split(episode)[0].nodes[len(conversation) + 2 :] if node.sampled
            )
            conversation += [last, {"role": "assistant", "content": reply}]
    assert exams == len(episode.traces) - 1 and conversation
    assert not any('"answer"' in message["content"] for message in conversation)


def test_a_trace_tells_the_user_and_nothing_of_the_scenario() -> None:
    (task,) = load_environment("starter", users=1).taskset
    told = task.data.model_dump(exclude_defaults=True)
    assert set(told) == {"idx", "name", "user", "system_prompt"}


def test_an_unreadable_answer_earns_nothing_and_is_told_apart() -> None:
    with MockOpenAI(lambda request: ok("I had rather not say.")) as server:
        talk, asked = split(play(server))
    assert talk.reward == 0.0
    assert {(trace.reward, trace.info["status"]) for trace in asked} == {(0.0, "invalid")}


@pytest.mark.parametrize("where", ["exam", "conversation"])
def test_an_episode_that_breaks_off_has_no_score(where: str) -> None:
    def responder(request: Request) -> Response | None:
        asks = request.is_chat and '{"answer": <number>}' in request.messages[-1]["content"]
        late = len(request.messages) > 6
        return content_filter() if late and asks == (where == "exam") else None

    with MockOpenAI(responder) as server:
        episode = play(server)
    assert not episode.ok
    assert "the episode has no score" in episode.errors[-1].message
    talk, _ = split(episode)
    assert "exam_accuracy" not in talk.rewards and talk.errors


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"data": "nosuch"}, "^unknown data set 'nosuch'. .*Known: starter"),
        ({"periods": 0}, "^periods is 0; it must be at least 1"),
        ({"user_model": "nobody"}, "^unknown model 'nobody'"),
        ({"round": 3}, "^verifiers environment: 'taskset.round' extra inputs are not permitted"),
        ({"users": "many"}, "^verifiers environment: 'taskset.users' input should be a valid integer"),
    ],
)
def test_wrong_settings_are_told_at_once(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_environment(**settings)
