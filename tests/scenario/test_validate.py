"""Every fault of a data set is named with its user, period, session, question or option, and with what is wrong there.

`broken.py` breaks a small valid user in one way at a time: exactly that fault is reported, and no others that only
follow from it. Errors are what makes data impossible to run or its scores meaningless; the rest are warnings. Whatever
the data is, the validator itself never fails, and data without errors has a gold option everywhere.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.errors import DataError
from amemgym.scenario import Fault, find_faults, load_dataset, parse_dataset, read_dataset, save_dataset
from tests.scenario.broken import ERRORS, WARNINGS, WRONG_TYPES
from tests.scenario.build import (
    JSON_VALUES,
    Edit,
    as_bytes,
    drop,
    edited,
    places,
    put,
    small_user,
    valid_users,
)
from tests.support.shared import shared


def faults_of(*users: Any) -> list[Fault]:
    return parse_dataset(as_bytes(*users), name="test")[1]


@pytest.mark.parametrize(("edits", "place", "fragment"), ERRORS + WRONG_TYPES)
def test_an_error_is_named_alone_with_its_place(edits: list[Edit], place: str, fragment: str) -> None:
    faults = faults_of(edited(*edits))
    assert [(fault.user, fault.place, fault.severity) for fault in faults] == [(0, place, "error")], faults
    assert fragment in faults[0].message


@pytest.mark.parametrize(("edits", "place", "fragment"), WARNINGS)
def test_a_warning_is_named_alone_with_its_place(edits: list[Edit], place: str, fragment: str) -> None:
    faults = faults_of(edited(*edits))
    assert [(fault.user, fault.place, fault.severity) for fault in faults] == [(0, place, "warning")], faults
    assert fragment in faults[0].message


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        pytest.param(
            put("periods.2.updates.boat", {"old": None, "new": "sloop"}),
            {
                ("period 2", "update of 'boat', which is no state"),
                ("period 2", "no session exposes the update of 'boat'"),
            },
            id="update of what is no state",
        ),
        pytest.param(
            drop("state_schema.pet"),
            {(f"period {number}", "state 'pet' is not in the schema") for number in range(4)},
            id="variable not in the schema",
        ),
        pytest.param(
            put("state_schema.boat", []),
            {("", "the schema of 'boat' lists no values")}
            | {(f"period {number}", "state 'boat' has no value") for number in range(4)},
            id="schema without values",
        ),
        pytest.param(
            put("qas.0.required_info", ["home", "hoem"]),
            {("question 0", "required info 'hoem' is not in the schema")},
            id="one of two required info unknown",
        ),
        pytest.param(
            put("qas.0.required_info", []),
            {("question 0", "'required_info' is empty")}
            | {(f"question 0, option {number}", "its variant has 2 values for 0 required info") for number in range(4)}
            | {("question 0", "no option has the variant ()")},
            id="nothing required",
        ),
        pytest.param(
            lambda user: [put("id", 7)(user), put("qas.0.query", None)(user), drop("periods.1.state")(user)],
            {("", "'id'"), ("question 0", "'query'"), ("period 1", "'state' is missing")},
            id="three wrong types",
        ),
    ],
)
def test_faults_that_come_together(edit: Edit, expected: set[tuple[str, str]]) -> None:
    faults = faults_of(edited(edit))
    assert len(faults) == len(expected)
    for place, fragment in expected:
        assert [fault for fault in faults if fault.place == place and fragment in fault.message], (place, fragment)


@pytest.mark.parametrize("user", [None, 7, "ada", [], [small_user()]])
def test_a_user_that_is_no_object(user: Any) -> None:
    faults = faults_of(user)
    assert [(fault.user, fault.user_id, fault.place, fault.severity) for fault in faults] == [(0, "", "", "error")]
    assert len(faults[0].message) < 200  # what is found there is shown, but not at any length


def test_an_empty_user_misses_its_fields() -> None:
    missing = {fault.message for fault in faults_of({})}
    assert missing == {f"'{name}' is missing" for name in ("id", "user_profile", "state_schema", "periods", "qas")}


def test_a_fault_as_text_names_user_and_place() -> None:
    (fault,) = faults_of(small_user("ada"), edited(drop("periods.3.state.language"), id="bob"))[:1]
    assert str(fault) == "user 1 (bob), period 3: state 'language' has no value; the schema lists english, french"
    (fault,) = faults_of(edited(put("qas", [])))
    assert str(fault) == "user 0 (ada): there are no questions, so there is nothing to examine"


# --- several users ---


def test_duplicate_ids() -> None:
    faults = faults_of(small_user("ada"), small_user("bob"), small_user("ada"), small_user("ada"))
    assert [(fault.user, fault.user_id, fault.place, fault.severity) for fault in faults] == [
        (2, "ada", "", "error"),
        (3, "ada", "", "error"),
    ]
    assert {fault.message for fault in faults} == {"id 'ada' is already the id of user 0"}


def test_a_broken_user_leaves_the_others_their_numbers() -> None:
    users = [
        edited(put("periods.0.sessions.1.query", 7), id="broken"),
        edited(put("qas", []), id="bob"),
        "no user at all",
        small_user("ada"),
        small_user("ada"),
    ]
    dataset, faults = parse_dataset(as_bytes(*users), name="test")
    assert [(fault.user, fault.user_id, fault.place) for fault in faults] == [
        (0, "broken", "period 0, session 1"),
        (1, "bob", ""),
        (2, "", ""),
        (4, "ada", ""),
    ]
    assert faults[3].message == "id 'ada' is already the id of user 3"
    assert [user.id for user in dataset] == ["bob", "ada", "ada"]  # those that could be read


def test_users_number_from_0_unless_told_otherwise() -> None:
    scenarios = parse_dataset(as_bytes(small_user("ada"), edited(put("qas", []), id="bob")), name="test")[0].scenarios
    assert [fault.user for fault in find_faults(scenarios)] == [1]
    assert [fault.user for fault in find_faults(scenarios, places=[3, 8])] == [8]


# --- sessions without exposed states ---


def test_a_user_without_any_exposed_states_is_a_warning() -> None:
    user = small_user()
    for period in user["periods"]:
        for session in period["sessions"]:
            del session["exposed_states"]
    (fault,) = faults_of(user)
    assert (fault.user, fault.place, fault.severity) == (0, "", "warning")
    assert "no session carries exposed_states" in fault.message


def test_recorded_users_can_be_run_with_warnings() -> None:
    dataset, faults = read_dataset(shared("data/recorded/scenarios.json"), "recorded")
    assert len(dataset) == 2
    assert {fault.severity for fault in faults} == {"warning"}
    assert [(f.user, f.place) for f in faults if "no session carries exposed_states" in f.message] == [(0, ""), (1, "")]
    assert len(load_dataset(shared("data/recorded/scenarios.json"))) == 2


# --- good data ---


def test_good_data_has_no_faults() -> None:
    assert faults_of(small_user("ada"), small_user("bob")) == []
    assert find_faults(load_dataset("starter").scenarios) == []


def test_published_data_has_no_faults() -> None:
    assert read_dataset(shared("data/amemgym-v1.base/data.json"), "base")[1] == []


@settings(deadline=None, max_examples=25)
@given(valid_users())
def test_any_good_user_has_no_faults(user: dict[str, Any]) -> None:
    assert faults_of(user) == []


def test_what_may_be_so() -> None:
    """Sessions at one time, a state that is told twice, options that are never right twice over: no faults."""
    user = edited(
        put("periods.3.sessions.1.session_time", "2021-06-25 20:00:00"),
        put("periods.3.sessions.1.exposed_states", {"pet": "dog", "job": "pilot"}),
        put("periods.0.period_summary", "A quiet time."),
        put("user_profile", {}),
    )
    assert faults_of(user) == []


# --- loading refuses errors, with the first of them ---


def saved(folder: Path, *users: Any) -> Path:
    path = folder / "users.json"
    path.write_bytes(as_bytes(*users))
    return path


def test_loading_names_the_first_faults_and_counts_the_rest(tmp_path: Path) -> None:
    path = saved(tmp_path, small_user(), edited(drop("state_schema.pet"), put("qas.0.query", ""), id="bob"))
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    said = str(caught.value)
    assert said.startswith(f"{path} cannot be run: user 1 (bob), period 0: state 'pet' is not in the schema; ")
    assert "period 2" in said and "period 3" not in said
    assert said.endswith(f" (and 2 more). List all faults with: amemgym validate {path}")
    assert "\n" not in said


def test_loading_one_fault_counts_no_rest(tmp_path: Path) -> None:
    path = saved(tmp_path, edited(put("qas", [])))
    with pytest.raises(DataError, match=r"there are no questions, so there is nothing to examine\. List all faults"):
        load_dataset(path)


def test_loading_passes_warnings(tmp_path: Path) -> None:
    path = saved(tmp_path, edited(put("periods.2.sessions", [])))
    assert [user.id for user in load_dataset(path)] == ["ada"]


# --- whatever the data is ---


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_change_breaks_the_validator_or_passes_without_gold(data: st.DataObject) -> None:
    user = small_user()
    for _ in range(data.draw(st.integers(1, 2))):
        spots = list(places(user))
        container, key = data.draw(st.sampled_from(spots))
        other, other_key = data.draw(st.sampled_from(spots))
        value = data.draw(st.just(copy.deepcopy(other[other_key])) | JSON_VALUES)
        container[key] = value
    dataset, faults = parse_dataset(as_bytes(user), name="test")
    assert all("\n" not in fault.place for fault in faults)
    if any(fault.is_error for fault in faults):
        return
    for scenario in dataset:
        for period in range(len(scenario.periods)):
            for index, asked in enumerate(scenario.qas):
                option = asked.answer_choices[scenario.gold(period, index)]
                assert tuple(option.state) == scenario.variant(period, index)


@settings(deadline=None, max_examples=25)
@given(st.lists(JSON_VALUES, min_size=1, max_size=3))
def test_no_json_breaks_the_validator(users: list[Any]) -> None:
    dataset, faults = parse_dataset(json.dumps(users).encode(), name="test")
    assert len(dataset) == 0
    assert {fault.user for fault in faults} == set(range(len(users)))


def test_faults_of_users_made_in_python(tmp_path: Path) -> None:
    """What is saved and read again has the same faults."""
    scenarios = parse_dataset(as_bytes(edited(put("qas", []))), name="test")[0].scenarios
    save_dataset(scenarios, tmp_path / "again.json")
    assert read_dataset(tmp_path / "again.json", "again")[1] == find_faults(scenarios) != []
