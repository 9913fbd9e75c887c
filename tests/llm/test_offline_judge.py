"""The offline model as a judge: in the form asked for, and of use on plain sentences and on real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.llm import Request, embedder
from amemgym.llm.offline import OfflineModel
from amemgym.llm.offline.judge import own_sentences
from amemgym.scenario import Scenario, load_dataset
from amemgym.tasks import Parsed, RecoverVariant, RevealedStates, Status, Task
from tests.llm.helpers import PROMPTS
from tests.support.shared import shared

MODEL = cache(lambda: OfflineModel(embedder("wordllama")))
LIFE = {
    "commute_travel": ("bicycle", "city_bus", "car_share"),
    "eating_style": ("vegetarian", "meat_and_fish", "no_dairy"),
    "team_size": ("small_2_5", "medium_6_12", "large_13_plus"),
    "home_type": ("shared_flat", "tiny_studio", "terraced_house"),
}


def solve(task: Task[Any]) -> Parsed[Any]:
    return task.parse(asyncio.run(MODEL().complete(Request(task, task.messages(PROMPTS)))).text)


def told(message: str, variables: Mapping[str, tuple[str, ...]] = LIFE) -> dict[str, str]:
    parsed = solve(RevealedStates(message, variables))
    assert parsed.status is Status.OK
    assert isinstance(parsed.value, dict)
    return parsed.value


@pytest.mark.parametrize(
    ("message", "states"),
    [
        ("I ride my bicycle for the commute in any weather. Which lock is best?", {"commute_travel": "bicycle"}),
        ("My commute is on the city bus these days.", {"commute_travel": "city_bus"}),
        ("I became a vegetarian, so what should I be eating for lunch?", {"eating_style": "vegetarian"}),
        ("How do I brief a team of 9 people?", {"team_size": "medium_6_12"}),
        (
            "My home is a shared flat, and I travel by city bus.",
            {"home_type": "shared_flat", "commute_travel": "city_bus"},
        ),
        ("[Current Time: 2021-03-04 10:00:00]\nhome_type: tiny_studio", {"home_type": "tiny_studio"}),
    ],
)
def test_what_is_said_outright_is_told(message: str, states: dict[str, str]) -> None:
    assert told(message) == states


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[Current Time: 2021-03-04 10:00:00]",
        "Thanks, that helps. Which of these would you begin with?",
        "Why does the moon look larger near the horizon?",
        "My sister rides her bicycle for her commute.",
        "A colleague of mine is a strict vegetarian.",
    ],
)
def test_silence_small_talk_and_other_people_tell_nothing(message: str) -> None:
    assert told(message) == {}


def test_what_is_so_no_longer_is_not_told() -> None:
    assert told("For my commute I take the city bus instead of my bicycle.") == {"commute_travel": "city_bus"}
    assert own_sentences("I no longer eat meat, but fish.")[0].split() == ["I", ",", "but", "fish."]
    assert own_sentences("My brother is tall. My brother and I cook. 我姐姐吃素。我吃鱼。") == [
        "My brother and I cook.",
        "我吃鱼。",
    ]


def test_other_variables_are_no_reason_to_tell_one() -> None:
    """Of variables that are all beside the point none is told, be they many or one."""
    for question in ("Could you explain how tides work?", "Which fish lives longest?", "Who invented the car?"):
        for name in LIFE:
            assert told(question, {name: LIFE[name]}) == {}


def test_the_variant_of_an_answer_and_what_it_cannot_tell() -> None:
    advice = "Oil the chain of your bicycle on Sundays, and look for a vegetarian cookbook."
    variables = {name: LIFE[name] for name in ("commute_travel", "eating_style", "home_type")}
    parsed = solve(RecoverVariant("What next?", advice, variables))
    assert parsed.value == {"commute_travel": "bicycle", "eating_style": "vegetarian", "home_type": None}
    nothing = RecoverVariant("What next?", "", variables)
    assert solve(nothing) == Parsed(dict.fromkeys(variables), Status.REPAIRED)  # it says so, which is read
    for reply in ('{"commute_travel": null}', '{"commute_travel": "x", "eating_style": null, "home_type": null}'):
        assert nothing.parse(reply) == Parsed(None, Status.INVALID)


NAMES = st.text(max_size=8)


@settings(deadline=None, max_examples=30)
@given(
    st.text(max_size=60), st.dictionaries(st.text(max_size=8), st.lists(st.text(max_size=8), max_size=3), max_size=3)
)
def test_any_text_and_any_schema(message: str, schema: dict[str, list[str]]) -> None:
    variables = {name: tuple(dict.fromkeys(values)) for name, values in schema.items()}
    judge = MODEL()._judge
    found = judge.revealed(message, variables)
    assert all(value in variables[name] for name, value in found.items())
    variant = judge.variant(message, variables)
    assert list(variant) == list(variables)
    assert all(value is None or value in variables[name] for name, value in variant.items())
    assert judge.revealed(message, variables) == found


def utterances(users: list[Scenario]) -> Iterator[tuple[Scenario, str, dict[str, str]]]:
    for user in users:
        for period in user.periods:
            for session in period.sessions:
                yield user, session.query, session.exposed_states


def precision_and_recall(users: list[Scenario]) -> tuple[float, float]:
    said = right = should = 0
    for user, text, exposed in utterances(users):
        found = told(text, {name: tuple(values) for name, values in user.state_schema.items()})
        said, should = said + len(found), should + len(exposed)
        right += sum(exposed.get(name) == value for name, value in found.items())
    return right / said, right / should


def test_it_is_of_use_on_users_its_weights_have_not_seen() -> None:
    """Measured: .67 and .66 over all ten such users of v1.base, .96 and .74 on the starter set."""
    users = load_dataset(shared("data/amemgym-v1.base/data.json")).scenarios
    precision, recall = precision_and_recall([users[n] for n in (1, 9, 17)])
    assert precision > 0.55 and recall > 0.55


def test_it_is_of_use_on_the_starter_set() -> None:
    precision, recall = precision_and_recall(list(load_dataset("starter")))
    assert precision > 0.85 and recall > 0.6
