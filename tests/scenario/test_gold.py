"""The gold option follows from the states: it is the one whose variant equals the current required states.

So it moves with the states, with the order of the options and with nothing else, and using fewer users or periods
leaves the gold of the rest as it is.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.errors import UsageError
from amemgym.scenario import Dataset, Scenario, load_dataset, parse_dataset
from tests.scenario.build import STATES, as_bytes, build_user, edited, put, question, small_user, valid_users
from tests.scenario.guesses import accuracies
from tests.support.shared import shared


def scenario(user: dict[str, Any]) -> Scenario:
    return dataset(user).scenarios[0]


def dataset(*users: dict[str, Any]) -> Dataset:
    found, faults = parse_dataset(as_bytes(*users), name="test")
    assert faults == []
    return found


def golds(user: Scenario) -> list[list[int]]:
    """For each period the gold option of each question."""
    return [[user.gold(p, q) for q in range(len(user.qas))] for p in range(len(user.periods))]


def test_gold_of_the_small_user() -> None:
    user = scenario(small_user())
    assert [user.variant(p, 0) for p in range(4)] == [
        ("city", "nurse"),
        ("coast", "nurse"),
        ("coast", "nurse"),
        ("coast", "pilot"),
    ]
    assert golds(user) == [[0, 2], [1, 1], [1, 1], [2, 1]]


def test_gold_moves_with_the_state_alone() -> None:
    states = [*STATES[:3], STATES[3] | {"home": "farm", "job": "baker"}]
    moved = scenario(build_user("ada", small_user()["state_schema"], states, small_user()["qas"]))
    assert golds(moved) == [[0, 2], [1, 1], [1, 1], [3, 0]]


def test_gold_heeds_the_order_of_the_required_info_not_of_the_schema() -> None:
    schema = {"first": ["yes", "no"], "second": ["yes", "no"]}
    states = [{"first": "yes", "second": "no"}]
    asked = question("Which?", ["second", "first"], ("yes", "no"), ("no", "yes"))
    user = scenario(build_user("ada", schema, states, [asked]))
    assert (user.variant(0, 0), user.gold(0, 0)) == (("no", "yes"), 1)


def test_gold_is_never_read_from_the_data() -> None:
    user = edited(put("qas.0.gold", 3), put("qas.0.answer", 3), put("qas.0.answer_choices.0.type", "random"))
    assert golds(scenario(user)) == golds(scenario(small_user()))


@settings(deadline=None, max_examples=30)
@given(valid_users())
def test_the_gold_options_variant_is_the_state(user: dict[str, Any]) -> None:
    read = scenario(user)
    for p, period in enumerate(user["periods"]):
        for q, asked in enumerate(user["qas"]):
            wanted = [period["state"][name] for name in asked["required_info"]]
            right = [i for i, option in enumerate(asked["answer_choices"]) if option["state"] == wanted]
            assert [read.gold(p, q)] == right
            assert list(read.variant(p, q)) == wanted


@settings(deadline=None, max_examples=20)
@given(valid_users(), st.randoms())
def test_gold_goes_along_with_the_order_of_the_options(user: dict[str, Any], random: Random) -> None:
    before = scenario(user)
    for asked in user["qas"]:
        random.shuffle(asked["answer_choices"])
    after = scenario(user)
    for p in range(len(user["periods"])):
        for q in range(len(user["qas"])):
            text_before = before.qas[q].answer_choices[before.gold(p, q)].answer
            assert after.qas[q].answer_choices[after.gold(p, q)].answer == text_before


# --- fewer users and periods ---


def test_the_first_users_and_periods() -> None:
    whole = dataset(small_user("ada"), small_user("bob"), small_user("eve"))
    part = whole.limited(users=2, periods=3)
    assert [user.id for user in part] == ["ada", "bob"]
    assert [golds(user) for user in part] == [golds(user)[:3] for user in whole.scenarios[:2]]
    assert [user.periods for user in part] == [user.periods[:3] for user in whole.scenarios[:2]]
    assert [user.qas for user in part] == [user.qas for user in whole.scenarios[:2]]
    assert (part.name, part.sha256, part.path) == (whole.name, whole.sha256, whole.path)


def test_limiting_leaves_the_whole_as_it_was() -> None:
    whole = dataset(small_user("ada"), small_user("bob"))
    before = golds(whole.scenarios[0])  # so that what is derived is there already
    part = whole.limited(users=1, periods=1)
    assert golds(part.scenarios[0]) == before[:1]
    assert (len(part), len(whole)) == (1, 2)
    assert [len(user.periods) for user in whole] == [4, 4]
    assert golds(whole.scenarios[0]) == before


def test_limits_beyond_the_data() -> None:
    short = build_user("bob", small_user()["state_schema"], STATES[:1], small_user()["qas"])
    whole = dataset(small_user("ada"), short)
    assert [len(user.periods) for user in whole.limited(periods=2)] == [2, 1]
    assert whole.limited(users=2) == whole.limited() == whole
    with pytest.raises(UsageError, match=r"--users 3: data set 'test' has 2 users"):
        whole.limited(users=3)
    with pytest.raises(UsageError, match=r"--periods 5: data set 'test' has at most 4 periods"):
        whole.limited(periods=5)
    for wrong in ({"users": 0}, {"users": -1}, {"periods": 0}):
        with pytest.raises(UsageError, match="at least 1"):
            whole.limited(**wrong)


# --- what is known of the published data (SPEC section 4) ---


@pytest.fixture(scope="module")
def published() -> dict[str, float]:
    return accuracies(load_dataset(shared("data/amemgym-v1.base/data.json")))


@pytest.mark.parametrize(
    ("guess", "accuracy"),
    [
        ("random", 0.23076),
        ("always-1", 0.25682),
        ("always-2", 0.26273),
        ("always-3", 0.22409),
        ("always-4", 0.17955),
        ("longest", 0.24818),
        ("shortest", 0.21591),
        ("frozen", 0.25227),
        ("lag-1", 0.65682),
        ("lag-2", 0.45318),
        ("lag-3", 0.33773),
    ],
)
def test_guesses_on_the_published_data(published: dict[str, float], guess: str, accuracy: float) -> None:
    assert published[guess] == pytest.approx(accuracy, abs=5e-6)
