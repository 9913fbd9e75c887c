"""What a card counts, on users counted by hand and on the published set."""

from __future__ import annotations

from typing import Any

import pytest

from amemgym.quality.change import Change, ChangeCounter
from amemgym.quality.size import Size, SizeCounter
from amemgym.scenario import Scenario, load_dataset
from tests.scenario.build import build_user, question, small_user
from tests.support.shared import shared

OPTIONS = question("Which?", ["x"], ("a",), ("b",), ("c",))


def size_of(*users: dict[str, Any]) -> Size:
    counter = SizeCounter()
    for user in users:
        counter.add(Scenario.model_validate(user))
    return counter.result()


def change_of(*users: dict[str, Any]) -> Change:
    counter = ChangeCounter()
    for user in users:
        counter.add(Scenario.model_validate(user))
    return counter.result()


def life(values: str) -> dict[str, Any]:
    """A user with one variable that takes these values, a letter a period."""
    return build_user("u", {"x": ["a", "b", "c"]}, [{"x": value} for value in values], [OPTIONS])


def test_the_size_of_the_small_user() -> None:
    size = size_of(small_user("a"), small_user("b"))
    assert (size.users, size.exams, size.recorded, size.settings) == (2, 2 * 4 * 2, 0, {})
    assert size.periods.histogram == ((4, 2),) and size.questions.histogram == ((2, 2),)
    assert size.variables.histogram == ((4, 2),)
    assert size.values.histogram == ((2, 2), (3, 6))
    assert size.options.histogram == ((3, 2), (4, 2)) and size.option_types == {"experience": 14}
    assert size.states.histogram == ((1, 2), (2, 2))
    # 4 sessions expose the first state, then 1, 2, and one of the quiet period exposes nothing
    assert size.sessions.histogram == ((1, 4), (2, 2), (4, 2)) and size.silent_sessions == 2
    assert size.session_kinds == {"not said": 16} and size.retracted == 0
    assert size.months.histogram == ((3, 6),)
    assert (size.first, size.last) == ("2020-09-26", "2021-06-28")


def test_kinds_of_sessions_and_what_is_taken_back() -> None:
    user = small_user()
    first, second = user["periods"][0]["sessions"][:2]
    first |= {"kind": "mistake", "retracted_states": {"pet": "dog"}, "exposed_states": {}}
    second["kind"] = "update"
    size = size_of(user)
    assert size.session_kinds == {"not said": 6, "mistake": 1, "update": 1}
    assert size.retracted == 1 and size.silent_sessions == 2


def test_how_users_were_made_is_told_where_it_is_recorded() -> None:
    made = {"source": "bank:base", "distractors": 2, "nested": {"seed": 7}, "gone": None}
    size = size_of(
        small_user("a") | {"generation": made}, small_user("b") | {"generation": {"source": "other"}}, life("a")
    )
    assert size.recorded == 2 and size.users == 3
    assert size.settings == {
        "source": {"bank:base": 1, "other": 1},
        "distractors": {"2": 1},
        "nested.seed": {"7": 1},
        "gone": {"null": 1},
    }


def test_the_small_users_changes() -> None:
    change = change_of(small_user())
    assert change.updates.histogram == ((0, 1), (1, 1), (2, 1))
    assert change.changes.histogram == ((0, 1), (1, 3))
    assert change.dwell.histogram == ((1, 3), (3, 3), (4, 1))
    assert change.ended_dwell.histogram == ((1, 1), (3, 2))
    # gold: 0 1 1 2 and 2 1 1 1
    assert (change.unchanged, change.followed, change.unchanged_share) == (3, 6, 0.5)
    assert (change.back, change.reverts) == (0, 0)


@pytest.mark.parametrize(
    ("values", "changes", "back", "reverts"),
    [
        ("aba", 2, 1, 1),
        ("abacab", 5, 2, 3),
        ("abca", 3, 0, 1),
        ("aabbaa", 2, 1, 1),
        ("aaaa", 0, 0, 0),
        ("abc", 2, 0, 0),
    ],
)
def test_reverts(values: str, changes: int, back: int, reverts: int) -> None:
    change = change_of(life(values))
    assert (change.changes.total, change.back, change.reverts) == (changes, back, reverts)


def test_one_period_has_no_period_before_it() -> None:
    change = change_of(life("a"))
    assert change.followed == 0 and change.unchanged_share is None and change.updates.n == 0
    assert size_of(life("a")).months.n == 0


def test_the_published_set() -> None:
    size, change = SizeCounter(), ChangeCounter()
    for user in load_dataset(shared("data/amemgym-v1.base/data.json")):
        size.add(user)
        change.add(user)
    counted, changed = size.result(), change.result()
    assert (counted.users, counted.exams, counted.sessions.total) == (20, 2200, 943)
    assert counted.periods.histogram == ((11, 20),) and counted.questions.total == 200
    assert counted.variables.total == 398 and counted.values.histogram == ((3, 398),)
    assert counted.options.histogram == ((4, 132), (5, 56), (6, 10), (7, 2))
    assert counted.option_types == {"experience": 831, "random": 51}
    assert counted.states.histogram == ((2, 200),) and counted.months.histogram == ((3, 200),)
    assert changed.changes.total == changed.updates.total == 808
    assert changed.dwell.total == 398 * 11 and changed.dwell.n == 398 + 808
    assert changed.unchanged_share == pytest.approx(0.62, abs=0.005)
