"""The probes of a period: what is asked, in which order values are shown, and that the order gives nothing away."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter

import pytest

from amemgym.env import DEFAULT, PROTOCOLS, Episode, ProbeItem, Rules, probes_of_period
from amemgym.errors import UsageError
from amemgym.scenario import Scenario, load_dataset
from tests.scenario.build import build_user, question
from tests.support.models import Scripted, model_of

SIX = ["one", "two", "three", "four", "five", "six"]
SCHEMA = {"home": SIX, "job": SIX, "pet": ["cat", "dog"], "colour": SIX}
PERIODS = 5
V1 = PROTOCOLS["v1"]


def scenario(id: str = "ada") -> Scenario:
    """Five periods; `pet` is in no question, `home` in two."""
    states = [{"home": SIX[p], "job": SIX[0], "pet": "cat", "colour": SIX[-p]} for p in range(PERIODS)]
    variants = list(itertools.product(SIX, SIX))
    questions = [
        question("What shall I do?", ["job", "home"], *variants),
        question("What shall I wear?", ["colour"], *[(value,) for value in SIX]),
        question("Where shall I walk?", ["home", "colour"], *variants),
    ]
    return Scenario.model_validate(build_user(id, SCHEMA, states, questions))


def orders(
    rules: Rules = DEFAULT, seed: int = 0, who: Scenario | None = None
) -> dict[tuple[int, int, str], tuple[str, ...]]:
    """(period, question, variable) → the values in the order shown."""
    who = who or scenario()
    return {
        (item.period, item.index, name): values
        for period in range(len(who.periods))
        for item in probes_of_period(who, period, rules, seed)
        for name, values in item.question.variables.items()
    }


@pytest.mark.parametrize("rules", [DEFAULT, V1])
def test_a_probe_asks_for_the_required_info_alone(rules: Rules) -> None:
    who = scenario()
    for period in range(PERIODS):
        probes = probes_of_period(who, period, rules, 0)
        assert [(probe.period, probe.index) for probe in probes] == [(period, index) for index in range(3)]
        assert [list(p.question.variables) for p in probes] == [["job", "home"], ["colour"], ["home", "colour"]]
        assert {probe.question.now for probe in probes} == {who.periods[period].end}
        for probe in probes:
            assert all(sorted(shown) == sorted(SIX) for shown in probe.question.variables.values())


def test_v1_keeps_the_order_of_the_data() -> None:
    assert set(orders(V1).values()) == set(orders(V1, seed=1).values()) == {tuple(SIX)}


def test_the_order_is_drawn_for_each_question_period_and_variable() -> None:
    drawn = orders()
    assert len(drawn) == 5 * PERIODS
    assert len(set(drawn.values())) >= len(drawn) - 1  # of 720 orders, two may be the same
    for period in range(PERIODS):
        assert drawn[period, 0, "home"] != drawn[period, 2, "home"]
        assert drawn[period, 2, "home"] != drawn[period, 2, "colour"]
    for index, name in ((0, "job"), (1, "colour"), (2, "home")):
        assert len({drawn[period, index, name] for period in range(PERIODS)}) == PERIODS


def test_the_order_is_the_seed_s_and_the_user_s() -> None:
    assert orders() == orders()
    other_seed, other_user = orders(seed=1), orders(who=scenario("bea"))
    assert sum(other_seed[place] == shown for place, shown in orders().items()) <= 1
    assert sum(other_user[place] == shown for place, shown in orders().items()) <= 1


def test_the_order_does_not_depend_on_what_is_true() -> None:
    """The same user in another life is shown the same orders, so that no order says which value holds."""
    who = scenario()
    periods = [p.model_copy(update={"state": {**p.state, "home": "six", "colour": "two"}}) for p in who.periods]
    assert orders(who=who.model_copy(update={"periods": periods})) == orders()


def test_no_place_is_the_true_one_s() -> None:
    who = scenario()
    places: Counter[int] = Counter()
    for seed in range(60):
        for (period, _, name), shown in orders(seed=seed).items():
            places[shown.index(who.periods[period].state[name])] += 1
    expected = 60 * 5 * PERIODS / len(SIX)
    assert sorted(places) == list(range(6))
    assert all(abs(count - expected) < 5 * expected**0.5 for count in places.values())


def test_required_info_that_is_listed_twice_is_asked_once() -> None:
    states = [{"home": "one"}, {"home": "two"}]
    asked = question("What shall I do?", ["home", "home"], ("one", "one"), ("two", "two"))
    who = Scenario.model_validate(build_user("ada", {"home": SIX}, states, [asked]))
    (probe,) = probes_of_period(who, 1, DEFAULT, 0)
    assert list(probe.question.variables) == ["home"]


def test_an_episode_gives_its_probes_whatever_is_observed() -> None:
    who = load_dataset("starter").scenarios[0].limited(2)

    async def during() -> list[list[ProbeItem]]:
        episode = Episode(model_of(Scripted(), "user"))
        with pytest.raises(UsageError, match="reset"):
            episode.probes(0)
        await episode.reset(who, seed=7)
        seen = [episode.probes(1), episode.probes(0)]
        await episode.step("I see.")
        return [*seen, episode.probes(1)]

    last, first, again = asyncio.run(during())
    assert last == again == probes_of_period(who, 1, DEFAULT, 7)
    assert first == probes_of_period(who, 0, DEFAULT, 7) != probes_of_period(who, 0, DEFAULT, 0)
    assert len(first) == len(who.qas)


def test_an_agent_is_told_no_true_value_and_no_option() -> None:
    """All that an agent gets is names, possible values and the time."""
    (probe, *_) = probes_of_period(scenario(), 3, DEFAULT, 0)
    assert set(vars(probe.question)) == {"variables", "now"}
    assert set(vars(probe)) == {"period", "index", "question"}
