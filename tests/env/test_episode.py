"""The episode: what is observed in which order, what a reply earns, and what the two protocols change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from amemgym.env import DEFAULT, PROTOCOLS, Environment, Episode, ExamTurn, Rules, Step, UserTurn, find_rules
from amemgym.errors import UsageError
from amemgym.llm import Request
from amemgym.scenario import Scenario, load_dataset
from amemgym.tasks import FollowUp, Status
from tests.support.models import Scripted, model_of


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_dataset("starter").scenarios[0].limited(3)


def play(
    scenario: Scenario, answer: Callable[[ExamTurn], str], rules: Rules = DEFAULT, user: Scripted | None = None
) -> list[Step]:
    """Every step of an episode, the first observation included."""

    async def loop() -> list[Step]:
        episode = Episode(model_of(user or Scripted(), "user"), rules)
        steps = [await episode.reset(scenario, seed=7)]
        while (seen := steps[-1].observation) is not None:
            steps.append(await episode.step(answer(seen) if isinstance(seen, ExamTurn) else "I see."))
        return steps

    return asyncio.run(loop())


def first(turn: ExamTurn) -> str:
    return '{"answer": 1}'


@pytest.mark.parametrize("later", [1, 2, 4])
def test_sessions_rounds_and_exams_come_in_order(scenario: Scenario, later: int) -> None:
    rules = find_rules("amemgym", rounds_later=later)
    seen = [step.observation for step in play(scenario, first, rules)][:-1]
    expected: list[tuple[int, int, int] | tuple[int, int]] = []
    for p, period in enumerate(scenario.periods):
        expected += [(p, s, r) for s in range(len(period.sessions)) for r in range(rules.rounds(p))]
        expected += [(p, q) for q in range(len(scenario.qas))]
    places = [(o.period, o.session, o.round) if isinstance(o, UserTurn) else (o.period, o.index) for o in seen if o]
    assert places == expected


def test_a_session_opens_with_the_time_and_the_utterance(scenario: Scenario) -> None:
    turns = [s.observation for s in play(scenario, first) if isinstance(s.observation, UserTurn)]
    for turn in turns:
        session = scenario.periods[turn.period].sessions[turn.session]
        assert turn.message.time == session.time
        if turn.round == 0:
            assert turn.message.content == f"[Current Time: {session.session_time}]\n{session.query}"


def test_rewards_are_the_exam_s(scenario: Scenario) -> None:
    def right(turn: ExamTurn) -> str:
        by_text = {o.answer: i for i, o in enumerate(scenario.qas[turn.index].answer_choices)}
        gold = scenario.gold(turn.period, turn.index)
        return json.dumps({"answer": [by_text[text] for text in turn.question.options].index(gold) + 1})

    exams = len(scenario.periods) * len(scenario.qas)
    rewards = [s.reward for s in play(scenario, right) if s.reward is not None]
    assert rewards == [1.0] * exams
    steps = [s for s in play(scenario, lambda turn: "no idea") if s.reward is not None]
    assert [s.reward for s in steps] == [0.0] * exams
    assert {s.info["status"] for s in steps} == {"invalid"}
    assert {s.info["option"] for s in steps} == {None}


def test_info_says_what_diagnosis_needs(scenario: Scenario) -> None:
    for step in play(scenario, first):
        if step.reward is None:
            continue
        info = step.info
        state = scenario.periods[info["period"]].state
        question = scenario.qas[info["question"]]
        assert info["gold_variant"] == {name: state[name] for name in question.required_info}
        assert (info["chosen_variant"] == info["gold_variant"]) == bool(step.reward)


def test_a_taken_exam_is_the_same_exam(scenario: Scenario) -> None:
    one_by_one = [s.observation for s in play(scenario, first) if isinstance(s.observation, ExamTurn)]

    async def taken() -> list[ExamTurn]:
        episode = Episode(model_of(Scripted(), "user"))
        step = await episode.reset(scenario, seed=7)
        turns: list[ExamTurn] = []
        while (seen := step.observation) is not None:
            if isinstance(seen, ExamTurn):
                items, step = episode.take_exam()
                turns += [ExamTurn(item.question, item.period, item.index) for item in items]
                assert all(episode.grade(item, item.gold, Status.OK).correct for item in items)
                assert not any(episode.grade(item, None, Status.EMPTY).correct for item in items)
            else:
                step = await episode.step("I see.")
        return turns

    assert asyncio.run(taken()) == one_by_one


def test_order_is_drawn_for_each_user_question_and_period(scenario: Scenario) -> None:
    orders: dict[int, set[tuple[str, ...]]] = {}
    for step in play(scenario, first):
        if isinstance(turn := step.observation, ExamTurn):
            orders.setdefault(turn.index, set()).add(turn.question.options)
    assert all(len({tuple(sorted(order)) for order in seen}) == 1 for seen in orders.values())
    assert sum(len(seen) > 1 for seen in orders.values()) >= len(orders) - 1


def test_v1_keeps_the_order_of_the_data_and_guesses_by_seed(scenario: Scenario) -> None:
    steps = play(scenario, lambda turn: "no idea", PROTOCOLS["v1"])
    for step in steps:
        if isinstance(turn := step.observation, ExamTurn):
            assert list(turn.question.options) == [o.answer for o in scenario.qas[turn.index].answer_choices]
    graded = [s for s in steps if s.reward is not None]
    assert all(s.info["guessed"] and s.info["status"] == "invalid" for s in graded)
    guesses = [s.info["option"] for s in graded]
    assert len(set(guesses)) > 1
    again = [s.info["option"] for s in play(scenario, lambda turn: "no idea", PROTOCOLS["v1"]) if s.reward is not None]
    assert guesses == again


def asked(scenario: Scenario, rules: Rules) -> list[Request]:
    user = Scripted()
    play(scenario, first, rules, user)
    return [request for request in user.requests if isinstance(request.task, FollowUp)]


def test_the_user_knows_its_current_state(scenario: Scenario) -> None:
    requests = asked(scenario, DEFAULT)
    assert requests
    for request in requests:
        assert isinstance(request.task, FollowUp)
        period = next(p for p in scenario.periods if request.task.now in [s.time for s in p.sessions])
        assert request.task.state == period.state
        text = request.messages[0].content
        assert all(f"- {name}: {value}" in text for name, value in period.state.items())
        assert all(f"- {name}: {value}" in text for name, value in request.task.exposed.items())


def test_a_user_who_is_mistaken_stays_so_for_the_session(scenario: Scenario) -> None:
    user = scenario.model_dump()
    period = user["periods"][1]
    name, update = next(iter(period["updates"].items()))
    wrong = next(value for value in user["state_schema"][name] if value != update["new"])
    at = {"session_time": period["period_start"] + " 23:00:00", "query": "So it is.", "kind": "mistake"}
    period["sessions"].insert(0, {**at, "exposed_states": {}, "messages": [], "retracted_states": {name: wrong}})
    made = Scenario.model_validate(user)
    now, *others = [s.time for s in made.periods[1].sessions]
    tasks = [request.task for request in asked(made, DEFAULT)]
    states = {t.now: (t.state, t.exposed) for t in tasks if isinstance(t, FollowUp)}
    assert states[now] == ({**made.periods[1].state, name: wrong}, {name: wrong})
    assert all(states[time][0] == made.periods[1].state for time in others)


def test_the_v1_user_is_told_the_profile_only(scenario: Scenario) -> None:
    for request in asked(scenario, PROTOCOLS["v1"]):
        text = request.messages[0].content
        assert scenario.user_profile.formatted_str in text
        for name, value in scenario.periods[-1].state.items():
            assert f"- {name}: {value}\n" not in text


def test_a_user_with_nothing_to_say_ends_the_session(scenario: Scenario) -> None:
    turns = [s.observation for s in play(scenario, first, user=Scripted(lambda r: " "))]
    assert {turn.round for turn in turns if isinstance(turn, UserTurn)} == {0}


def test_steps_out_of_turn_are_refused(scenario: Scenario) -> None:
    async def misuse() -> None:
        episode = Episode(model_of(Scripted(), "user"))
        with pytest.raises(UsageError, match="reset"):
            await episode.step("hello")
        await episode.reset(scenario)
        with pytest.raises(UsageError, match="no exam is due"):
            episode.take_exam()

    asyncio.run(misuse())


def test_the_sync_face_plays_the_same_episode(scenario: Scenario) -> None:
    with Environment("offline") as environment:
        for _ in range(2):  # an environment can be reset
            step, exams, rewards = environment.reset(scenario, seed=3), 0, 0.0
            while not step.done:
                exam = isinstance(step.observation, ExamTurn)
                step = environment.step('{"answer": 2}' if exam else "All right.")
                exams += exam
                rewards += step.reward or 0.0
            assert exams == len(scenario.periods) * len(scenario.qas)
            assert 0 < rewards < exams
